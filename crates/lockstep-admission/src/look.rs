//! Accessors for JSON values: absent fields read as empty.

use lockstep_object::Value;

/// The text in a field.
pub(crate) fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The list in a field.
pub(crate) fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The value in a field, unless it is null.
pub(crate) fn some<'v>(value: &'v Value, field: &str) -> Option<&'v Value> {
    value.get(field).filter(|value| !value.is_null())
}
