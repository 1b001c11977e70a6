//! Validation of a value against its schema, with upstream's messages.

mod alternatives;
mod findings;
mod number;

pub(crate) use findings::Findings;

use crate::correlate::{self, Old};
use crate::node::{Additional, Node, Type};
use findings::Name;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::json;
use serde_json::{Map, Value};

/// Validates a value recursively. `old` is the stored value that it replaces: errors in unchanged parts become warnings
/// (ratcheting).
///
/// The result counts satisfied constraints: if all branches of an `anyOf` or `oneOf` fail, the errors of the best one
/// are reported.
pub(crate) fn validate(
    node: &Node,
    value: &Value,
    old: Old<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> u32 {
    let before = findings.len();
    let held = validate_new(node, value, old, path, findings);
    if findings.len() > before && old.equals(node, value) {
        findings.forgive(before);
    }
    held
}

fn validate_new(
    node: &Node,
    value: &Value,
    old: Old<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> u32 {
    let mut held = 0;
    if node.ty != Type::Any || node.format.is_some() {
        held += 1 + u32::from(validate_type(node, value, path, findings));
    }
    if value.is_null() {
        validate_enum(node, value, path, findings);
        return held;
    }
    held += alternatives::validate(node, value, old, path, findings);
    match value {
        Value::String(text) => validate_text(node, text, path, findings),
        Value::Number(number) => held += number::validate(node, number, path, findings),
        Value::Array(elements) => held += validate_list(node, elements, old, path, findings),
        _ => {}
    }
    validate_enum(node, value, path, findings);
    if let Value::Object(entries) = value {
        held += validate_object(node, entries, old, path, findings);
    }
    held + 1
}

/// The name of a value's type, as messages have it.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Validates the type.
fn validate_type(node: &Node, value: &Value, path: &Path<'_>, findings: &mut Findings) -> bool {
    let fits = match (node.ty, value) {
        (Type::Any, _)
        | (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String | Type::IntOrString, Value::String(_))
        | (Type::Boolean, Value::Bool(_))
        | (Type::Number, Value::Number(_)) => true,
        (Type::Integer | Type::IntOrString, Value::Number(number)) => number.is_i64(),
        (_, Value::Null) => node.nullable,
        _ => false,
    };
    if !fits {
        let (wanted, found) = mismatch(node, value);
        let name = Name(path, findings.base());
        findings.push(|| {
            FieldError::type_invalid(
                path,
                found,
                format!("{name} in body must be of type {wanted}: \"{found}\""),
            )
        });
    }
    fits
}

/// Expected and actual type, or format if the schema has one and the value could have one.
fn mismatch<'n>(node: &'n Node, value: &Value) -> (&'n str, &'static str) {
    match (node.format, value) {
        (None, _) | (_, Value::Null | Value::String(_) | Value::Array(_)) => {
            (node.ty.name(), type_name(value))
        }
        (Some(format), Value::Number(number)) => {
            let found = if number.is_i64() { "int64" } else { "float64" };
            (format.name(node.format_name()), found)
        }
        (Some(format), Value::Bool(_) | Value::Object(_)) => (format.name(node.format_name()), ""),
    }
}

/// Reports at most one constraint violation of a text, then its format.
fn validate_text(node: &Node, text: &str, path: &Path<'_>, findings: &mut Findings) {
    let limits = &node.limits;
    let length = if limits.max_length.is_some() || limits.min_length.is_some() {
        i64::try_from(text.chars().count()).unwrap_or(i64::MAX)
    } else {
        0
    };
    let name = Name(path, findings.base());
    if let Some(max) = limits.max_length.filter(|max| length > *max) {
        findings.push(|| FieldError::too_long(path, usize::try_from(max).unwrap_or_default()));
    } else if let Some(min) = limits.min_length.filter(|min| length < *min) {
        findings.push(|| {
            FieldError::invalid(
                path,
                text,
                format!("{name} in body should be at least {min} chars long"),
            )
        });
    } else if let Some(pattern) = limits
        .pattern
        .as_ref()
        .and_then(|pattern| pattern.mismatch(text))
    {
        findings.push(|| {
            FieldError::invalid(
                path,
                text,
                format!("{name} in body should match '{pattern}'"),
            )
        });
    }
    if let Some(format) = node.format.filter(|format| !format.accepts(text)) {
        findings.push(|| {
            FieldError::type_invalid(
                path,
                text,
                format!(
                    "{name} in body must be of type {}: {}",
                    format.name(node.format_name()),
                    lockstep_object::go::quote(text)
                ),
            )
        });
    }
}

fn validate_enum(node: &Node, value: &Value, path: &Path<'_>, findings: &mut Findings) {
    let allowed = &node.limits.enumeration;
    if allowed.is_empty() || (!value.is_null() && allowed.contains(value)) {
        return;
    }
    findings.push(|| {
        let texts: Vec<String> = allowed.iter().map(enum_text).collect();
        FieldError::not_supported(path, value, texts.iter().map(String::as_str))
    });
}

fn enum_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => json::encode_to_string(other),
    }
}

fn validate_list(
    node: &Node,
    elements: &[Value],
    old: Old<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> u32 {
    let mut held = 1;
    if let Some(items) = node.items() {
        let correlation = correlate::List::new(node.list_kind(), old);
        for (index, element) in elements.iter().enumerate() {
            let old = correlation.element(element);
            held += validate(items, element, old, &path.index(index), findings);
        }
    }
    let size = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    let name = Name(path, findings.base());
    if let Some(min) = node.limits.min_items.filter(|min| size < *min) {
        findings.push(|| {
            FieldError::invalid(
                path,
                size,
                format!("{name} in body should have at least {min} items"),
            )
        });
    }
    if let Some(max) = node.limits.max_items.filter(|max| size > *max) {
        let max = usize::try_from(max).unwrap_or_default();
        findings.push(|| FieldError::too_many(path, elements.len(), max));
    }
    if node.limits.unique_items && has_duplicates(elements) {
        findings.push(|| {
            FieldError::invalid(
                path,
                "",
                format!("{name} in body shouldn't contain duplicates"),
            )
        });
    }
    held
}

fn has_duplicates(elements: &[Value]) -> bool {
    let mut encoded: Vec<Vec<u8>> = elements.iter().map(json::encode).collect();
    encoded.sort_unstable();
    encoded.windows(2).any(|pair| pair[0] == pair[1])
}

fn validate_object(
    node: &Node,
    entries: &Map<String, Value>,
    old: Old<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> u32 {
    let size = i64::try_from(entries.len()).unwrap_or(i64::MAX);
    let name = Name(path, findings.base());
    if let Some(min) = node.limits.min_properties.filter(|min| size < *min) {
        findings.push(|| {
            FieldError::invalid(
                path,
                size,
                format!("{name} in body should have at least {min} properties"),
            )
        });
    }
    if let Some(max) = node.limits.max_properties.filter(|max| size > *max) {
        let max = usize::try_from(max).unwrap_or_default();
        findings.push(|| FieldError::too_many(path, entries.len(), max));
    }
    let mut held = 0;
    let is_other = |(key, _): &(&String, &Value)| node.properties().get(key).is_none();
    let others = entries.iter().filter(is_other);
    match node.additional() {
        Additional::Unspecified | Additional::Allowed(true) => {}
        Additional::Allowed(false) => {
            for (key, _) in others {
                findings.push(|| {
                    FieldError::invalid(
                        path,
                        key.as_str(),
                        format!("{name}.{key} in body is a forbidden property"),
                    )
                });
            }
        }
        Additional::Schema(schema) => {
            for (key, value) in others {
                held += validate(schema, value, old.field(key), &path.field(key), findings);
            }
        }
    }
    // In the order of names, as the properties are: most objects have few of the fields that they may have.
    for (key, value) in entries {
        if let Some(property) = node.properties().get(key) {
            held += validate(property, value, old.field(key), &path.field(key), findings);
        }
    }
    for key in node
        .limits
        .required
        .iter()
        .filter(|key| !entries.contains_key(&***key))
    {
        findings.push(|| FieldError::required(&path.field(key), ""));
    }
    held
}
