//! Status updates that preserve parts of the stored status.

use lockstep_object::{Map, Object, Value};

use crate::look::{list, map_in, maps_in, text};

const OBSERVED: &str = "observedGeneration";
const SINCE: &str = "lastPhaseTransitionTime";

/// The `QoS` class is immutable, and `observedGeneration` is never removed.
pub(crate) fn pod(pod: &mut Object, old: &Object, _now: &str) {
    let was = old.at(&["status"]).cloned().unwrap_or_default();
    let status = map_in(pod.fields_mut(), "status");
    for field in ["qosClass", OBSERVED] {
        inherit(status, &was, field);
    }
    let mut before = list(&was, "conditions").to_vec();
    for condition in maps_in(status, "conditions") {
        let kind = condition.get("type").and_then(Value::as_str);
        let same = before
            .iter()
            .position(|old| Some(text(old, "type")) == kind);
        if let Some(same) = same {
            inherit(condition, &before.remove(same), OBSERVED);
        }
    }
}

/// Sets `lastPhaseTransitionTime` when the phase changes, and keeps it otherwise.
pub(crate) fn volume(volume: &mut Object, old: &Object, now: &str) {
    let was = old.at(&["status"]).cloned().unwrap_or_default();
    let status = map_in(volume.fields_mut(), "status");
    let is = |field: &str| status.get(field).filter(|value| !value.is_null());
    let is_same_phase = is("phase") == was.get("phase");
    let is_given = is(SINCE).is_some_and(|since| Some(since) != was.get(SINCE));
    if is_same_phase {
        inherit(status, &was, SINCE);
    } else if !is_given {
        status.insert(SINCE.to_owned(), now.into());
    }
}

/// Restores an empty field from the stored status.
fn inherit(fields: &mut Map<String, Value>, was: &Value, field: &str) {
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Number(number) => number.as_i64() != Some(0),
        _ => true,
    };
    if fields.get(field).is_some_and(is_set) {
        return;
    }
    if let Some(value) = was.get(field).filter(|value| is_set(value)) {
        fields.insert(field.to_owned(), value.clone());
    }
}
