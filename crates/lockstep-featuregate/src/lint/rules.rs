//! Rules about a single table.

use std::collections::BTreeMap;

use super::{Finding, Severity};
use crate::{Component, EMULATED_MINORS, Entry, Feature, Stage, Version};

/// Releases after which a GA gate should be locked.
pub(crate) const LOCK_AFTER_MINORS: u16 = 2;
/// Releases after which an Alpha or Beta gate that does not move is worth a look.
const STALE_AFTER_MINORS: u16 = 6;

/// A rule about one feature.
struct Rule {
    id: &'static str,
    severity: fn(&Feature) -> Severity,
    find: fn(&Feature, Version) -> Vec<(Version, String)>,
}

const fn error(_: &Feature) -> Severity {
    Severity::Error
}

const fn warning(_: &Feature) -> Severity {
    Severity::Warning
}

const fn note(_: &Feature) -> Severity {
    Severity::Note
}

const RULES: &[Rule] = &[
    Rule {
        id: "FG101",
        severity: error,
        find: alpha_on_by_default,
    },
    Rule {
        id: "FG102",
        severity: error,
        find: locked_before_ga,
    },
    Rule {
        id: "FG103",
        severity: error,
        find: ga_off,
    },
    Rule {
        id: "FG104",
        severity: warning,
        find: ga_unlocked,
    },
    Rule {
        id: "FG105",
        severity: warning,
        find: deprecated_on,
    },
    Rule {
        id: "FG106",
        severity: warning,
        find: removable,
    },
    Rule {
        id: "FG108",
        severity: error,
        find: api_not_alpha_first,
    },
    Rule {
        id: "FG109",
        severity: alpha_to_ga_severity,
        find: alpha_to_ga,
    },
    Rule {
        id: "FG110",
        severity: warning,
        find: default_changes_with_lock,
    },
    Rule {
        id: "FG111",
        severity: note,
        find: stale,
    },
    Rule {
        id: "FG112",
        severity: error,
        find: future_entry,
    },
    Rule {
        id: "FG113",
        severity: note,
        find: droppable_history,
    },
    Rule {
        id: "FG117",
        severity: warning,
        find: deprecated_and_locked_at_once,
    },
];

/// All rules about the features of one component.
pub(super) fn component(component: &Component, at: Version) -> Vec<Finding> {
    let finding = |gate: &str, rule, severity, version, message| Finding {
        component: component.name().to_owned(),
        gate: gate.to_owned(),
        rule,
        severity,
        version,
        message,
    };
    let mut findings = Vec::new();
    for feature in component.own_features() {
        for rule in RULES {
            for (version, message) in (rule.find)(feature, at) {
                let severity = (rule.severity)(feature);
                findings.push(finding(
                    &feature.name,
                    rule.id,
                    severity,
                    Some(version),
                    message,
                ));
            }
        }
        if component.tombstones().contains_key(&*feature.name) {
            let message = "the name of a removed gate is used again".to_owned();
            findings.push(finding(
                &feature.name,
                "FG118",
                Severity::Error,
                None,
                message,
            ));
        }
    }
    for error in component.check() {
        let gate = error.feature().unwrap_or_default().to_owned();
        findings.push(finding(
            &gate,
            "FG114",
            Severity::Error,
            None,
            error.to_string(),
        ));
    }
    findings.extend(
        declared_order(component)
            .into_iter()
            .map(|(gate, message)| finding(&gate, "FG115", Severity::Warning, None, message)),
    );
    findings
}

/// A gate name must be unique across components, so that users need not qualify it.
pub(super) fn names(components: &[Component]) -> Vec<Finding> {
    let mut homes: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for component in components {
        for feature in component.own_features() {
            homes
                .entry(&feature.name)
                .or_default()
                .push(component.name());
        }
    }
    let twice = homes.into_iter().filter(|(_, homes)| homes.len() > 1);
    let finding = |(gate, homes): (&str, Vec<&str>)| Finding {
        component: homes[0].to_owned(),
        gate: gate.to_owned(),
        rule: "FG118",
        severity: Severity::Error,
        version: None,
        message: format!("the name is used in the components {}", homes.join(" and ")),
    };
    twice.map(finding).collect()
}

/// Reports a gate once for each rule, at its first entry that breaks it.
fn first_where(
    feature: &Feature,
    breaks: impl Fn(&Entry) -> bool,
    message: impl Fn(&Entry) -> String,
) -> Vec<(Version, String)> {
    let broken = feature.entries.iter().find(|entry| breaks(entry));
    broken
        .map(|entry| (entry.version, message(entry)))
        .into_iter()
        .collect()
}

fn pairs(feature: &Feature) -> impl Iterator<Item = (&Entry, &Entry)> {
    feature.entries.iter().zip(feature.entries.iter().skip(1))
}

fn alpha_on_by_default(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    first_where(
        feature,
        |entry| entry.stage == Stage::Alpha && entry.default,
        |_| "alpha gate is on by default".to_owned(),
    )
}

fn locked_before_ga(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    first_where(
        feature,
        |entry| matches!(entry.stage, Stage::Alpha | Stage::Beta) && entry.lock_to_default,
        |entry| format!("{} gate is locked", entry.stage.name().to_lowercase()),
    )
}

/// Off is valid before a deprecation, and for old behaviour that is being retired.
fn ga_off(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    let mut found = Vec::new();
    for (at, entry) in feature.entries.iter().enumerate() {
        if entry.stage != Stage::Ga || entry.default {
            continue;
        }
        let initial = at == 0 && entry.version.minor() == 0;
        let retired = at > 0 && entry.lock_to_default && feature.entries[at - 1].default;
        if !initial && !retired {
            found.push((entry.version, "GA gate is off by default".to_owned()));
        }
    }
    found
}

fn ga_unlocked(feature: &Feature, at: Version) -> Vec<(Version, String)> {
    let last = feature.entries.last();
    let due = last.and_then(lock_due).filter(|&due| at >= due);
    let message = |due| {
        (
            at,
            format!("GA gate is still not locked, lock it since {due}"),
        )
    };
    due.map(message).into_iter().collect()
}

/// The release by which a GA gate should be locked.
pub(crate) fn lock_due(last: &Entry) -> Option<Version> {
    (last.stage == Stage::Ga && !last.lock_to_default)
        .then(|| last.version.plus_minors(LOCK_AFTER_MINORS))
}

fn deprecated_on(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    first_where(
        feature,
        |entry| entry.stage == Stage::Deprecated && entry.default,
        |_| "deprecated gate is on by default".to_owned(),
    )
}

fn removable(feature: &Feature, at: Version) -> Vec<(Version, String)> {
    let due = feature.remove_in().filter(|&due| at >= due);
    let message = |due| {
        (
            at,
            format!("gate and dead branch can be removed, remove in {due}"),
        )
    };
    due.map(message).into_iter().collect()
}

fn api_not_alpha_first(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    let first = feature
        .entries
        .first()
        .filter(|first| feature.api && first.stage != Stage::Alpha);
    let message = |first: &Entry| {
        (
            first.version,
            format!(
                "gate of an API field starts as {}, not as Alpha",
                first.stage
            ),
        )
    };
    first.map(message).into_iter().collect()
}

fn alpha_to_ga_severity(feature: &Feature) -> Severity {
    if feature.api {
        Severity::Error
    } else {
        Severity::Warning
    }
}

fn alpha_to_ga(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    let jumps = pairs(feature).filter(|(a, b)| a.stage == Stage::Alpha && b.stage == Stage::Ga);
    jumps
        .map(|(_, ga)| {
            (
                ga.version,
                "gate goes from Alpha to GA without Beta".to_owned(),
            )
        })
        .collect()
}

fn default_changes_with_lock(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    let both = |(before, locks): &(&Entry, &Entry)| {
        locks.lock_to_default && !before.lock_to_default && before.default != locks.default
    };
    let message = "default changes in the release that locks it, so users cannot revert it";
    pairs(feature)
        .filter(both)
        .map(|(_, locks)| (locks.version, message.to_owned()))
        .collect()
}

fn stale(feature: &Feature, at: Version) -> Vec<(Version, String)> {
    let last = feature.entries.last().filter(|last| {
        matches!(last.stage, Stage::Alpha | Stage::Beta)
            && at >= last.version.plus_minors(STALE_AFTER_MINORS)
    });
    let message = |last: &Entry| {
        (
            at,
            format!("{} since {} without a change", last.stage, last.version),
        )
    };
    last.map(message).into_iter().collect()
}

fn future_entry(feature: &Feature, at: Version) -> Vec<(Version, String)> {
    first_where(
        feature,
        |entry| entry.version > at,
        |_| format!("entry is newer than {at}"),
    )
}

fn droppable_history(feature: &Feature, at: Version) -> Vec<(Version, String)> {
    let floor = at.minus_minors(EMULATED_MINORS);
    let reached = feature
        .entries
        .iter()
        .filter(|entry| entry.version <= floor)
        .count();
    let message = || format!("{} entries before {floor} can be dropped", reached - 1);
    (reached >= 2)
        .then(|| (at, message()))
        .into_iter()
        .collect()
}

fn deprecated_and_locked_at_once(feature: &Feature, _: Version) -> Vec<(Version, String)> {
    let first = feature
        .entries
        .iter()
        .find(|entry| entry.stage == Stage::Deprecated);
    let message = "locked in its first deprecated release, users get no time to move";
    first
        .filter(|first| first.lock_to_default)
        .map(|first| (first.version, message.to_owned()))
        .into_iter()
        .collect()
}

/// Our own table must be sorted, with an owner and a description for each gate.
fn declared_order(component: &Component) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for group in component.groups() {
        let declarations = group.declarations();
        for (before, after) in declarations.iter().zip(declarations.iter().skip(1)) {
            if before.name.to_lowercase() > after.name.to_lowercase() {
                found.push((
                    after.name.to_owned(),
                    format!("belongs before {}", before.name),
                ));
            }
        }
        for declaration in declarations {
            for (missing, what) in [
                (declaration.owner, "owner"),
                (declaration.description, "description"),
            ] {
                if missing.trim().is_empty() {
                    found.push((declaration.name.to_owned(), format!("has no {what}")));
                }
            }
        }
    }
    found
}
