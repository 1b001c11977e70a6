//! The Kubernetes list library.

use super::{Row, arithmetic, row};
use crate::cost::Cost::Elements;
use crate::eval::Scope;
use crate::value::{Eval, Fault, Value, compare, equal};
use std::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    row(
        "list_a_is_sorted_int",
        "<list(int)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_uint",
        "<list(uint)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_double",
        "<list(double)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_bool",
        "<list(bool)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_duration",
        "<list(duration)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_timestamp",
        "<list(timestamp)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_string",
        "<list(string)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_a_is_sorted_bytes",
        "<list(bytes)>.isSorted() -> bool",
        Elements,
        is_sorted,
    ),
    row(
        "list_int_sum_int",
        "<list(int)>.sum() -> int",
        Elements,
        sum,
    ),
    row(
        "list_uint_sum_uint",
        "<list(uint)>.sum() -> uint",
        Elements,
        sum,
    ),
    row(
        "list_double_sum_double",
        "<list(double)>.sum() -> double",
        Elements,
        sum,
    ),
    row(
        "list_duration_sum_duration",
        "<list(duration)>.sum() -> duration",
        Elements,
        sum,
    ),
    row(
        "list_int_max_int",
        "<list(int)>.max() -> int",
        Elements,
        max,
    ),
    row(
        "list_uint_max_uint",
        "<list(uint)>.max() -> uint",
        Elements,
        max,
    ),
    row(
        "list_double_max_double",
        "<list(double)>.max() -> double",
        Elements,
        max,
    ),
    row(
        "list_bool_max_bool",
        "<list(bool)>.max() -> bool",
        Elements,
        max,
    ),
    row(
        "list_duration_max_duration",
        "<list(duration)>.max() -> duration",
        Elements,
        max,
    ),
    row(
        "list_timestamp_max_timestamp",
        "<list(timestamp)>.max() -> timestamp",
        Elements,
        max,
    ),
    row(
        "list_string_max_string",
        "<list(string)>.max() -> string",
        Elements,
        max,
    ),
    row(
        "list_bytes_max_bytes",
        "<list(bytes)>.max() -> bytes",
        Elements,
        max,
    ),
    row(
        "list_int_min_int",
        "<list(int)>.min() -> int",
        Elements,
        min,
    ),
    row(
        "list_uint_min_uint",
        "<list(uint)>.min() -> uint",
        Elements,
        min,
    ),
    row(
        "list_double_min_double",
        "<list(double)>.min() -> double",
        Elements,
        min,
    ),
    row(
        "list_bool_min_bool",
        "<list(bool)>.min() -> bool",
        Elements,
        min,
    ),
    row(
        "list_duration_min_duration",
        "<list(duration)>.min() -> duration",
        Elements,
        min,
    ),
    row(
        "list_timestamp_min_timestamp",
        "<list(timestamp)>.min() -> timestamp",
        Elements,
        min,
    ),
    row(
        "list_string_min_string",
        "<list(string)>.min() -> string",
        Elements,
        min,
    ),
    row(
        "list_bytes_min_bytes",
        "<list(bytes)>.min() -> bytes",
        Elements,
        min,
    ),
    row(
        "list_a_index_of_int",
        "<list(A)>.indexOf(A) -> int",
        Elements,
        index_of,
    ),
    row(
        "list_a_last_index_of_int",
        "<list(A)>.lastIndexOf(A) -> int",
        Elements,
        last_index_of,
    ),
];

fn is_sorted<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let mut previous: Option<Value<'a>> = None;
    for value in args[0].as_list()?.values() {
        let value = value?;
        if let Some(previous) = previous
            && compare(&previous, &value).ok_or(Fault::NoSuchOverload)? == Some(Ordering::Greater)
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(value);
    }
    Ok(Value::Bool(true))
}

/// The sum; an empty list has the zero of the first overload, an int.
fn sum<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let mut total: Option<Value<'a>> = None;
    for value in args[0].as_list()?.values() {
        let value = value?;
        if !matches!(
            value,
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)
        ) {
            return Err(Fault::NoSuchOverload);
        }
        total = Some(match total {
            None => value,
            Some(total) => arithmetic::add(scope, &[total, value])?,
        });
    }
    Ok(total.unwrap_or(Value::Int(0)))
}

fn extreme<'a>(args: &[Value<'a>], wanted: Ordering, empty: &'static str) -> Eval<'a> {
    let mut best: Option<Value<'a>> = None;
    for value in args[0].as_list()?.values() {
        let value = value?;
        best = Some(match best {
            None => {
                compare(&value, &value).ok_or(Fault::NoSuchOverload)?;
                value
            }
            Some(best) if compare(&value, &best).ok_or(Fault::NoSuchOverload)? == Some(wanted) => {
                value
            }
            Some(best) => best,
        });
    }
    best.ok_or(Fault::Fixed(empty))
}

fn max<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    extreme(args, Ordering::Greater, "max called on empty list")
}

fn min<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    extreme(args, Ordering::Less, "min called on empty list")
}

fn position<'a>(index: Option<usize>) -> Value<'a> {
    Value::Int(index.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX)))
}

fn index_of<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    let found = list
        .values()
        .position(|value| matches!(value, Ok(value) if equal(&value, &args[1])));
    Ok(position(found))
}

fn last_index_of<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    let found = (0..list.len())
        .rev()
        .find(|&at| matches!(list.at(at), Ok(value) if equal(&value, &args[1])));
    Ok(position(found))
}
