//! Changes needed to give gates the values requested by a test.

use std::{collections::BTreeMap, fmt};

use crate::{
    Component, Errors, Feature, Gates, Source, Stage, StartError, Version, Versions,
    decide::Decision, resolve,
};

/// A gate of a set: its component, and its index there.
pub(super) type Place = (String, usize);

/// The decisions to replace, and the dependent gates among them.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) changes: BTreeMap<Place, Decision>,
    pub(super) followers: Vec<Follower>,
}

/// A gate that is switched off because something it depends on is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Follower {
    pub(super) name: String,
    pub(super) because: String,
}

impl fmt::Display for Follower {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Follower { name, because } = self;
        write!(f, "disabling {name} as well: it depends on {because}")
    }
}

/// Errors of an impossible test request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error("feature gate {name} of component {component} is not part of this set")]
    Unknown { component: String, name: String },
    #[error("Feature {name} is locked at version {at}.{}", hint(*.unlocked))]
    Locked {
        name: String,
        at: Version,
        unlocked: Option<Version>,
    },
    #[error("{0}")]
    Start(StartError),
    #[error("{0}")]
    Emulation(Errors<StartError>),
}

fn hint(unlocked: Option<Version>) -> String {
    match unlocked {
        Some(version) => format!(" Try emulating {version}."),
        None => " It was never unlocked before.".to_owned(),
    }
}

/// Computes the changes for components, names and values, without applying them.
pub(super) fn plan<'a>(
    gates: &Gates,
    asked: impl IntoIterator<Item = (&'a str, &'a str, bool)>,
) -> Result<Plan, Refusal> {
    let mut wanted: BTreeMap<&str, BTreeMap<&str, bool>> = BTreeMap::new();
    for (component, name, value) in asked {
        check_settable(gates, component, name, value)?;
        wanted.entry(component).or_default().insert(name, value);
    }
    let mut plan = Plan {
        changes: BTreeMap::new(),
        followers: Vec::new(),
    };
    for (component, named) in wanted {
        let component = gates.registry().component(component);
        let component = component.expect("settable gates have a component");
        let values = follow(gates, component, &named, &mut plan.followers);
        check_needs(gates, component, &values)?;
        for (name, value) in values {
            let index = component.index_of(name);
            let change = Decision {
                value,
                source: Source::Test,
                ..gates.decision(component, index)
            };
            let place = (component.name().to_owned(), index);
            plan.changes.insert(place, change);
        }
    }
    Ok(plan)
}

/// The named values, and `false` for all gates that depend on a disabled one.
fn follow<'a>(
    gates: &Gates,
    component: &'a Component,
    named: &BTreeMap<&'a str, bool>,
    followers: &mut Vec<Follower>,
) -> BTreeMap<&'a str, bool> {
    let mut values = named.clone();
    loop {
        let next = component.dependencies.iter().find_map(|(name, needed)| {
            let lost = needed
                .iter()
                .find(|on| values.get(on.as_str()) == Some(&false))?;
            let unsupported = !values.contains_key(name.as_str())
                && gates.decision(component, component.index_of(name)).value;
            unsupported.then_some((name, lost))
        });
        let Some((name, because)) = next else {
            return values;
        };
        values.insert(name, false);
        followers.push(Follower {
            name: name.clone(),
            because: because.clone(),
        });
    }
}

/// Fails for a gate that would be on while a dependency is off.
fn check_needs(
    gates: &Gates,
    component: &Component,
    values: &BTreeMap<&str, bool>,
) -> Result<(), Refusal> {
    let is_on = |name: &str| {
        let now = || gates.decision(component, component.index_of(name)).value;
        values.get(name).copied().unwrap_or_else(now)
    };
    for (&name, _) in values.iter().filter(|&(_, &on)| on) {
        let disabled = component.depends_on(name).filter(|on| !is_on(on));
        let disabled: Vec<String> = disabled.map(str::to_owned).collect();
        if !disabled.is_empty() {
            let name = name.to_owned();
            let error = StartError::DisabledDependencies { name, disabled };
            return Err(Refusal::Start(error));
        }
    }
    Ok(())
}

fn check_settable(gates: &Gates, component: &str, name: &str, value: bool) -> Result<(), Refusal> {
    let (component, feature) = find(gates, component, name)?;
    let held = gates.decision(component, component.index_of(name)).held;
    let versions = versions_of(gates, component);
    let name = feature.name.to_string();
    if held.lock_to_default && held.default != value {
        let at = versions.emulation;
        let unlocked = last_unlocked(component, feature, at);
        return Err(Refusal::Locked { name, at, unlocked });
    }
    if held.stage == Stage::PreAlpha {
        return Err(Refusal::Start(StartError::PreAlpha {
            name,
            value,
            emulation: versions.emulation,
            min_compatibility: versions.min_compatibility,
        }));
    }
    Ok(())
}

/// A component and a feature, if the set has them.
pub(super) fn find<'a>(
    gates: &'a Gates,
    component: &str,
    name: &str,
) -> Result<(&'a Component, &'a Feature), Refusal> {
    let found = gates.registry().component(component);
    let found = found.and_then(|found| Some((found, found.feature(name)?)));
    found.ok_or_else(|| Refusal::Unknown {
        component: component.to_owned(),
        name: name.to_owned(),
    })
}

pub(super) fn versions_of(gates: &Gates, component: &Component) -> Versions {
    let component = gates.component(component.name());
    component.expect("a component of this set").versions()
}

/// The newest version before `at` at which a gate exists and can be switched.
pub(super) fn last_unlocked(
    component: &Component,
    feature: &Feature,
    at: Version,
) -> Option<Version> {
    let earlier = (0..at.minor()).rev();
    earlier
        .map(|minor| Version::new(at.major(), minor))
        .find(|&version| {
            let min = component.versions_at(version).min_compatibility;
            let held = resolve(&feature.entries, version, min);
            held.stage != Stage::PreAlpha && !held.lock_to_default
        })
}

impl Plan {
    /// Prints dependent gates that change; the test harness shows the output if the test fails.
    #[expect(clippy::print_stderr, reason = "a test's log is its standard error")]
    pub(super) fn tell(&self) {
        for follower in &self.followers {
            eprintln!("{follower}");
        }
    }

    pub(super) fn apply(&self, gates: &Gates) -> Gates {
        replace(gates, &self.changes)
    }

    /// Current decisions of the gates to change.
    pub(super) fn before(&self, gates: &Gates) -> BTreeMap<Place, Decision> {
        let now = |(component, index): &Place| {
            let component = gates.registry().component(component);
            gates.decision(component.expect("plans are made for this set"), *index)
        };
        let places = self.changes.keys();
        places.map(|place| (place.clone(), now(place))).collect()
    }
}

/// A copy of the set with these decisions.
pub(super) fn replace(gates: &Gates, decisions: &BTreeMap<Place, Decision>) -> Gates {
    let decisions = decisions.iter();
    gates.replacing(
        decisions.map(|((component, index), &decision)| (component.as_str(), *index, decision)),
    )
}
