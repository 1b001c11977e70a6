//! Test matrix over both states of a gate.

use std::collections::BTreeMap;

use super::plan::{Refusal, find, last_unlocked, plan, replace, versions_of};
use crate::{
    BinaryVersion, Builder, Component, Gate, Gates, Group, Registry, Source, Version, process,
};

/// Runs the body with the gate on, then with it off, in sets of their own; see
/// [`for_each_state`](crate::testing::for_each_state).
#[macro_export]
macro_rules! for_each_state {
    ($gate:expr, $body:expr $(,)?) => {
        $crate::testing::for_each_state($gate, $body)
    };
}

/// Runs `body` with the gate on, then with it off. Nothing global changes.
///
/// A gate that is locked to the other value gets the last version at which it was not: its tests for
/// the lost state stay useful until the gate goes. What the gate depends on is switched on with it,
/// what depends on it is switched off with it.
///
/// The sets are made from the process default set, or from the gate's own group at the newest
/// version it declares when there is none.
///
/// # Panics
///
/// When a state cannot be had: the gate was locked for longer than can be emulated, or does not
/// exist yet.
#[track_caller]
pub fn for_each_state(gate: Gate, mut body: impl FnMut(&Gates)) {
    let base = process::installed().unwrap_or_else(|| of_group(gate.group()));
    for value in [true, false] {
        match in_state(&base, gate, value) {
            Ok(gates) => body(&gates),
            Err(refusal) => panic!("{} cannot be tested as {value}: {refusal}", gate.name()),
        }
    }
}

/// A set of one group's gates with nothing asked for, at the newest version the group declares.
pub(super) fn of_group(group: &'static Group) -> Gates {
    let declared = group.declarations().iter().flat_map(|one| one.entries);
    let newest = declared.map(|entry| entry.version).max();
    let binary = BinaryVersion::of(newest.unwrap_or(Version::ZERO));
    let component = Component::declared(binary, &[group]);
    let component = component.expect("a declared group passed the same checks while compiling");
    let registry = Registry::new([component]);
    let registry = registry.unwrap_or_else(|wrong| {
        panic!("install a set: this group cannot stand alone: {wrong}");
    });
    let started = Builder::new(registry).try_finish();
    started.expect("nothing was asked for").gates
}

/// The set with the gate in this state, at another version if need be.
fn in_state(base: &Gates, gate: Gate, value: bool) -> Result<Gates, Refusal> {
    let (component, feature) = find(base, gate.component(), gate.name())?;
    let held = base
        .decision(component, component.index_of(gate.name()))
        .held;
    let locked_away = held.lock_to_default && held.default != value;
    let unlocked = last_unlocked(component, feature, versions_of(base, component).emulation);
    let set = match unlocked.filter(|_| locked_away) {
        Some(version) => {
            let min = component.versions_at(version).min_compatibility;
            emulating(base, component.name(), version, min)?
        }
        None => base.clone(),
    };
    let mut names = vec![gate.name()];
    if value {
        add_needs(&set, component, &mut names);
    }
    let asked = names
        .into_iter()
        .map(|name| (gate.component(), name, value));
    Ok(plan(&set, asked)?.apply(&set))
}

/// Adds the disabled dependencies of a gate, transitively.
fn add_needs<'a>(gates: &Gates, component: &'a Component, names: &mut Vec<&'a str>) {
    let mut at = 0;
    while let Some(&name) = names.get(at) {
        for needed in component.depends_on(name) {
            let on = gates.decision(component, component.index_of(needed)).value;
            if !on && !names.contains(&needed) {
                names.push(needed);
            }
        }
        at += 1;
    }
}

/// A set with the same settings and test values, and a component at other versions.
pub(super) fn emulating(
    gates: &Gates,
    component: &str,
    emulation: Version,
    min: Version,
) -> Result<Gates, Refusal> {
    let builder = gates.builder().clone();
    let started = builder.at_versions(component, emulation, min).try_finish();
    let emulating = started.map_err(Refusal::Emulation)?.gates;
    let mut kept = BTreeMap::new();
    for component in gates.registry().components() {
        for index in 0..component.features.len() {
            let mut then = emulating.decision(component, index);
            let now = gates.decision(component, index);
            if now.source == Source::Test && !then.held.lock_to_default {
                (then.value, then.source) = (now.value, now.source);
                kept.insert((component.name().to_owned(), index), then);
            }
        }
    }
    Ok(replace(&emulating, &kept))
}
