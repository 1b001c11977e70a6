//! Resolution of settings and versions to the value of every gate of a component.

use crate::{
    ALL_ALPHA, ALL_BETA, Component, Entry, Feature, Scope, Source, Stage, StartError, Versions,
    Warning, component::is_group_switch, requested::RequestedGates, resolve,
};

/// Resolved value of one gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    /// The entry of its history that is in effect.
    pub(crate) held: Entry,
    pub(crate) value: bool,
    pub(crate) source: Source,
}

/// Resolved gates in the order of the component's features, with warnings and errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decided {
    pub(crate) decisions: Vec<Decision>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) errors: Vec<StartError>,
}

/// Resolves every gate of a component. Precedence: lock, explicit setting, `AllAlpha` and `AllBeta`, override from
/// code, default.
pub(crate) fn decide(
    component: &Component,
    versions: Versions,
    requested: &RequestedGates,
) -> Decided {
    let mut decided = Decided::default();
    check_overrides(component, versions, requested, &mut decided);
    let group_value = |name| {
        let setting = requested.settings.get(name).and_then(|asked| asked.first());
        setting.map(|&(_, value)| value)
    };
    let groups = Groups {
        all_alpha: group_value(ALL_ALPHA),
        all_beta: group_value(ALL_BETA),
    };
    for feature in component.features() {
        let held = resolve(
            &feature.entries,
            versions.emulation,
            versions.min_compatibility,
        );
        let explicit = explicit_setting(feature, held, versions, requested, &mut decided);
        let overridden = requested.overrides.get(&*feature.name).copied();
        decided
            .decisions
            .push(choose(feature, held, explicit, &groups, overridden));
    }
    decided
}

struct Groups {
    all_alpha: Option<bool>,
    all_beta: Option<bool>,
}

impl Groups {
    fn setting(&self, stage: Stage) -> Option<(Source, bool)> {
        match stage {
            Stage::Alpha => self.all_alpha.map(|value| (Source::AllAlpha, value)),
            Stage::Beta => self.all_beta.map(|value| (Source::AllBeta, value)),
            Stage::PreAlpha | Stage::Ga | Stage::Deprecated => None,
        }
    }
}

fn choose(
    feature: &Feature,
    held: Entry,
    explicit: Option<(Source, bool)>,
    groups: &Groups,
    overridden: Option<bool>,
) -> Decision {
    let default = (Source::Default, held.default);
    let (source, value) = if held.lock_to_default {
        explicit.map_or(default, |(source, _)| (source, held.default))
    } else if feature.scope == Scope::Cluster {
        (Source::Cluster, false)
    } else {
        let group = if is_group_switch(&feature.name) {
            None
        } else {
            groups.setting(held.stage)
        };
        let code = overridden.map(|value| (Source::Override, value));
        explicit.or(group).or(code).unwrap_or(default)
    };
    Decision {
        held,
        value,
        source,
    }
}

/// The strongest explicit setting of a gate that is valid.
fn explicit_setting(
    feature: &Feature,
    held: Entry,
    versions: Versions,
    requested: &RequestedGates,
    decided: &mut Decided,
) -> Option<(Source, bool)> {
    for &(source, value) in requested.settings.get(&*feature.name).into_iter().flatten() {
        match refusal(feature, held, value, versions) {
            None => {
                decided.warnings.extend(warning(feature, held, value));
                return Some((source, value));
            }
            // Such variables may be meant for a client library in the same process.
            Some(error) if source == Source::KubeEnv => {
                decided.warnings.push(Warning::VariableIgnored {
                    name: feature.name.to_string(),
                    value: value.to_string(),
                    reason: error.to_string(),
                });
            }
            Some(error) => {
                decided.errors.push(error);
                return None;
            }
        }
    }
    None
}

fn refusal(feature: &Feature, held: Entry, value: bool, versions: Versions) -> Option<StartError> {
    let name = feature.name.to_string();
    if feature.scope == Scope::Cluster {
        return Some(StartError::ClusterScoped { name });
    }
    if held.lock_to_default && held.default != value {
        return Some(StartError::Locked { name, value });
    }
    if held.stage == Stage::PreAlpha {
        let Versions {
            emulation,
            min_compatibility,
        } = versions;
        return Some(StartError::PreAlpha {
            name,
            value,
            emulation,
            min_compatibility,
        });
    }
    None
}

fn warning(feature: &Feature, held: Entry, value: bool) -> Option<Warning> {
    let name = feature.name.to_string();
    let remove_in = feature.remove_in().filter(|_| held.lock_to_default);
    match held.stage {
        Stage::Ga => Some(Warning::SettingGa {
            name,
            value,
            remove_in,
        }),
        Stage::Deprecated => Some(Warning::SettingDeprecated {
            name,
            value,
            remove_in,
        }),
        Stage::PreAlpha | Stage::Alpha | Stage::Beta => None,
    }
}

fn check_overrides(
    component: &Component,
    versions: Versions,
    requested: &RequestedGates,
    decided: &mut Decided,
) {
    for (name, &value) in &requested.overrides {
        let name = name.clone();
        let Some(feature) = component.feature(&name) else {
            decided
                .errors
                .push(StartError::OverrideUnregistered { name });
            continue;
        };
        let held = resolve(
            &feature.entries,
            versions.emulation,
            versions.min_compatibility,
        );
        let default = held.default;
        let overriding = |stage| Warning::OverridingFinished {
            name: name.clone(),
            value,
            stage,
        };
        match held.stage {
            _ if held.lock_to_default => {
                decided
                    .errors
                    .push(StartError::OverrideLocked { name, default });
            }
            Stage::PreAlpha => {
                let first = feature.entries[0].version;
                decided
                    .errors
                    .push(StartError::OverrideTooEarly { name, first });
            }
            Stage::Deprecated => decided.warnings.push(overriding("deprecated")),
            Stage::Ga => decided.warnings.push(overriding("GA")),
            Stage::Alpha | Stage::Beta => {}
        }
    }
}

/// Features that are on although a dependency is off. Checked last, because it would repeat other errors.
pub(crate) fn check_dependencies(component: &Component, decided: &Decided) -> Vec<StartError> {
    let value_of = |name: &str| decided.decisions[component.index_of(name)].value;
    component
        .dependencies
        .iter()
        .filter(|(name, _)| value_of(name))
        .filter_map(|(name, needed)| {
            let disabled: Vec<String> = needed.iter().filter(|on| !value_of(on)).cloned().collect();
            let name = name.clone();
            (!disabled.is_empty()).then_some(StartError::DisabledDependencies { name, disabled })
        })
        .collect()
}
