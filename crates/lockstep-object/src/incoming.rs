//! Request body checks before decoding: syntax, and a kind that matches the request path.

use crate::field::{FieldError, Path};
use crate::go::quote;
use crate::kinds::{GroupKind, GroupVersionKind};
use crate::object::Object;
use crate::status::ApiError;
use serde_json::Value;

/// Bytes of a body that messages show.
const SUMMARY_BYTES_MAX: usize = 30;
/// Bytes of a body without a kind that messages show; upstream shows all of it.
const BODY_BYTES_MAX: usize = 1024;

/// Origin of a kind. Bodies of built-in kinds may omit `apiVersion` and `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindOrigin {
    /// Compiled in.
    BuiltIn,
    /// Defined by a custom resource definition.
    Custom,
}

/// 400 for a body that is neither JSON nor YAML.
pub fn malformed(kind: &str, body: &[u8], problem: &str) -> ApiError {
    unrecognized(
        kind,
        body,
        &format!("couldn't get version/kind; json parse error: {problem}"),
    )
}

/// A body of a built-in kind with a field of the wrong type.
pub fn mistyped(gvk: &GroupVersionKind, problem: &str) -> ApiError {
    let (kind, version) = (&gvk.kind, quote(&gvk.version));
    ApiError::bad_request(format!(
        "{kind} in version {version} cannot be handled as a {kind}: {problem}"
    ))
}

/// 400 for a body that does not decode as the kind.
pub fn unrecognized(kind: &str, body: &[u8], problem: &str) -> ApiError {
    let summary = summary(body);
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {problem} ({summary})"
    ))
}

/// The beginning of a body: text if it begins like JSON, else hexadecimal.
fn summary(body: &[u8]) -> String {
    let (shown, dots) = match body.get(..SUMMARY_BYTES_MAX) {
        Some(start) if body.len() > SUMMARY_BYTES_MAX => (start, " ..."),
        _ => (body, ""),
    };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{dots}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{hex}{dots}")
        }
    }
}

/// Checks that a decoded body is an object of the kind in the request path. Built-in kinds default `apiVersion` and
/// `kind` from the path.
pub fn check_body_kind(
    value: Value,
    body: &[u8],
    expected: &GroupVersionKind,
    origin: KindOrigin,
) -> Result<Object, ApiError> {
    let kind = &*expected.kind;
    let mut object = Object::from_value(value).map_err(|other| {
        let problem = format!("cannot unmarshal {} into an object", type_name(&other));
        malformed(kind, body, &format!("json: {problem}"))
    })?;
    let silent = object.kind().is_empty() && object.api_version().is_empty();
    if silent && origin == KindOrigin::BuiltIn {
        object.set_gvk(expected);
    }
    if object.kind().is_empty() {
        let text = String::from_utf8_lossy(body.get(..BODY_BYTES_MAX).unwrap_or(body));
        return Err(unrecognized(
            kind,
            body,
            &format!("Object 'Kind' is missing in '{text}'"),
        ));
    }
    let expected_version = expected.group_version().to_string();
    if object.api_version() != expected_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({expected_version})",
            object.api_version()
        )));
    }
    if object.kind() == kind {
        return Ok(object);
    }
    match origin {
        KindOrigin::BuiltIn => {
            let found = object.kind();
            let version = quote(&expected.version);
            Err(ApiError::bad_request(format!(
                "{found} in version {version} cannot be handled as a {kind}: no kind {} is registered for version {}",
                quote(found),
                quote(&expected_version)
            )))
        }
        KindOrigin::Custom => {
            let problem = format!("must be {kind}");
            let error = FieldError::invalid(&Path::ROOT.field("kind"), object.kind(), problem);
            let found = GroupKind::new(&*expected.group, object.kind());
            Err(ApiError::invalid(&found, object.name(), [error]))
        }
    }
}

/// Name of a JSON type in error messages.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Handling of unknown and duplicate fields (`fieldValidation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    /// Ignores them silently.
    Ignore,
    /// Returns a warning for each.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    /// The level of this name; the empty name is the default.
    pub fn named(name: &str) -> Result<Self, FieldError> {
        Ok(match name {
            "" | "Warn" => Self::Warn,
            "Ignore" => Self::Ignore,
            "Strict" => Self::Strict,
            other => {
                let path = Path::ROOT.field("fieldValidation");
                let levels = ["", "Ignore", "Strict", "Warn"];
                return Err(FieldError::not_supported(&path, other, levels));
            }
        })
    }

    /// Warnings about duplicate and unknown fields, or the text of the strict decoding error.
    ///
    /// `duplicates` are JSON paths, or complete messages of YAML and JSON patches; `unknown` is in document order.
    pub fn judge(self, duplicates: &[String], unknown: &[String]) -> Result<Vec<String>, String> {
        let duplicates = duplicates.iter().map(|duplicate| {
            let mut messages = ["line ", "json patch "].into_iter();
            if messages.any(|start| duplicate.starts_with(start)) {
                duplicate.clone()
            } else {
                format!("duplicate field {}", quote(duplicate))
            }
        });
        let unknown = unknown
            .iter()
            .map(|path| format!("unknown field {}", quote(path)));
        let told: Vec<String> = duplicates.chain(unknown).collect();
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Warn => Ok(told),
            Self::Strict if told.is_empty() => Ok(told),
            Self::Strict => Err(format!("strict decoding error: {}", told.join(", "))),
        }
    }
}
