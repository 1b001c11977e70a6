//! Publication of gates in OpenAPI documents and in the status of a definition.

use lockstep_object::Value;
use serde_json::json;

use crate::gate::{GateList, Stage};
use crate::path::Segment;
use crate::place;

/// OpenAPI extension with the stage and state of a gated field.
const LIFECYCLE: &str = "x-kubernetes-api-lifecycle";

/// Adds stage and state to every gated field of a version's schema. `group` is the fallback for an empty component.
pub fn publish(schema: &mut Value, gates: &GateList, group: &str) {
    let unstable = gates
        .gates
        .iter()
        .filter(|gate| gate.stage != Stage::Stable);
    for gate in unstable {
        let enabled = gate.state().enabled;
        let stage = gate.stage.as_str();
        let line = format!(
            "Feature gate {}: {stage}, {}.",
            gates.reference(gate),
            if enabled { "enabled" } else { "disabled" }
        );
        let owner = match gates.component.as_str() {
            "" => group,
            component => component,
        };
        let lifecycle = json!({
            owner: {"status": stage, "featureGate": gate.name, "enabled": enabled},
        });
        for path in gate.paths.iter().flatten() {
            if place::steps(schema, path, "").is_err() {
                continue;
            }
            let Some(Value::Object(field)) = declared(schema, path.segments()) else {
                continue;
            };
            let description = field.get("description").and_then(Value::as_str);
            let description = description.filter(|description| !description.is_empty());
            let description = description.map_or_else(
                || line.clone(),
                |description| format!("{description}\n{line}"),
            );
            field.insert("description".to_owned(), description.into());
            field.insert(LIFECYCLE.to_owned(), lifecycle.clone());
            if gate.stage == Stage::Deprecated {
                field.insert("deprecated".to_owned(), true.into());
            }
        }
    }
}

/// The schema of a declared field. A single map key has none of its own.
fn declared<'s>(schema: &'s mut Value, segments: &[Segment]) -> Option<&'s mut Value> {
    segments
        .iter()
        .try_fold(schema, |node, segment| match segment {
            Segment::Name(name) => node.get_mut("properties")?.get_mut(&**name),
            Segment::Each if node.get("items").is_some() => node.get_mut("items"),
            Segment::Each => node.get_mut("additionalProperties"),
        })
}

/// Gate states for the status of a definition.
pub fn status(gates: &GateList) -> Value {
    let states = gates.gates.iter().map(|gate| {
        let state = gate.state();
        json!({"name": gate.name, "enabled": state.enabled, "rule": state.rule.as_str()})
    });
    states.collect()
}
