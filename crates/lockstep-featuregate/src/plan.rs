//! Maintenance plan of gates for coming releases.

use crate::{Component, EMULATED_MINORS, Feature, Version, lint};

/// Maintenance action on a gate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Action {
    /// Lock it to its default.
    Lock,
    /// Delete the gate and the dead branch.
    Remove,
    /// Delete entries of its history that can no longer be emulated.
    DropHistory,
}

impl Action {
    /// Name in JSON and tables.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Lock => "lock",
            Action::Remove => "remove",
            Action::DropHistory => "drop-history",
        }
    }
}

/// A planned action.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Step {
    /// The release to do it in; overdue actions are due now.
    pub version: Version,
    /// The component.
    pub component: String,
    /// The gate.
    pub gate: String,
    /// The action.
    pub action: Action,
    /// The reason.
    pub reason: String,
}

/// The steps from release `from` to release `until`, both included, in that order.
pub fn plan(component: &Component, from: Version, until: Version) -> Vec<Step> {
    let steps = component
        .own_features()
        .flat_map(|feature| feature_steps(feature, from));
    let due = steps.filter(|(version, ..)| *version <= until);
    let mut planned: Vec<Step> = due
        .map(|(version, gate, action, reason)| Step {
            version,
            component: component.name().to_owned(),
            gate,
            action,
            reason,
        })
        .collect();
    planned.sort();
    planned
}

fn feature_steps(feature: &Feature, from: Version) -> Vec<(Version, String, Action, String)> {
    let mut steps = Vec::new();
    let mut step = |due: Version, action, reason| {
        steps.push((due.max(from), feature.name.to_string(), action, reason));
    };
    let removal = feature.remove_in();
    if let (Some(due), Some(locked)) = (removal, feature.locked_since()) {
        let oldest = due.minus_minors(EMULATED_MINORS);
        step(
            due,
            Action::Remove,
            format!("locked since {locked}; {due} emulates back to {oldest}, where it was locked"),
        );
    }
    if let Some((last, due)) = feature
        .entries
        .last()
        .and_then(|e| Some((e, lint::lock_due(e)?)))
    {
        step(
            due,
            Action::Lock,
            format!("GA since {} and still not locked", last.version),
        );
    }
    for (at, droppable) in droppable_entries(feature) {
        if removal.is_none_or(|removal| at.max(from) < removal.max(from)) {
            step(
                at,
                Action::DropHistory,
                format!("{at} no longer emulates what the entry of {droppable} is for"),
            );
        }
    }
    merge_overdue(steps)
}

/// An entry is not needed once its successor is as old as the oldest version that can be emulated.
fn droppable_entries(feature: &Feature) -> impl Iterator<Item = (Version, Version)> {
    let pairs = feature.entries.iter().zip(feature.entries.iter().skip(1));
    let distinct = pairs.filter(|(entry, next)| entry.version < next.version);
    distinct.map(|(entry, next)| (next.version.plus_minors(EMULATED_MINORS), entry.version))
}

/// Overdue removals of several entries of a gate are one step.
fn merge_overdue(
    steps: Vec<(Version, String, Action, String)>,
) -> Vec<(Version, String, Action, String)> {
    let mut merged: Vec<(Version, String, Action, String)> = Vec::new();
    for step in steps {
        match merged.last_mut() {
            Some(last) if last.0 == step.0 && last.2 == step.2 => *last = step,
            _ => merged.push(step),
        }
    }
    merged
}
