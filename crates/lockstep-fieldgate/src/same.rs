//! Whether two values are the same to a user.

use lockstep_object::{Number, Value};

/// Whether two values are the same: numbers by value, maps whatever the order of their keys.
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

/// `1` and `1.0` are one number. Whole numbers that are written as such are the same only if they are equal.
fn is_same_number(one: &Number, other: &Number) -> bool {
    (one.is_f64() || other.is_f64()) && one.as_f64() == other.as_f64()
}
