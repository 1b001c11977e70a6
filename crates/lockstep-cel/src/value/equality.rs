//! Equality of values: numbers compare across types, other values only within their type.

use super::Digests;
#[cfg(test)]
use super::digest;
use super::{Eval, Fault, List, Map, Object, Value, compare_numbers};
use crate::schema::{ListKind, Shape};
use std::cmp::Ordering;

/// Maximum recursion depth of comparisons; deeper values use a worklist.
const RECURSION_MAX: u16 = 100;

/// The `==` of the language, which never fails.
pub(crate) fn equal(left: &Value<'_>, right: &Value<'_>) -> bool {
    equal_counted(left, right, &mut 0)
}

/// Variant of [`equal`] that counts the compared values.
pub(crate) fn equal_counted(left: &Value<'_>, right: &Value<'_>, compared: &mut usize) -> bool {
    equal_within(left, right, RECURSION_MAX, compared)
}

fn equal_within(left: &Value<'_>, right: &Value<'_>, depth: u16, compared: &mut usize) -> bool {
    *compared += 1;
    if depth == 0 {
        return equal_by_worklist(left, right);
    }
    match (left, right) {
        (Value::List(a), Value::List(b)) => lists(*a, *b, depth - 1, compared),
        (Value::Map(a), Value::Map(b)) => maps(*a, *b, depth - 1, compared),
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => {
            equal_within(a, b, depth - 1, compared)
        }
        (Value::Object(a), Value::Object(b)) => objects(a, b, depth - 1, compared),
        _ => leaves(left, right),
    }
}

/// Equality of values that hold no others.
fn leaves(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Null, Value::Null) | (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) | (Value::Type(a), Value::Type(b)) => a == b,
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Opaque(a), Value::Opaque(b)) => a.equal(b),
        _ => matches!(compare_numbers(left, right), Some(Some(Ordering::Equal))),
    }
}

/// Elements that could not be read are the same when they are the same text.
fn outcomes(left: &Eval<'_>, right: &Eval<'_>, depth: u16, compared: &mut usize) -> bool {
    match (left, right) {
        (Ok(left), Ok(right)) => equal_within(left, right, depth, compared),
        (Err(Fault::Encoded(left)), Err(Fault::Encoded(right))) => left == right,
        _ => false,
    }
}

fn lists(left: List<'_>, right: List<'_>, depth: u16, compared: &mut usize) -> bool {
    if left.len() != right.len() {
        return false;
    }
    if left.ignores_order() {
        *compared += left.len();
        return in_any_order(left, right);
    }
    left.values()
        .zip(right.values())
        .all(|(a, b)| outcomes(&a, &b, depth, compared))
}

impl List<'_> {
    /// True for sets and associative lists.
    fn ignores_order(&self) -> bool {
        let shape = self.schema().map(|schema| &schema.shape);
        matches!(
            shape,
            Some(Shape::List(_, ListKind::Set | ListKind::Map(_)))
        )
    }
}

/// Lists that are sets or keyed: each element of one has its equal in the other.
fn in_any_order(left: List<'_>, right: List<'_>) -> bool {
    let known = Digests::of(right.values().flatten());
    left.values()
        .flatten()
        .all(|element| known.find(&element, equal).is_some())
        && left.values().all(|element| element.is_ok())
}

fn maps(left: Map<'_>, right: Map<'_>, depth: u16, compared: &mut usize) -> bool {
    if let (Map::Json(a) | Map::Typed(a, _), Map::Json(b) | Map::Typed(b, _)) = (left, right)
        && std::ptr::eq(a, b)
    {
        return true;
    }
    left.len() == right.len()
        && left.entries().all(|(key, value)| {
            raw_entry(right, &key).is_some_and(|other| outcomes(&value, &other, depth, compared))
        })
}

/// The entry of a key, also when the schema hides it: equality includes undeclared data.
fn raw_entry<'a>(map: Map<'a>, key: &Value<'_>) -> Option<Eval<'a>> {
    match (map, key) {
        (Map::Typed(entries, schema), Value::String(name))
            if matches!(schema.shape, Shape::Object(_)) =>
        {
            entries.get(*name).map(|value| Ok(super::of_json(value)))
        }
        _ => map.get(key),
    }
}

fn objects(left: &Object<'_>, right: &Object<'_>, depth: u16, compared: &mut usize) -> bool {
    let same = |(a, b): (&(&str, Value<'_>), &(&str, Value<'_>))| {
        a.0 == b.0 && equal_within(&a.1, &b.1, depth, compared)
    };
    left.type_name == right.type_name
        && left.fields.len() == right.fields.len()
        && left.fields.iter().zip(right.fields).all(same)
}

/// Variant with a worklist instead of recursion, for deep values; element order always matters here.
fn equal_by_worklist(left: &Value<'_>, right: &Value<'_>) -> bool {
    let mut work = vec![(*left, *right)];
    while let Some((left, right)) = work.pop() {
        let same = match (left, right) {
            (Value::List(a), Value::List(b)) => {
                let before = work.len();
                let pairs = a.values().flatten().zip(b.values().flatten());
                work.extend(pairs);
                a.len() == b.len() && work.len() - before == a.len()
            }
            (Value::Map(a), Value::Map(b)) => {
                let before = work.len();
                for (key, value) in a.entries() {
                    if let (Ok(value), Some(Ok(other))) = (value, raw_entry(b, &key)) {
                        work.push((value, other));
                    }
                }
                a.len() == b.len() && work.len() - before == a.len()
            }
            (Value::Optional(Some(a)), Value::Optional(Some(b))) => {
                work.push((*a, *b));
                true
            }
            (Value::Object(a), Value::Object(b)) => {
                let pairs = a.fields.iter().zip(b.fields);
                work.extend(pairs.map(|(a, b)| (a.1, b.1)));
                let names = a.fields.iter().map(|field| field.0);
                a.type_name == b.type_name && names.eq(b.fields.iter().map(|field| field.0))
            }
            (a, b) => leaves(&a, &b),
        };
        if !same {
            return false;
        }
    }
    true
}

/// True if two values have equal digests, as equal values must.
#[cfg(test)]
pub(super) fn agree(left: &Value<'_>, right: &Value<'_>) -> bool {
    !equal(left, right) || digest(left) == digest(right)
}

#[cfg(test)]
mod tests {
    use super::super::of_json;
    use super::*;
    use serde_json::json;

    #[test]
    fn compared_values_are_counted_at_every_depth() {
        let left = json!([{"a": [1, 2, 3]}, {"b": "x"}]);
        let right = left.clone();
        let mut compared = 0;
        assert!(equal_counted(
            &of_json(&left),
            &of_json(&right),
            &mut compared
        ));
        // The list, two maps, a list with three numbers, a text.
        assert_eq!(compared, 8);
    }
}
