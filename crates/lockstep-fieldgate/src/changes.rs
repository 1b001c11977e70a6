//! Warnings returned when a `CustomResourceDefinition` is written.

use lockstep_object::{Object, Value};

use crate::gate::{ANNOTATION, Gate, GateList, Source, of_spec, source};
use crate::path::FieldPath;
use crate::place;
use crate::switch::managers_of_choice;

/// Warnings about the gates of a valid definition. If a stored definition is given, also about fields that lost their
/// gate.
pub fn gate_warnings(definition: &Object, stored: Option<&Object>) -> Vec<String> {
    let place = match source(definition) {
        Source::Annotation(_) => format!("metadata.annotations[{ANNOTATION}]"),
        Source::Nowhere | Source::Spec(_) => "spec.customFeatureGates".to_owned(),
    };
    let gates = GateList::of(definition);
    let storage = place::storage(definition).map(|(_, schema)| schema);
    let before = stored.map(GateList::of);
    let mut warnings = Vec::new();
    warnings.extend(unused_annotation(definition));
    for (at, gate) in gates.gates.iter().enumerate() {
        let place = format!("{place}.featureGates[{at}]");
        warnings.extend(of_gate(gate, &place, storage));
        let before = before.as_ref().and_then(|before| find(before, &gate.name));
        if let Some((before, stored)) = before.zip(stored) {
            warnings.extend(dropped_choice(before, gate, stored, &place));
        }
        if let Some(before) = before.filter(|before| before.stage > gate.stage) {
            let (name, from, to) = (&gate.name, before.stage.as_str(), gate.stage.as_str());
            warnings.push(format!(
                "{place}.preRelease: gate {name:?} went from {from} back to {to}"
            ));
        }
    }
    if let (Some(before), Some(schema)) = (&before, storage) {
        warnings.extend(ungated_fields(before, &gates, schema, &place));
    }
    warnings
}

fn find<'g>(gates: &'g GateList, name: &str) -> Option<&'g Gate> {
    gates.gates.iter().find(|gate| gate.name == name)
}

/// Warns that a write removes the choice of an admin, as a plain apply or replace of the author's definition does.
fn dropped_choice(before: &Gate, now: &Gate, stored: &Object, place: &str) -> Option<String> {
    let choice = before.enabled?;
    if now.enabled.is_some() {
        return None;
    }
    let name = &now.name;
    let managers = match &managers_of_choice(stored, name)[..] {
        [] => String::new(),
        managers => format!(", set by {managers:?},").replace(['[', ']'], ""),
    };
    let state = if now.state().enabled {
        "enabled"
    } else {
        "disabled"
    };
    Some(format!(
        "{place}.enabled: {choice}{managers} is removed: gate {name:?} is {state} by default"
    ))
}

/// Warns that gates in the annotation are ignored because the spec has different ones.
fn unused_annotation(definition: &Object) -> Option<String> {
    let text = definition.annotation(ANNOTATION)?;
    let parsed = serde_json::from_str::<Value>(text).ok();
    let differs = of_spec(definition).is_some_and(|gates| parsed.as_ref() != Some(gates));
    differs.then(|| {
        format!("metadata.annotations[{ANNOTATION}]: ignored: spec.customFeatureGates is set and differs")
    })
}

fn of_gate(gate: &Gate, place: &str, storage: Option<&Value>) -> Vec<String> {
    let mut warnings = Vec::new();
    let state = gate.state();
    if gate.enabled == Some(false) && state.enabled {
        let name = &gate.name;
        warnings.push(format!(
            "{place}.enabled: ignored: gate {name:?} is stable and always enabled"
        ));
    }
    for (at, path) in paths(gate) {
        let others = paths(gate).filter(|(other, _)| *other != at);
        let mut around = others.filter(|(_, other)| other.covers(path) && !other.overlaps(path));
        if let Some((_, around)) = around.next() {
            warnings.push(format!(
                "{place}.fieldPaths[{at}]: redundant: covered by {around}"
            ));
        }
        if storage.is_some_and(|schema| place::is_required(schema, path.segments())) {
            warnings.push(format!(
                "{place}.fieldPaths[{at}]: {path} is required by the schema: not enforced while the gate is disabled"
            ));
        }
    }
    warnings
}

fn paths(gate: &Gate) -> impl Iterator<Item = (usize, &FieldPath)> {
    let paths = gate.paths.iter().enumerate();
    paths.filter_map(|(at, path)| Some((at, path.as_ref()?)))
}

/// Warns about fields whose closed gate was removed: their values are no longer protected.
fn ungated_fields(before: &GateList, now: &GateList, schema: &Value, place: &str) -> Vec<String> {
    let mut warnings = Vec::new();
    for gate in before.gates.iter().filter(|gate| !gate.state().enabled) {
        for (_, path) in paths(gate) {
            let mut left = now.gates.iter().flat_map(paths).map(|(_, path)| path);
            let is_there = place::steps(schema, path, "").is_ok();
            if is_there && !left.any(|left| left.covers(path)) {
                let (name, stage) = (&gate.name, gate.stage.as_str());
                warnings.push(format!(
                    "{place}: gate {name:?} ({stage}, disabled) is gone: {path} is no longer gated"
                ));
            }
        }
    }
    warnings
}
