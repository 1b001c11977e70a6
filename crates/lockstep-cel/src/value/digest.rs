//! Value digests: equal values have equal digests, which speeds up membership tests in large lists.

use super::{Value, key_order};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Deeper parts of a value do not count.
const DEPTH_MAX: u16 = 32;

/// Values by digest.
pub(crate) struct Digests<'a> {
    by_digest: HashMap<u64, Vec<(usize, Value<'a>)>>,
}

impl<'a> Digests<'a> {
    /// The values, numbered in order.
    pub(crate) fn of(values: impl Iterator<Item = Value<'a>>) -> Self {
        let mut digests = Self {
            by_digest: HashMap::new(),
        };
        for (index, value) in values.enumerate() {
            digests.insert(digest(&value), index, value);
        }
        digests
    }

    pub(crate) fn insert(&mut self, digest: u64, index: usize, value: Value<'a>) {
        self.by_digest
            .entry(digest)
            .or_default()
            .push((index, value));
    }

    /// The number of a value that is the same as this one.
    pub(crate) fn find(
        &self,
        value: &Value<'_>,
        same: impl Fn(&Value<'_>, &Value<'_>) -> bool,
    ) -> Option<usize> {
        self.find_at(digest(value), value, same)
    }

    pub(crate) fn find_at(
        &self,
        digest: u64,
        value: &Value<'_>,
        same: impl Fn(&Value<'_>, &Value<'_>) -> bool,
    ) -> Option<usize> {
        let candidates = self.by_digest.get(&digest)?;
        candidates
            .iter()
            .find(|(_, known)| same(known, value))
            .map(|(index, _)| *index)
    }
}

/// The digest of a value.
pub(crate) fn digest(value: &Value<'_>) -> u64 {
    digest_within(value, DEPTH_MAX)
}

fn hash(tag: u8, content: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    tag.hash(&mut hasher);
    content.hash(&mut hasher);
    hasher.finish()
}

/// Order never counts: lists may be sets, maps have none. Numbers count as doubles.
#[expect(
    clippy::cast_precision_loss,
    reason = "equal numbers round to equal doubles"
)]
fn digest_within(value: &Value<'_>, depth: u16) -> u64 {
    if depth == 0 {
        return 0;
    }
    let inner = |value: &Value<'_>| digest_within(value, depth - 1);
    match value {
        Value::Null => 1,
        Value::Bool(value) => hash(2, value),
        Value::Int(value) => number(*value as f64),
        Value::Uint(value) => number(*value as f64),
        Value::Double(value) => number(*value),
        Value::String(text) => hash(4, text),
        Value::Bytes(bytes) => hash(5, bytes),
        Value::Type(name) => hash(6, name),
        Value::Timestamp(at) => hash(7, (at.unix_seconds(), at.subsecond_nanoseconds())),
        Value::Duration(span) => hash(8, span.nanoseconds()),
        Value::List(list) => list
            .values()
            .flatten()
            .fold(hash(9, list.len()), |sum, value| {
                sum.wrapping_add(inner(&value))
            }),
        Value::Map(map) => map.entries().fold(hash(10, map.len()), |sum, (key, _)| {
            sum.wrapping_add(if key_order(&key, &key).is_some() {
                inner(&key)
            } else {
                0
            })
        }),
        Value::Optional(None) => 11,
        Value::Optional(Some(value)) => hash(12, inner(value)),
        Value::Object(object) => hash(13, object.type_name),
        Value::Opaque(opaque) => hash(14, opaque.type_name()),
    }
}

/// The two zeros are one.
fn number(value: f64) -> u64 {
    hash(3, (value + 0.0).to_bits())
}

#[cfg(test)]
mod tests {
    use super::super::equality::agree;
    use super::super::{Arena, List, of_json};
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_values_have_equal_digests() {
        let arena = Arena::new();
        let texts = json!([1, 1.0, -0.0, 0, "a", [1, 2], [1.0, 2.0], {"a": 1}, {"a": 1.0}, null, 9_223_372_036_854_775_807_i64, 9.223_372_036_854_776e18]);
        let mut values: Vec<Value<'_>> = texts.as_array().unwrap().iter().map(of_json).collect();
        values.extend([
            Value::Uint(1),
            Value::Uint(0),
            Value::List(List::Built(arena.slice(&[Value::Uint(1), Value::Int(2)]))),
        ]);
        for left in &values {
            for right in &values {
                assert!(agree(left, right), "{left:?} {right:?}");
            }
        }
    }
}
