//! Defaulting of CRDs.

use lockstep_object::{Object, Value};
use lockstep_schema::{default_definition, storage_version};
use serde_json::json;

/// Applies defaults, and adds the storage version to `status.storedVersions`.
pub(crate) fn apply_defaults(crd: &mut Object, old: Option<&Object>) {
    if old.is_none() {
        // Upstream writes `conditions: null` here. `kubectl wait` fails on that, so this is an empty list.
        let status = json!({ "conditions": [], "acceptedNames": { "plural": "", "kind": "" } });
        crd.fields_mut().insert("status".to_owned(), status);
    }
    default_definition(crd);
    if old.is_some_and(|old| old.at(&["spec"]) == crd.at(&["spec"])) {
        // An unchanged spec leaves `storedVersions` alone: a migrator shortens it by a status update.
        return;
    }
    let Some(storage) = storage_version(crd).map(Value::from) else {
        return;
    };
    let status = crd
        .fields_mut()
        .entry("status")
        .or_insert_with(|| json!({}));
    let stored = status
        .get_mut("storedVersions")
        .and_then(Value::as_array_mut);
    if let Some(stored) = stored.filter(|stored| !stored.contains(&storage)) {
        stored.push(storage);
    }
}
