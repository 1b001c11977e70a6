//! RFC 7386: a patch that looks like the object.

use serde_json::{Map, Value};

/// Applies a merge patch: maps are merged, `null` deletes, everything else replaces.
///
/// Works level by level, so a patch of any depth is fine.
pub fn merge_patch(target: &mut Value, patch: Value) {
    let mut open = vec![(target, patch)];
    while let Some((target, patch)) = open.pop() {
        let Value::Object(changes) = patch else {
            *target = patch;
            continue;
        };
        if !target.is_object() {
            *target = Value::Object(Map::new());
        }
        let Value::Object(fields) = target else {
            continue;
        };
        let mut changes = changes;
        changes.retain(|field, change| {
            if change.is_null() {
                fields.remove(field);
                return false;
            }
            fields.entry(field.clone()).or_insert(Value::Null);
            true
        });
        for (field, value) in fields.iter_mut() {
            if let Some(change) = changes.remove(field) {
                open.push((value, change));
            }
        }
    }
}
