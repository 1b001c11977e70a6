//! When two values are the same: numbers by value, everything else only within its kind.

use super::{List, Map, Object, Value, compare_numbers};
use crate::schema::{ListKind, Shape};
use std::cmp::Ordering;

/// The `==` of the language, which never fails.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) | (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::List(a), Value::List(b)) => lists(*a, *b),
        (Value::Map(a), Value::Map(b)) => maps(*a, *b),
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b),
            (None, None) => true,
            _ => false,
        },
        (Value::Object(a), Value::Object(b)) => objects(a, b),
        (Value::Opaque(a), Value::Opaque(b)) => a.equal(b),
        _ => matches!(compare_numbers(left, right), Some(Some(Ordering::Equal))),
    }
}

fn lists(left: List<'_>, right: List<'_>) -> bool {
    if left.len() != right.len() {
        return false;
    }
    if let Some(schema) = left.schema()
        && let Shape::List(_, ListKind::Set | ListKind::Map(_)) = &schema.shape
    {
        return in_any_order(left, right);
    }
    left.values()
        .zip(right.values())
        .all(|pair| matches!(pair, (Ok(a), Ok(b)) if equal(&a, &b)))
}

/// Lists that are sets or keyed: each element of one has its equal in the other.
fn in_any_order(left: List<'_>, right: List<'_>) -> bool {
    left.values().all(|element| match element {
        Ok(element) => right
            .values()
            .any(|other| matches!(&other, Ok(other) if equal(&element, other))),
        Err(_) => false,
    })
}

fn maps(left: Map<'_>, right: Map<'_>) -> bool {
    if let (Map::Json(a) | Map::Typed(a, _), Map::Json(b) | Map::Typed(b, _)) = (left, right) {
        if std::ptr::eq(a, b) {
            return true;
        }
        if a.len() != b.len() {
            return false;
        }
    }
    left.len() == right.len()
        && left.entries().all(|(key, value)| {
            let other = raw_entry(right, &key);
            matches!((value, other), (Ok(a), Some(Ok(b))) if equal(&a, &b))
        })
}

/// The entry of a key, also when the schema hides it: equality includes undeclared data.
fn raw_entry<'a>(map: Map<'a>, key: &Value<'_>) -> Option<super::Eval<'a>> {
    match (map, key) {
        (Map::Typed(entries, schema), Value::String(name))
            if matches!(schema.shape, Shape::Object(_)) =>
        {
            entries.get(*name).map(|value| Ok(super::of_json(value)))
        }
        _ => map.get(key),
    }
}

fn objects(left: &Object<'_>, right: &Object<'_>) -> bool {
    left.type_name == right.type_name
        && left.fields.len() == right.fields.len()
        && left
            .fields
            .iter()
            .zip(right.fields)
            .all(|(a, b)| a.0 == b.0 && equal(&a.1, &b.1))
}
