//! Metadata of converted objects: a webhook may change labels and annotations only.

use lockstep_object::field::Path;
use lockstep_object::metadata::{Scope, validate_metadata};
use lockstep_object::names::NameRule;
use lockstep_object::{Map, Object, Value};

/// Metadata fields that a webhook may change.
const MUTABLE: [&str; 2] = ["labels", "annotations"];

/// Replaces the metadata of a converted object by that of the original, except for labels and annotations.
pub(super) fn restore_metadata(original: &Object, converted: &mut Object) -> Result<(), String> {
    let returned = match converted.fields_mut().remove("metadata") {
        None => return Err("missing metadata in converted object".to_owned()),
        Some(Value::Object(returned)) => returned,
        Some(other) => {
            let kind = go_type(&other);
            return Err(format!(
                "invalid metadata of type {kind} in converted object"
            ));
        }
    };
    let mut metadata = original.metadata().clone();
    for field in MUTABLE {
        match returned.get(field) {
            None | Some(Value::Null) => drop(metadata.remove(field)),
            Some(Value::Object(texts)) => {
                check_texts(field, texts)?;
                if metadata.get(field).and_then(Value::as_object) != Some(texts) {
                    check_changed(field, texts)?;
                }
                metadata.insert(field.to_owned(), texts.clone().into());
            }
            Some(other) => {
                let kind = go_type(other);
                return Err(format!(
                    "invalid metadata.{field} of type {kind} in converted object"
                ));
            }
        }
    }
    let fields = converted.fields_mut();
    fields.insert("metadata".to_owned(), metadata.into());
    Ok(())
}

fn check_texts(field: &str, texts: &Map<String, Value>) -> Result<(), String> {
    match texts.iter().find(|(_, value)| !value.is_string()) {
        None => Ok(()),
        Some((key, value)) => Err(format!(
            "metadata.{field}[{key}] must be a string, but is {} in converted object",
            go_type(value)
        )),
    }
}

/// Validates labels or annotations that the webhook changed, as for a client.
fn check_changed(field: &str, texts: &Map<String, Value>) -> Result<(), String> {
    let metadata = Map::from_iter([
        ("name".to_owned(), "converted".into()),
        (field.to_owned(), texts.clone().into()),
    ]);
    let path = Path::ROOT.field("metadata");
    let errors = validate_metadata(&metadata, NameRule::Subdomain, Scope::Cluster, &path);
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match &*texts {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

/// The Go type of a JSON value, for error texts.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
