//! Reconciliation of a stored role or binding with its default.

use super::AUTO_UPDATE;
use crate::rule::{PolicyRule, uncovered};
use lockstep_object::{Map, Object};
use serde_json::Value;

/// Result of the reconciliation.
#[derive(Debug, Clone, PartialEq)]
pub enum Reconciled {
    /// No change: nothing is missing, or autoupdate is disabled by annotation.
    Unchanged,
    /// The object with the missing rules or subjects added.
    Changed(Object),
    /// The binding must be deleted and recreated, because `roleRef` is immutable.
    Replaced,
}

/// Compares a stored role or binding with what it should have at least. Nothing is taken away: rules, subjects, labels
/// and annotations that others added stay, and so does everything that is annotated not to be updated.
pub fn reconciled(expected: &Object, stored: &Object) -> Reconciled {
    if stored.annotation(AUTO_UPDATE) == Some("false") {
        return Reconciled::Unchanged;
    }
    if expected.at(&["roleRef"]) != stored.at(&["roleRef"]) {
        return Reconciled::Replaced;
    }
    let mut next = stored.clone();
    for field in ["labels", "annotations"] {
        add_texts(&mut next, expected, field);
    }
    add_rules(&mut next, expected);
    for path in [
        &["subjects"][..],
        &["aggregationRule", "clusterRoleSelectors"],
    ] {
        add_items(&mut next, expected, path);
    }
    if next == *stored {
        Reconciled::Unchanged
    } else {
        Reconciled::Changed(next)
    }
}

/// Labels and annotations that are not there; a value that is there stays.
fn add_texts(next: &mut Object, expected: &Object, field: &str) {
    let Some(Value::Object(wanted)) = expected.metadata().get(field) else {
        return;
    };
    let texts = next.metadata_mut().entry(field).or_insert(Value::Null);
    if !texts.is_object() {
        *texts = Value::Object(Map::new());
    }
    for (key, value) in wanted {
        if texts.get(key).is_none() {
            texts[key] = value.clone();
        }
    }
}

/// Rules that the stored ones do not cover. An aggregated role gets its rules from others.
fn add_rules(next: &mut Object, expected: &Object) {
    if expected.at(&["aggregationRule"]).is_some() {
        return;
    }
    let held = PolicyRule::all_of(next.as_value());
    let missing = uncovered(&held, &PolicyRule::all_of(expected.as_value()));
    if !missing.is_empty() {
        let rules = held.iter().chain(&missing).map(PolicyRule::to_value);
        let rules = rules.collect();
        next.fields_mut().insert("rules".to_owned(), rules);
    }
}

/// Items of a list that are not in it.
fn add_items(next: &mut Object, expected: &Object, path: &[&str]) {
    let list = |object: &Object| object.at(path).and_then(Value::as_array).cloned();
    let Some(wanted) = list(expected) else {
        return;
    };
    let mut items = list(next).unwrap_or_default();
    let before = items.len();
    for item in wanted {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    if items.len() == before {
        return;
    }
    let items = Value::Array(items);
    let fields = next.fields_mut();
    match path {
        [field] => drop(fields.insert((*field).to_owned(), items)),
        [outer, inner] => {
            let mut map = Map::new();
            map.insert((*inner).to_owned(), items);
            fields.insert((*outer).to_owned(), Value::Object(map));
        }
        _ => {}
    }
}
