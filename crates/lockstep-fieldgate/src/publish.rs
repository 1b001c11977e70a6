//! Gates as clients see them: in the schemas of documents, and in the status of a definition.

use lockstep_object::Value;
use serde_json::json;

use crate::gate::{GateList, Stage};
use crate::path::Segment;
use crate::place;

/// What documents tell about gated fields.
const LIFECYCLE: &str = "x-kubernetes-api-lifecycle";

/// Writes stages and states into the schema of a version, at each field that it has. `group` stands for whoever made
/// the gates if they do not say.
pub fn publish(schema: &mut Value, gates: &GateList, group: &str) {
    let unsettled = gates
        .gates
        .iter()
        .filter(|gate| gate.stage != Stage::Stable);
    for gate in unsettled {
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
            let told = field.get("description").and_then(Value::as_str);
            let told = told.filter(|told| !told.is_empty());
            let told = told.map_or_else(|| line.clone(), |told| format!("{told}\n{line}"));
            field.insert("description".to_owned(), told.into());
            field.insert(LIFECYCLE.to_owned(), lifecycle.clone());
            if gate.stage == Stage::Deprecated {
                field.insert("deprecated".to_owned(), true.into());
            }
        }
    }
}

/// The schema of a declared field. A single key of a map has none.
fn declared<'s>(schema: &'s mut Value, segments: &[Segment]) -> Option<&'s mut Value> {
    segments
        .iter()
        .try_fold(schema, |node, segment| match segment {
            Segment::Name(name) => node.get_mut("properties")?.get_mut(&**name),
            Segment::Each if node.get("items").is_some() => node.get_mut("items"),
            Segment::Each => node.get_mut("additionalProperties"),
        })
}

/// What the status of a definition tells about its gates.
pub fn status(gates: &GateList) -> Value {
    let told = gates.gates.iter().map(|gate| {
        let state = gate.state();
        json!({"name": gate.name, "enabled": state.enabled, "rule": state.rule.as_str()})
    });
    told.collect()
}
