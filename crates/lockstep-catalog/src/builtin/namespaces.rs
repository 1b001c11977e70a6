//! Namespaces: defaulting and validation.

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::metadata::validate_finalizer_of_builtin;
use lockstep_object::{Object, Value};
use serde_json::json;

/// The finalizer that keeps a namespace until its content is deleted.
const FINALIZER: &str = "kubernetes";
/// The label with the name of the namespace, for selectors.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Validates the finalizers, and that the phase agrees with the deletion timestamp.
pub(super) fn validate(namespace: &Object) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let spec = Path::ROOT.field("spec");
    let path = spec.field("finalizers");
    let holders = namespace.at(&["spec", "finalizers"]);
    let holders = holders.and_then(Value::as_array).into_iter().flatten();
    for holder in holders {
        let holder = holder.as_str().unwrap_or_default();
        errors.extend(validate_finalizer_of_builtin(holder, &path));
    }
    let (expected, why) = match namespace.deletion_timestamp() {
        None => (
            "Active",
            "may only be 'Active' if `deletionTimestamp` is empty",
        ),
        Some(_) => (
            "Terminating",
            "may only be 'Terminating' if `deletionTimestamp` is not empty",
        ),
    };
    let phase = namespace.at(&["status", "phase"]).and_then(Value::as_str);
    let phase = phase.unwrap_or_default();
    if phase != expected {
        let status = Path::ROOT.field("status");
        errors.push(FieldError::invalid(&status.field("Phase"), phase, why));
    }
    errors
}

/// Sets the name label, and on create the finalizer and the phase.
pub(super) fn normalize(namespace: &mut Object, old: Option<&Object>) {
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
    if !holders.contains(&FINALIZER.into()) {
        spec["finalizers"] = [holders, vec![FINALIZER.into()]].concat().into();
    }
    fields.insert("status".to_owned(), json!({ "phase": "Active" }));
}
