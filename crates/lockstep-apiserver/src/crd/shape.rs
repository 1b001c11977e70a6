//! What a CRD means that leaves something out.

use lockstep_object::{Object, Value};
use lockstep_schema::{default_definition, storage_version};
use serde_json::json;

/// Fills in what was left out, and notes the version that objects are stored in from this write on.
pub(crate) fn shape(crd: &mut Object, old: Option<&Object>) {
    if old.is_none() {
        // Not null, as upstream has it: `kubectl wait` gives up on that.
        let status = json!({ "conditions": [], "acceptedNames": { "plural": "", "kind": "" } });
        crd.fields_mut().insert("status".to_owned(), status);
    }
    default_definition(crd);
    if old.is_some_and(|old| old.at(&["spec"]) == crd.at(&["spec"])) {
        // What is stored is as it was; whoever migrated it says so in the status.
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
