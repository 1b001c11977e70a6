//! Accessors for typed values: absent fields read as empty.

use lockstep_object::{Map, Value};

/// The text in a field.
pub(crate) fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The list in a field.
pub(crate) fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The entries of a map in a field, sorted by key.
pub(crate) fn entries<'v>(
    value: &'v Value,
    field: &str,
) -> impl Iterator<Item = (&'v str, &'v Value)> {
    let map = value.get(field).and_then(Value::as_object);
    map.into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
}

/// The number in a field.
pub(crate) fn number(value: &Value, field: &str) -> Option<i64> {
    value.get(field).and_then(Value::as_i64)
}

/// The value in a field, unless it is null.
pub(crate) fn some<'v>(value: &'v Value, field: &str) -> Option<&'v Value> {
    value.get(field).filter(|value| !value.is_null())
}

/// The map in a field, made if there is none.
pub(crate) fn map_in<'v>(
    parent: &'v mut Map<String, Value>,
    field: &str,
) -> &'v mut Map<String, Value> {
    let value = parent.entry(field).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut().expect("it was just made a map")
}

/// Fills a field that is absent or null.
pub(crate) fn fill(parent: &mut Map<String, Value>, field: &str, value: impl Into<Value>) {
    let present = parent.entry(field).or_insert(Value::Null);
    if present.is_null() {
        *present = value.into();
    }
}

/// The items of a list in a field that are maps.
pub(crate) fn maps_in<'v>(
    parent: &'v mut Map<String, Value>,
    field: &str,
) -> impl Iterator<Item = &'v mut Map<String, Value>> {
    let list = parent.get_mut(field).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}
