//! Kubernetes list library.

use super::{Row, arithmetic, row};
use crate::cost::Cost::Elements;
use crate::scope::Scope;
use crate::value::{Eval, Fault, Value, compare};
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

/// Error for lists of mixed types. A list whose first element has no overload gets an error with the function name
/// instead.
const MIXED: Fault<'static> = Fault::Fixed("no such overload");

/// The elements of a list whose first one is of a type some overload takes.
fn elements<'a>(
    list: &Value<'a>,
    takes: impl Fn(&Value<'a>) -> bool,
) -> Result<impl Iterator<Item = Eval<'a>>, Fault<'a>> {
    let mut first = true;
    let elements = list.as_list()?.values().map(move |element| {
        let element = element?;
        let fault = if std::mem::take(&mut first) {
            Fault::NoSuchOverload
        } else {
            MIXED
        };
        if takes(&element) {
            Ok(element)
        } else {
            Err(fault)
        }
    });
    Ok(elements)
}

fn has_order(value: &Value<'_>) -> bool {
    compare(value, value).is_some()
}

/// Two neighbours of different types count as sorted.
fn is_sorted<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let mut previous: Option<Value<'a>> = None;
    for value in elements(&args[0], has_order)? {
        let value = value?;
        if let Some(previous) = previous
            && compare(&previous, &value) == Some(Some(Ordering::Greater))
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
    let summable = |value: &Value<'a>| {
        matches!(
            value,
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_)
        )
    };
    for value in elements(&args[0], summable)? {
        let value = value?;
        total = Some(match total {
            None => value,
            Some(total) => match arithmetic::add(scope, &[total, value]) {
                Err(Fault::NoSuchOverload) => return Err(MIXED),
                sum => sum?,
            },
        });
    }
    Ok(total.unwrap_or(Value::Int(0)))
}

/// The first of the greatest or least; values that have no order with the best so far are passed over.
fn extreme<'a>(args: &[Value<'a>], wanted: Ordering, empty: &'static str) -> Eval<'a> {
    let mut best: Option<Value<'a>> = None;
    for value in elements(&args[0], has_order)? {
        let value = value?;
        best = match best {
            Some(best) if compare(&value, &best) != Some(Some(wanted)) => Some(best),
            _ => Some(value),
        };
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

fn index_of<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    Ok(position(scope.position(list.values(), &args[1])?))
}

fn last_index_of<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    let backwards = (0..list.len()).rev().map(|at| list.at(at));
    let found = scope.position(backwards, &args[1])?;
    Ok(position(found.map(|from_end| list.len() - 1 - from_end)))
}
