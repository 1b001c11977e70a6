//! L1–L9: rules over the release history, with one snapshot for each released patch.
//!
//! A table holds only the present; broken promises are visible only between releases.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Severity};
use crate::{BinaryVersion, Scope, Stage, Version};

/// The features as one released binary had them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Release {
    /// The release, patch included.
    pub version: BinaryVersion,
    /// Its features, by name.
    pub features: BTreeMap<String, ReleasedFeature>,
}

/// One feature in one release.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReleasedFeature {
    /// `server` or `cluster` level.
    pub level: Scope,
    /// Its stage there.
    pub stage: Stage,
    /// Its default there.
    pub default: bool,
    /// Whether it was locked there.
    pub locked: bool,
    /// Stored data that the feature adds.
    pub data_fields: Vec<String>,
    /// Migration that removes the data.
    pub migration: Option<String>,
}

/// Runs L1–L9 over releases, which may come in any order.
pub fn lint_history(component: &str, releases: &[Release]) -> Vec<Finding> {
    let mut releases: Vec<&Release> = releases.iter().collect();
    releases.sort_by_key(|release| release.version);
    let names: BTreeSet<&String> = releases
        .iter()
        .flat_map(|release| release.features.keys())
        .collect();
    let mut findings = Vec::new();
    for name in names {
        let life: Life<'_> = releases
            .iter()
            .map(|release| (release.version, release.features.get(name)))
            .collect();
        for (rule, version, message) in RULES.iter().flat_map(|rule| rule(&life)) {
            findings.push(Finding {
                component: component.to_owned(),
                gate: name.clone(),
                rule,
                severity: Severity::Error,
                version: Some(version),
                message,
            });
        }
    }
    findings
}

/// A feature in all releases; `None` where a release does not have it.
type Life<'a> = Vec<(BinaryVersion, Option<&'a ReleasedFeature>)>;
type Broken = (&'static str, Version, String);

const RULES: [fn(&Life<'_>) -> Vec<Broken>; 9] = [
    level_is_fixed,
    alpha_is_off,
    lock_needs_a_stable_minor,
    lock_is_fixed_within_a_minor,
    no_new_feature_in_a_patch,
    stages_move_forward,
    removal_needs_a_locked_deprecation,
    removed_names_stay_removed,
    cluster_features_name_their_data,
];

fn present<'a>(life: &'a Life<'_>) -> impl Iterator<Item = (BinaryVersion, &'a ReleasedFeature)> {
    life.iter()
        .filter_map(|&(version, feature)| Some((version, feature?)))
}

fn steps<'a>(
    life: &'a Life<'_>,
) -> impl Iterator<
    Item = (
        (BinaryVersion, &'a ReleasedFeature),
        (BinaryVersion, &'a ReleasedFeature),
    ),
> {
    present(life).zip(present(life).skip(1))
}

fn level_is_fixed(life: &Life<'_>) -> Vec<Broken> {
    let moved = steps(life).filter(|((_, before), (_, after))| before.level != after.level);
    let message = |before: Scope, after: Scope| {
        format!(
            "moved from {} to {} level: a level is fixed for life",
            level(before),
            level(after)
        )
    };
    moved
        .map(|((_, before), (at, after))| ("L1", at.line(), message(before.level, after.level)))
        .collect()
}

fn level(scope: Scope) -> &'static str {
    match scope {
        Scope::Process => "server",
        Scope::Cluster => "cluster",
    }
}

fn alpha_is_off(life: &Life<'_>) -> Vec<Broken> {
    let on = present(life).filter(|(_, feature)| feature.stage == Stage::Alpha && feature.default);
    on.map(|(at, _)| ("L2", at.line(), "alpha gate is on by default".to_owned()))
        .collect()
}

/// The minor before the lock must have had the locked value as its default in every patch.
fn lock_needs_a_stable_minor(life: &Life<'_>) -> Vec<Broken> {
    let Some((at, locked)) = present(life).find(|(_, feature)| feature.locked) else {
        return Vec::new();
    };
    let before = at.line().minus_minors(1);
    let mut of_before = life
        .iter()
        .filter(|(version, _)| version.line() == before && before != at.line())
        .peekable();
    let existed = of_before.peek().is_some();
    let stable =
        of_before.all(|(_, feature)| feature.is_some_and(|it| it.default == locked.default));
    if existed && stable {
        return Vec::new();
    }
    let message = format!("locked without a full minor with the same default before ({before})");
    vec![("L3", at.line(), message)]
}

fn lock_is_fixed_within_a_minor(life: &Life<'_>) -> Vec<Broken> {
    let flipped = steps(life).filter(|((earlier, before), (later, after))| {
        earlier.line() == later.line() && before.locked != after.locked
    });
    let message = |at: BinaryVersion| format!("lock changes in the patch release {at}");
    flipped
        .map(|(_, (at, _))| ("L4", at.line(), message(at)))
        .collect()
}

fn no_new_feature_in_a_patch(life: &Life<'_>) -> Vec<Broken> {
    let first = life.iter().position(|(_, feature)| feature.is_some());
    let Some(at) = first.filter(|&at| at > 0) else {
        return Vec::new();
    };
    let (before, new) = (life[at - 1].0, life[at].0);
    if before.line() != new.line() {
        return Vec::new();
    }
    vec![(
        "L5",
        new.line(),
        format!("introduced in the patch release {new}"),
    )]
}

fn stages_move_forward(life: &Life<'_>) -> Vec<Broken> {
    let back =
        steps(life).filter(|((_, before), (_, after))| !may_follow(before.stage, after.stage));
    let message = |from: Stage, to: Stage| format!("goes from {from} to {to}");
    back.map(|((_, from), (at, to))| ("L6", at.line(), message(from.stage, to.stage)))
        .collect()
}

fn may_follow(before: Stage, after: Stage) -> bool {
    match (before, after) {
        _ if before == after => true,
        (Stage::Alpha, Stage::Beta)
        | (Stage::Beta, Stage::Ga)
        | (Stage::Beta | Stage::Ga, Stage::Deprecated) => true,
        _ => false,
    }
}

fn removal_needs_a_locked_deprecation(life: &Life<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (at, pair) in life.windows(2).enumerate() {
        let [(_, Some(last)), (gone_in, None)] = pair else {
            continue;
        };
        if last.stage == Stage::Alpha {
            continue;
        }
        let deprecated = life[..=at].iter().filter_map(|&(version, feature)| {
            let feature = feature?;
            (feature.stage == Stage::Deprecated && feature.locked).then_some(version.line())
        });
        let since = deprecated.min().filter(|&since| since < gone_in.line());
        if since.is_none() {
            let message = "removed without a minor in which it was deprecated and locked";
            broken.push(("L7", gone_in.line(), message.to_owned()));
        }
    }
    broken
}

fn removed_names_stay_removed(life: &Life<'_>) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut seen = false;
    for pair in life.windows(2) {
        seen |= pair[0].1.is_some();
        if seen && pair[0].1.is_none() && pair[1].1.is_some() {
            let message = "the name of a removed feature is used again".to_owned();
            broken.push(("L8", pair[1].0.line(), message));
        }
    }
    broken
}

fn cluster_features_name_their_data(life: &Life<'_>) -> Vec<Broken> {
    let Some((at, last)) = present(life).last() else {
        return Vec::new();
    };
    let named = !last.data_fields.is_empty() && last.migration.is_some();
    if last.level != Scope::Cluster || named {
        return Vec::new();
    }
    let message = "names neither its data fields nor the migration that removes them";
    let message = match (last.data_fields.is_empty(), last.migration.is_none()) {
        (true, false) => "does not name its data fields",
        (false, true) => "does not name the migration that removes its data",
        _ => message,
    };
    vec![("L9", at.line(), message.to_owned())]
}
