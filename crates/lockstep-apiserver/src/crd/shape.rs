//! What a CRD means that leaves something out.

use lockstep_object::{Object, Value};
use serde_json::json;

use super::Definition;

/// Fills in the names that follow from the kind, the conversion that is none, and the fields that
/// every version says.
pub(crate) fn shape(crd: &mut Object, old: Option<&Object>) {
    shape_spec(crd);
    note_storage(crd, old);
}

/// Objects may be stored in the storage version from the write on that makes it so.
fn note_storage(crd: &mut Object, old: Option<&Object>) {
    let definition = Definition::of(crd);
    let storage = definition.versions().find(|version| version.is_storage());
    let Some(storage) = storage.map(|version| version.name().to_owned()) else {
        return;
    };
    let mut stored: Vec<Value> = definition
        .stored_versions()
        .into_iter()
        .map(Value::from)
        .collect();
    if old.is_none() {
        let status = json!({ "conditions": [], "acceptedNames": { "plural": "", "kind": "" } });
        crd.fields_mut().insert("status".to_owned(), status);
    }
    if !stored.contains(&Value::from(storage.as_str())) {
        stored.push(storage.into());
    }
    let status = crd
        .fields_mut()
        .entry("status")
        .or_insert_with(|| json!({}));
    if status.is_object() {
        status["storedVersions"] = stored.into();
    }
}

fn shape_spec(crd: &mut Object) {
    let Some(Value::Object(spec)) = crd.fields_mut().get_mut("spec") else {
        return;
    };
    if spec.get("preserveUnknownFields") == Some(&Value::Bool(false)) {
        spec.remove("preserveUnknownFields");
    }
    let conversion = spec.entry("conversion").or_insert_with(|| json!({}));
    if conversion["strategy"]
        .as_str()
        .unwrap_or_default()
        .is_empty()
        && conversion.is_object()
    {
        conversion["strategy"] = "None".into();
    }
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let (singular, list_kind) = (kind.to_lowercase(), format!("{kind}List"));
        let has_kind = !kind.is_empty();
        for (name, made) in [("singular", singular), ("listKind", list_kind)] {
            let given = names.get(name).and_then(Value::as_str).unwrap_or_default();
            if given.is_empty() && has_kind {
                names.insert(name.to_owned(), made.into());
            }
        }
    }
    let versions = spec.get_mut("versions").and_then(Value::as_array_mut);
    for version in versions
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        for field in ["served", "storage"] {
            version.entry(field).or_insert(Value::Bool(false));
        }
    }
}
