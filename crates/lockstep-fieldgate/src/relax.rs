//! Relaxes the schema at fields of closed gates: clients cannot set them, so nothing may require or default them.

use lockstep_object::Value;

use crate::gate::GateList;
use crate::path::Segment;
use crate::place;

/// Keyword that disables pruning.
const PRESERVE_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// Schema of a version with closed gates applied: at and below gated fields no defaults, nothing required, and nothing
/// pruned, because a frozen value stays whole even if its schema lost a field since it was stored. None if no closed
/// gate has a path in this version.
pub fn relax_closed_fields(schema: &Value, gates: &GateList) -> Option<Value> {
    let mut relaxed = None;
    for gate in gates.gates.iter().filter(|gate| !gate.state().enabled) {
        for path in gate.paths.iter().flatten() {
            if place::steps(schema, path, "").is_ok() {
                let schema = relaxed.get_or_insert_with(|| schema.clone());
                relax(schema, path.segments());
            }
        }
    }
    relaxed
}

fn relax(node: &mut Value, segments: &[Segment]) {
    let Some((first, rest)) = segments.split_first() else {
        freeze(node);
        return;
    };
    if let Some(default) = node.get_mut("default") {
        remove(default, segments);
    }
    let together = node.get_mut("allOf").and_then(Value::as_array_mut);
    for part in together.into_iter().flatten() {
        relax(part, segments);
    }
    match first {
        Segment::Name(name) => {
            if rest.is_empty() {
                release(node, name);
            }
            if let Some(below) = declared(node, name) {
                relax(below, rest);
            }
        }
        Segment::Each => {
            for below in every(node) {
                relax(below, rest);
            }
        }
    }
}

/// Removes a name from `required`.
fn release(node: &mut Value, name: &str) {
    let required = node.get_mut("required").and_then(Value::as_array_mut);
    if let Some(required) = required {
        required.retain(|other| other != name);
    }
}

/// The schema of a property. A map key gets a schema of its own, since other keys are unaffected.
fn declared<'s>(node: &'s mut Value, name: &str) -> Option<&'s mut Value> {
    let entries = node.as_object_mut()?;
    let is_declared = entries
        .get("properties")
        .is_some_and(|properties| properties.get(name).is_some());
    if !is_declared {
        let values = entries.get("additionalProperties");
        let values = values.filter(|values| values.is_object())?.clone();
        let properties = entries.entry("properties");
        let properties = properties.or_insert_with(|| Value::Object(serde_json::Map::new()));
        properties.as_object_mut()?.insert(name.to_owned(), values);
    }
    entries.get_mut("properties")?.get_mut(name)
}

/// The schemas of all list elements or map values, including map keys with their own schema.
fn every(node: &mut Value) -> Vec<&mut Value> {
    let Value::Object(entries) = node else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (keyword, value) in entries {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(keys)) => found.extend(keys.values_mut()),
            ("items" | "additionalProperties", value @ Value::Object(_)) => found.push(value),
            _ => {}
        }
    }
    found
}

/// Disables defaulting and pruning of a value.
fn freeze(node: &mut Value) {
    if let Value::Object(entries) = node {
        entries.remove("default");
        if entries.contains_key("properties") {
            entries.insert(PRESERVE_UNKNOWN.to_owned(), true.into());
        }
    }
    every(node).into_iter().for_each(freeze);
}

/// Removes the selected fields from a value.
fn remove(value: &mut Value, segments: &[Segment]) {
    match segments {
        [] => {}
        [Segment::Name(name)] => {
            if let Value::Object(entries) = value {
                entries.remove(&**name);
            }
        }
        [Segment::Name(name), rest @ ..] => {
            if let Some(below) = value.get_mut(&**name) {
                remove(below, rest);
            }
        }
        [Segment::Each, rest @ ..] => match value {
            Value::Array(elements) => elements.iter_mut().for_each(|below| remove(below, rest)),
            Value::Object(entries) => entries.values_mut().for_each(|below| remove(below, rest)),
            _ => {}
        },
    }
}
