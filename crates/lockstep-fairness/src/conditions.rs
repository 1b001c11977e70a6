//! The condition `Dangling` of flow schemas.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

/// A condition without its time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Condition {
    status: &'static str,
    reason: &'static str,
    message: String,
}

/// Condition `Dangling` of a schema that names this level.
pub fn dangling(level: &str, exists: bool) -> Condition {
    let (status, reason, rest) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {level:?} {rest}"
    );
    Condition {
        status,
        reason,
        message,
    }
}

/// The schema with its condition `Dangling`; none if it has it already.
pub fn with_condition(schema: &Object, condition: &Condition, now: Seconds) -> Option<Object> {
    let conditions = schema.at(&["status", "conditions"]);
    let mut conditions = conditions
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let known = conditions
        .iter_mut()
        .find(|known| known["type"] == "Dangling");
    let wanted = json!({
        "type": "Dangling",
        "status": condition.status,
        "lastTransitionTime": now.to_string(),
        "reason": condition.reason,
        "message": condition.message,
    });
    match known {
        Some(known) if condition.is(known) => return None,
        Some(known) => *known = wanted,
        None => conditions.push(wanted),
    }
    let mut schema = schema.clone();
    schema
        .fields_mut()
        .insert("status".to_owned(), json!({ "conditions": conditions }));
    Some(schema)
}

impl Condition {
    fn is(&self, stored: &Value) -> bool {
        stored["status"] == self.status
            && stored["reason"] == self.reason
            && stored["message"] == *self.message
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_written_once_and_replaced_when_it_changes() {
        let at = |seconds| Seconds::from_unix(seconds).unwrap();
        let object = Object::from_value(json!({ "kind": "FlowSchema" })).unwrap();
        let found = with_condition(&object, &dangling("a", true), at(0)).unwrap();
        let stored = json!([{
            "type": "Dangling", "status": "False", "lastTransitionTime": "1970-01-01T00:00:00Z", "reason": "Found",
            "message": "This FlowSchema references the PriorityLevelConfiguration object named \"a\" and it exists",
        }]);
        assert_eq!(found.at(&["status", "conditions"]), Some(&stored));
        assert_eq!(with_condition(&found, &dangling("a", true), at(9)), None);
        let lost = with_condition(&found, &dangling("a", false), at(9)).unwrap();
        let stored = json!([{
            "type": "Dangling", "status": "True", "lastTransitionTime": "1970-01-01T00:00:09Z", "reason": "NotFound",
            "message": "This FlowSchema references the PriorityLevelConfiguration object named \"a\" but there is \
                no such object",
        }]);
        assert_eq!(lost.at(&["status", "conditions"]), Some(&stored));
    }
}
