//! JSON merge patch (RFC 7386): given values replace, null removes.

use serde_json::{Map, Value};

/// Applies a merge patch. A patch that is not an object replaces the whole value; callers reject such bodies first.
pub fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(entries) = target else {
        unreachable!("it was just made an object");
    };
    for (key, change) in changes {
        match change {
            Value::Null => {
                entries.remove(key);
            }
            change => merge_patch(entries.entry(key.as_str()).or_insert(Value::Null), change),
        }
    }
}
