//! Semantic equality of JSON values.

use lockstep_object::{Number, Value};

/// True if two values are equal: numbers numerically, maps regardless of key order.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || is_same_number(one, other),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let has = |(key, value): (&String, &Value)| {
                other.get(key).is_some_and(|other| same(value, other))
            };
            one.len() == other.len() && one.iter().all(has)
        }
        _ => one == other,
    }
}

/// `1` equals `1.0`. Two integers are compared exactly, because `f64` would conflate large ones.
fn is_same_number(one: &Number, other: &Number) -> bool {
    (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
}
