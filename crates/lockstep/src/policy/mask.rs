//! Values of Secrets, which no output for people shows.

use lockstep_object::{Object, Value};

/// Shown instead of a value.
const MASK: &str = "***";
/// Shown instead of a value that differs from the one before.
const CHANGED: &str = "*** (changed)";
const FIELDS: [&str; 2] = ["data", "stringData"];
/// Annotation with a whole object, which kubectl writes.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// True for an object whose values are secret.
pub(super) fn is_secret(object: &Object) -> bool {
    object.kind() == "Secret" && object.api_version() == "v1"
}

/// The object without its secret values.
pub(super) fn object(object: &Object) -> Object {
    let mut object = object.clone();
    if is_secret(&object) {
        for field in FIELDS {
            if let Some(values) = object.fields_mut().get_mut(field) {
                hide(values);
            }
        }
        let annotations = object.metadata_mut().get_mut("annotations");
        if let Some(value) = annotations.and_then(|all| all.get_mut(LAST_APPLIED)) {
            *value = MASK.into();
        }
    }
    object
}

/// The object after a change without its secret values, of which changed ones are marked.
pub(super) fn changed(before: &Object, after: &Object) -> Object {
    let mut shown = object(after);
    for field in FIELDS.iter().filter(|_| is_secret(after)) {
        let values = shown.fields_mut().get_mut(*field);
        for (name, value) in values.and_then(Value::as_object_mut).into_iter().flatten() {
            let old = before.at(&[field, name]);
            if old.is_some() && old != after.at(&[field, name]) {
                *value = CHANGED.into();
            }
        }
    }
    shown
}

/// The operations of a patch of an object without its secret values.
pub(super) fn patch(object: &Object, operations: &[Value]) -> Vec<Value> {
    let mut operations = operations.to_vec();
    if !is_secret(object) {
        return operations;
    }
    for operation in &mut operations {
        let path = operation["path"].as_str().unwrap_or_default().to_owned();
        let mut steps = path.split('/').skip(1);
        let first = steps.next().unwrap_or_default();
        let is_annotation = first == "metadata" && path.contains("last-applied-configuration");
        if let Some(value) = operation.get_mut("value") {
            if FIELDS.contains(&first) || is_annotation {
                hide(value);
            } else if path.is_empty() || path == "/metadata" || path == "/metadata/annotations" {
                *value = MASK.into();
            }
        }
    }
    operations
}

/// Replaces every scalar.
fn hide(value: &mut Value) {
    match value {
        Value::Object(values) => values.values_mut().for_each(hide),
        Value::Array(values) => values.iter_mut().for_each(hide),
        Value::Null => {}
        scalar => *scalar = MASK.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// ux.md §6
    #[test]
    fn values_of_secrets_are_hidden_and_those_of_others_are_not() {
        let of_kind = |kind: &str| {
            Object::from_value(json!({
                "apiVersion": "v1", "kind": kind,
                "metadata": { "name": "s", "annotations": { LAST_APPLIED: "{…}" } },
                "data": { "a": "eA==" }, "stringData": { "b": "y" },
            }))
            .unwrap()
        };
        let secret = of_kind("Secret");
        let hidden = object(&secret);
        assert_eq!(hidden.at(&["data"]), Some(&json!({ "a": "***" })));
        assert_eq!(hidden.at(&["stringData"]), Some(&json!({ "b": "***" })));
        assert_eq!(hidden.annotation(LAST_APPLIED), Some("***"));
        assert_eq!(object(&of_kind("ConfigMap")), of_kind("ConfigMap"));
        let mut other = secret.clone();
        other.fields_mut()["data"] = json!({ "a": "eQ==", "new": "eQ==" });
        let expected = json!({ "a": "*** (changed)", "new": "***" });
        assert_eq!(changed(&secret, &other).at(&["data"]), Some(&expected));
        let operations = [
            json!({ "op": "add", "path": "/data/a", "value": "eA==" }),
            json!({ "op": "add", "path": "/stringData", "value": { "b": "y" } }),
            json!({ "op": "add", "path": "/metadata/labels", "value": { "c": "d" } }),
            json!({ "op": "remove", "path": "/data/x" }),
        ];
        let expected = [
            json!({ "op": "add", "path": "/data/a", "value": "***" }),
            json!({ "op": "add", "path": "/stringData", "value": { "b": "***" } }),
            operations[2].clone(),
            operations[3].clone(),
        ];
        assert_eq!(patch(&secret, &operations), expected);
        assert_eq!(patch(&of_kind("ConfigMap"), &operations), operations);
    }
}
