//! Access to the keywords of a JSON schema. Keywords that are absent or of another type read as not set.

use serde_json::{Map, Value};

/// Every keyword of a schema, with the JSON type it has; `check` refuses others.
pub(crate) fn text<'a>(schema: &'a Value, keyword: &str) -> &'a str {
    schema
        .get(keyword)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn flag(schema: &Value, keyword: &str) -> bool {
    schema
        .get(keyword)
        .and_then(Value::as_bool)
        .unwrap_or_default()
}

pub(crate) fn number(schema: &Value, keyword: &str) -> Option<f64> {
    schema.get(keyword).and_then(Value::as_f64)
}

pub(crate) fn integer(schema: &Value, keyword: &str) -> Option<i64> {
    schema.get(keyword).and_then(Value::as_i64)
}

pub(crate) fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    let list = schema.get(keyword).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

pub(crate) fn texts<'a>(schema: &'a Value, keyword: &str) -> impl Iterator<Item = &'a str> {
    list(schema, keyword).iter().filter_map(Value::as_str)
}

pub(crate) fn entries<'a>(
    schema: &'a Value,
    keyword: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let entries: Option<&Map<String, Value>> = schema.get(keyword).and_then(Value::as_object);
    entries.into_iter().flatten()
}

/// A keyword whose value is a schema.
pub(crate) fn schema<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.get(keyword).filter(|value| value.is_object())
}

/// A keyword that is given and not null.
pub(crate) fn given<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Value> {
    schema.get(keyword).filter(|value| !value.is_null())
}
