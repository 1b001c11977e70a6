//! Defaulting of `CustomResourceDefinitions`.

use super::storage_version;
use lockstep_object::Object;
use serde_json::{Map, Value, json};

/// Fills in what a definition leaves out: `singular`, `listKind`, the conversion strategy, ports of services, and the
/// first stored version.
pub fn default_definition(definition: &mut Object) {
    let storage = storage_version(definition).map(str::to_owned);
    let fields = definition.fields_mut();
    if let Some(Value::Object(spec)) = fields.get_mut("spec") {
        default_spec(spec);
    }
    let status = fields.entry("status").or_insert_with(|| json!({}));
    if let (Some(storage), Some(status)) = (storage, status.as_object_mut()) {
        let stored = status.get("storedVersions").and_then(Value::as_array);
        if stored.is_none_or(Vec::is_empty) {
            status.insert("storedVersions".to_owned(), json!([storage]));
        }
    }
}

fn default_spec(spec: &mut Map<String, Value>) {
    if let Some(Value::Object(names)) = spec.get_mut("names") {
        let kind = names
            .get("kind")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        for (field, default) in [
            ("singular", kind.to_lowercase()),
            ("listKind", format!("{kind}List")),
        ] {
            let given = names.get(field).and_then(Value::as_str).unwrap_or_default();
            if given.is_empty() && !kind.is_empty() {
                names.insert(field.to_owned(), Value::from(default));
            }
        }
    }
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({"strategy": "None"});
    }
    let service = conversion
        .pointer_mut("/webhook/clientConfig/service")
        .and_then(Value::as_object_mut);
    if let Some(service) = service {
        service.entry("port").or_insert(Value::from(443));
    }
}
