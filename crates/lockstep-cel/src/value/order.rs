//! Ordering of values: numbers across types, and the key order of maps.

use super::Value;
use std::cmp::Ordering;

/// Compares two numbers of any type by value: nothing for other types, no order with NaN.
#[expect(
    clippy::option_option,
    reason = "no order and not comparable are different answers"
)]
pub(crate) fn compare_numbers(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    use Value::{Double, Int, Uint};
    Some(match (left, right) {
        (Int(a), Int(b)) => Some(a.cmp(b)),
        (Uint(a), Uint(b)) => Some(a.cmp(b)),
        (Double(a), Double(b)) => a.partial_cmp(b),
        (Int(a), Uint(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Uint(a), Int(b)) => Some(i128::from(*a).cmp(&i128::from(*b))),
        (Int(a), Double(b)) => int_to_double(*a, *b),
        (Double(a), Int(b)) => int_to_double(*b, *a).map(Ordering::reverse),
        (Uint(a), Double(b)) => uint_to_double(*a, *b),
        (Double(a), Uint(b)) => uint_to_double(*b, *a).map(Ordering::reverse),
        _ => return None,
    })
}

/// Doubles beyond the integer range are decided first; within it, the integer is rounded to a double as the conformance
/// suite requires.
#[expect(
    clippy::cast_precision_loss,
    reason = "the language compares as doubles"
)]
fn int_to_double(integer: i64, double: f64) -> Option<Ordering> {
    match double {
        double if double < i64::MIN as f64 => Some(Ordering::Greater),
        double if double > i64::MAX as f64 => Some(Ordering::Less),
        double => (integer as f64).partial_cmp(&double),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the language compares as doubles"
)]
fn uint_to_double(integer: u64, double: f64) -> Option<Ordering> {
    match double {
        double if double < 0.0 => Some(Ordering::Greater),
        double if double > u64::MAX as f64 => Some(Ordering::Less),
        double => (integer as f64).partial_cmp(&double),
    }
}

/// The order of `<`; nothing when the two have none, `Some(None)` with a NaN.
#[expect(
    clippy::option_option,
    reason = "no order and not comparable are different answers"
)]
pub(crate) fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::String(a), Value::String(b)) => Some(Some(a.cmp(b))),
        (Value::Bytes(a), Value::Bytes(b)) => Some(Some(a.cmp(b))),
        (Value::Bool(a), Value::Bool(b)) => Some(Some(a.cmp(b))),
        (Value::Timestamp(a), Value::Timestamp(b)) => Some(Some(a.cmp(b))),
        (Value::Duration(a), Value::Duration(b)) => Some(Some(a.cmp(b))),
        _ => compare_numbers(left, right),
    }
}

/// Key order of maps: booleans, numbers, strings; other keys are unordered.
pub(crate) fn key_order(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    let (a, b) = (rank(left)?, rank(right)?);
    if a != b {
        return Some(a.cmp(&b));
    }
    compare(left, right)?
}

fn rank(key: &Value<'_>) -> Option<u8> {
    match key {
        Value::Bool(_) => Some(0),
        Value::Int(_) | Value::Uint(_) => Some(1),
        Value::Double(value) if !value.is_nan() => Some(1),
        Value::String(_) => Some(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value_across_types() {
        let order = |a: &Value<'_>, b: &Value<'_>| compare_numbers(a, b).unwrap();
        assert_eq!(
            order(&Value::Int(-1), &Value::Uint(0)),
            Some(Ordering::Less)
        );
        assert_eq!(
            order(
                &Value::Int(i64::MAX),
                &Value::Double(9_223_372_036_854_775_808.0)
            ),
            Some(Ordering::Equal)
        );
        assert_eq!(
            order(&Value::Double(1.5), &Value::Int(1)),
            Some(Ordering::Greater)
        );
        assert_eq!(
            order(&Value::Int(-1), &Value::Double(-1.5)),
            Some(Ordering::Greater)
        );
        assert_eq!(order(&Value::Uint(1), &Value::Double(f64::NAN)), None);
        assert_eq!(
            order(&Value::Uint(u64::MAX), &Value::Double(f64::INFINITY)),
            Some(Ordering::Less)
        );
    }
}
