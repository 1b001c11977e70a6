//! RFC 7386: what is given replaces, null removes.

use serde_json::{Map, Value};

/// Applies a merge patch. A patch that is no object replaces the whole value: callers refuse such a body.
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
