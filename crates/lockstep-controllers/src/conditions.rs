//! Status conditions.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

/// One condition as it should be.
pub(crate) struct Condition {
    pub(crate) kind: &'static str,
    pub(crate) is_true: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
}

/// Sets conditions in the status. A condition that differs only in its time keeps the old one; conditions of other
/// controllers are left alone.
pub(crate) fn write(object: &mut Object, wanted: &[Condition], now: Seconds) {
    let status = object.fields_mut().entry("status").or_insert(Value::Null);
    if !status.is_object() {
        *status = json!({});
    }
    let mut list = status["conditions"].as_array().cloned().unwrap_or_default();
    for condition in wanted {
        let mut next = json!({
            "type": condition.kind,
            "status": if condition.is_true { "True" } else { "False" },
            "lastTransitionTime": now.to_string(),
            "reason": condition.reason,
            "message": condition.message,
        });
        match list.iter_mut().find(|old| old["type"] == condition.kind) {
            None => list.push(next),
            Some(old) => {
                if old["status"] == next["status"] {
                    next["lastTransitionTime"] = old["lastTransitionTime"].clone();
                }
                *old = next;
            }
        }
    }
    status["conditions"] = list.into();
}
