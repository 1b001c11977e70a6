//! Config maps, secrets and service accounts: defaulting and validation.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::config_key;
use lockstep_object::{Map, Object, Value};

/// The maximum size of all values together.
const DATA_BYTES_MAX: usize = 1024 * 1024;

/// Encodes `stringData` into `data`, and sets the default type `Opaque`.
pub(super) fn normalize_secret(secret: &mut Object, _old: Option<&Object>) {
    let fields = secret.fields_mut();
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert(Value::Null);
        if !data.is_object() {
            *data = Value::Object(Map::new());
        }
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data[key] = STANDARD.encode(text).into();
        }
    }
    let is_untyped = fields
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .is_empty();
    if is_untyped {
        fields.insert("type".to_owned(), "Opaque".into());
    }
}

/// Keeps only the names of `secrets`, as upstream.
pub(super) fn normalize_account(account: &mut Object, _old: Option<&Object>) {
    let secrets = account.fields_mut().get_mut("secrets");
    for secret in secrets.and_then(Value::as_array_mut).into_iter().flatten() {
        if let Value::Object(secret) = secret {
            secret.retain(|field, _| field == "name");
        }
    }
}

pub(super) fn validate_config_map(object: &Object, old: Option<&Object>) -> FieldErrors {
    let mut errors = check_keys(object, &["data", "binaryData"]);
    let both = object.at(&["data"]).and_then(Value::as_object);
    let binary = object.at(&["binaryData"]).and_then(Value::as_object);
    for key in both.into_iter().flat_map(Map::keys) {
        if binary.is_some_and(|binary| binary.contains_key(key)) {
            let (data, problem) = (
                Path::ROOT.field("data"),
                "duplicate of key present in binaryData",
            );
            errors.push(FieldError::invalid(&data.key(key), key.as_str(), problem));
        }
    }
    errors.extend(check_size(object, ""));
    errors.append(check_immutable(object, old, &["data", "binaryData"]));
    errors
}

pub(super) fn validate_secret(object: &Object, old: Option<&Object>) -> FieldErrors {
    let mut errors = check_keys(object, &["data"]);
    errors.extend(check_size(object, "data"));
    errors.append(super::secrets::check_type(object));
    let of = |object: &Object| object.at(&["type"]).cloned().unwrap_or_default();
    if old.is_some_and(|old| of(old) != of(object)) {
        let path = Path::ROOT.field("type");
        errors.push(FieldError::invalid(
            &path,
            &of(object),
            "field is immutable",
        ));
    }
    errors.append(check_immutable(object, old, &["data"]));
    errors
}

fn check_keys(object: &Object, fields: &[&str]) -> FieldErrors {
    let mut errors = FieldErrors::new();
    for field in fields {
        let path = Path::ROOT.field(field);
        let entries = object.at(&[field]).and_then(Value::as_object);
        for key in entries.into_iter().flat_map(Map::keys) {
            let problems = config_key(key);
            let error = |problem| FieldError::invalid(&path.key(key), key.as_str(), problem);
            errors.extend(problems.into_iter().map(error));
        }
    }
    errors
}

/// Checks the total size of the decoded values. Keys do not count, as upstream.
fn check_size(object: &Object, named: &str) -> Option<FieldError> {
    let values = |field: &str| {
        let entries = object.at(&[field]).and_then(Value::as_object);
        let values = entries.into_iter().flat_map(Map::values);
        values.filter_map(Value::as_str)
    };
    let is_secret = !named.is_empty();
    let total: usize = values("data")
        .map(|text| {
            if is_secret {
                decoded_bytes(text)
            } else {
                text.len()
            }
        })
        .chain(values("binaryData").map(decoded_bytes))
        .sum();
    let path = match named {
        // Upstream reports the error of a config map at a path without a name.
        "" => Path::ROOT.key(""),
        named => Path::ROOT.field(named),
    };
    (total > DATA_BYTES_MAX).then(|| FieldError::too_long(&path, DATA_BYTES_MAX))
}

/// The decoded length of a base64 string.
fn decoded_bytes(text: &str) -> usize {
    let letters = text.bytes().filter(|byte| !b"=\r\n".contains(byte));
    letters.count() * 3 / 4
}

/// Rejects changes of the data, and of `immutable` itself, once `immutable` is true.
fn check_immutable(object: &Object, old: Option<&Object>, fields: &[&str]) -> FieldErrors {
    let Some(old) = old.filter(|old| old.at(&["immutable"]) == Some(&Value::Bool(true))) else {
        return FieldErrors::new();
    };
    let mut changed: Vec<&str> = Vec::new();
    if object.at(&["immutable"]) != Some(&Value::Bool(true)) {
        changed.push("immutable");
    }
    let moved = fields
        .iter()
        .filter(|field| object.at(&[field]) != old.at(&[field]));
    changed.extend(moved.copied());
    let error = |field: &str| {
        let problem = "field is immutable when `immutable` is set";
        FieldError::forbidden(&Path::ROOT.field(field), problem)
    };
    changed.into_iter().map(error).collect()
}
