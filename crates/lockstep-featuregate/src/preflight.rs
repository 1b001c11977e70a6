//! Upgrade check of gate settings.

use crate::{
    Builder, Component, Errors, Feature, Hint, Registry, Stage, StartError, Version, errors,
    resolve,
};

/// Effect of an upgrade on one gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UpgradeEffect {
    /// No change.
    Ok,
    /// The gate is or may be removed: the new version would not start.
    Removed {
        /// The release that removes it.
        in_version: Version,
    },
    /// The gate is locked to the other value: the new version would not start.
    LockedOtherValue {
        /// The version that locks it.
        since: Version,
    },
    /// The gate works, with a deprecation warning.
    WillWarn,
    /// The gate is not set, and its default changes.
    DefaultChanges {
        /// The current default.
        old: bool,
        /// The new default.
        new: bool,
    },
    /// The gate is unknown: the new version would not start.
    Unknown(Hint),
    /// The gate does not exist in that version: it would not start.
    Unavailable,
}

impl UpgradeEffect {
    /// Name in JSON and tables.
    pub const fn name(&self) -> &'static str {
        match self {
            UpgradeEffect::Ok => "ok",
            UpgradeEffect::Removed { .. } => "removed",
            UpgradeEffect::LockedOtherValue { .. } => "locked-other-value",
            UpgradeEffect::WillWarn => "will-warn",
            UpgradeEffect::DefaultChanges { .. } => "default-changes",
            UpgradeEffect::Unknown(_) => "unknown",
            UpgradeEffect::Unavailable => "unavailable",
        }
    }

    /// True if the new version would refuse to start.
    pub const fn refuses(&self) -> bool {
        match self {
            UpgradeEffect::Removed { .. }
            | UpgradeEffect::LockedOtherValue { .. }
            | UpgradeEffect::Unknown(_)
            | UpgradeEffect::Unavailable => true,
            UpgradeEffect::Ok | UpgradeEffect::WillWarn | UpgradeEffect::DefaultChanges { .. } => {
                false
            }
        }
    }
}

/// Upgrade check of one gate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checked {
    /// The component.
    pub component: String,
    /// The gate.
    pub gate: String,
    /// The value it is set to.
    pub value: Option<bool>,
    /// Effect of the upgrade.
    pub effect: UpgradeEffect,
}

/// The upgrade to check.
#[derive(Clone, Copy, Debug)]
pub struct Upgrade {
    /// The current version.
    pub from: Version,
    /// The new version.
    pub to: Version,
    /// The newest version that the feature table covers: up to it the table is exact, beyond it locked gates are
    /// assumed to be removed as soon as allowed.
    pub known_until: Option<Version>,
}

/// Checks every gate that is set, and every default that changes. Unreadable settings are errors.
pub fn preflight(builder: &Builder, upgrade: Upgrade) -> Result<Vec<Checked>, Errors<StartError>> {
    let (set, unreadable) = builder.merged_settings();
    errors::check(unreadable)?;
    let mut rows = Vec::new();
    for component in builder.registry().components() {
        for feature in component.features() {
            let key = (component.name().to_owned(), feature.name.to_string());
            let value = set.get(&key).copied();
            let effect = match value {
                Some(value) => Some(upgrade.effect_of_set(feature, value)),
                None => upgrade.default_change(feature),
            };
            rows.extend(effect.map(|effect| row(component, &feature.name, value, effect)));
        }
        let absent = set.iter().filter(|((home, gate), _)| {
            home == component.name() && component.feature(gate).is_none()
        });
        rows.extend(absent.map(|((_, gate), &value)| {
            let effect = effect_of_absent(builder.registry(), component, gate);
            row(component, gate, Some(value), effect)
        }));
    }
    rows.sort_by(|a, b| (&a.component, &a.gate).cmp(&(&b.component, &b.gate)));
    Ok(rows)
}

fn row(component: &Component, gate: &str, value: Option<bool>, effect: UpgradeEffect) -> Checked {
    Checked {
        component: component.name().to_owned(),
        gate: gate.to_owned(),
        value,
        effect,
    }
}

fn effect_of_absent(registry: &Registry, component: &Component, gate: &str) -> UpgradeEffect {
    match registry.hint(Some(component), gate) {
        Hint::Removed { removed_in, .. } => UpgradeEffect::Removed {
            in_version: removed_in,
        },
        hint => UpgradeEffect::Unknown(hint),
    }
}

impl Upgrade {
    fn effect_of_set(self, feature: &Feature, value: bool) -> UpgradeEffect {
        let held = resolve(&feature.entries, self.to, self.to.minus_minors(1));
        if held.lock_to_default && held.default != value {
            return UpgradeEffect::LockedOtherValue {
                since: held.version,
            };
        }
        if let Some(in_version) = self.expected_removal(feature) {
            return UpgradeEffect::Removed { in_version };
        }
        match held.stage {
            Stage::PreAlpha => UpgradeEffect::Unavailable,
            Stage::Alpha | Stage::Beta => UpgradeEffect::Ok,
            Stage::Ga | Stage::Deprecated => UpgradeEffect::WillWarn,
        }
    }

    fn expected_removal(self, feature: &Feature) -> Option<Version> {
        let known = self.known_until.is_some_and(|known| self.to <= known);
        feature.remove_in().filter(|&due| !known && self.to >= due)
    }

    fn default_change(self, feature: &Feature) -> Option<UpgradeEffect> {
        let default_at = |at: Version| resolve(&feature.entries, at, at.minus_minors(1)).default;
        let (old, new) = (default_at(self.from), default_at(self.to));
        (old != new).then_some(UpgradeEffect::DefaultChanges { old, new })
    }
}
