//! Namespaces.

use lockstep_object::{Object, Value};
use serde_json::json;

/// What holds a namespace until its content is gone.
const HOLDER: &str = "kubernetes";
/// The label by which selectors name a namespace.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A new namespace is active and held; every namespace is labelled with its name.
pub(super) fn shape(namespace: &mut Object, old: Option<&Object>) {
    let name = namespace.name().to_owned();
    if !name.is_empty() {
        let labels = namespace
            .metadata_mut()
            .entry("labels")
            .or_insert(Value::Null);
        if !labels.is_object() {
            *labels = json!({});
        }
        labels[NAME_LABEL] = name.into();
    }
    if old.is_some() {
        return;
    }
    let fields = namespace.fields_mut();
    let spec = fields.entry("spec").or_insert_with(|| json!({}));
    if !spec.is_object() {
        *spec = json!({});
    }
    let holders = spec["finalizers"].as_array().cloned().unwrap_or_default();
    if !holders.contains(&HOLDER.into()) {
        spec["finalizers"] = [holders, vec![HOLDER.into()]].concat().into();
    }
    fields.insert("status".to_owned(), json!({ "phase": "Active" }));
}
