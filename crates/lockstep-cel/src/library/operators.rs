//! Comparison, membership, indexing, conditional and logical operators.

use super::{Row, row};
use crate::cost::Cost::{One, Second, Smaller};
use crate::scope::Scope;
use crate::value::{Eval, Fault, Value, compare, equal};
use std::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    row(
        "conditional",
        "_?_:_(bool, A, A) -> A",
        One,
        super::not_implemented,
    ),
    row("equals", "_==_(A, A) -> bool", Smaller, same),
    row("not_equals", "_!=_(A, A) -> bool", Smaller, different),
    row("logical_not", "!_(bool) -> bool", One, not),
    row("in_list", "@in(A, list(A)) -> bool", Second, is_in),
    row("in_map", "@in(A, map(A, B)) -> bool", One, is_in),
    row(
        "index_list",
        "_[_](list(A), int) -> A",
        One,
        super::not_implemented,
    ),
    row(
        "index_map",
        "_[_](map(A, B), A) -> B",
        One,
        super::not_implemented,
    ),
    row("less_bool", "_<_(bool, bool) -> bool", One, less),
    row("less_int64", "_<_(int, int) -> bool", One, less),
    row("less_uint64", "_<_(uint, uint) -> bool", One, less),
    row("less_double", "_<_(double, double) -> bool", One, less),
    row("less_string", "_<_(string, string) -> bool", Smaller, less),
    row("less_bytes", "_<_(bytes, bytes) -> bool", Smaller, less),
    row(
        "less_timestamp",
        "_<_(timestamp, timestamp) -> bool",
        One,
        less,
    ),
    row(
        "less_duration",
        "_<_(duration, duration) -> bool",
        One,
        less,
    ),
    row(
        "less_equals_bool",
        "_<=_(bool, bool) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_int64",
        "_<=_(int, int) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_uint64",
        "_<=_(uint, uint) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_double",
        "_<=_(double, double) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_string",
        "_<=_(string, string) -> bool",
        Smaller,
        less_equal,
    ),
    row(
        "less_equals_bytes",
        "_<=_(bytes, bytes) -> bool",
        Smaller,
        less_equal,
    ),
    row(
        "less_equals_timestamp",
        "_<=_(timestamp, timestamp) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_duration",
        "_<=_(duration, duration) -> bool",
        One,
        less_equal,
    ),
    row("greater_bool", "_>_(bool, bool) -> bool", One, greater),
    row("greater_int64", "_>_(int, int) -> bool", One, greater),
    row("greater_uint64", "_>_(uint, uint) -> bool", One, greater),
    row(
        "greater_double",
        "_>_(double, double) -> bool",
        One,
        greater,
    ),
    row(
        "greater_string",
        "_>_(string, string) -> bool",
        Smaller,
        greater,
    ),
    row(
        "greater_bytes",
        "_>_(bytes, bytes) -> bool",
        Smaller,
        greater,
    ),
    row(
        "greater_timestamp",
        "_>_(timestamp, timestamp) -> bool",
        One,
        greater,
    ),
    row(
        "greater_duration",
        "_>_(duration, duration) -> bool",
        One,
        greater,
    ),
    row(
        "greater_equals_bool",
        "_>=_(bool, bool) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_int64",
        "_>=_(int, int) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_uint64",
        "_>=_(uint, uint) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_double",
        "_>=_(double, double) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_string",
        "_>=_(string, string) -> bool",
        Smaller,
        greater_equal,
    ),
    row(
        "greater_equals_bytes",
        "_>=_(bytes, bytes) -> bool",
        Smaller,
        greater_equal,
    ),
    row(
        "greater_equals_timestamp",
        "_>=_(timestamp, timestamp) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_duration",
        "_>=_(duration, duration) -> bool",
        One,
        greater_equal,
    ),
];

/// Order between numbers of different types.
pub(super) const CROSS_TYPE_ROWS: &[Row] = &[
    row("less_int64_double", "_<_(int, double) -> bool", One, less),
    row("less_int64_uint64", "_<_(int, uint) -> bool", One, less),
    row("less_uint64_double", "_<_(uint, double) -> bool", One, less),
    row("less_uint64_int64", "_<_(uint, int) -> bool", One, less),
    row("less_double_int64", "_<_(double, int) -> bool", One, less),
    row("less_double_uint64", "_<_(double, uint) -> bool", One, less),
    row(
        "less_equals_int64_double",
        "_<=_(int, double) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_int64_uint64",
        "_<=_(int, uint) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_uint64_double",
        "_<=_(uint, double) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_uint64_int64",
        "_<=_(uint, int) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_double_int64",
        "_<=_(double, int) -> bool",
        One,
        less_equal,
    ),
    row(
        "less_equals_double_uint64",
        "_<=_(double, uint) -> bool",
        One,
        less_equal,
    ),
    row(
        "greater_int64_double",
        "_>_(int, double) -> bool",
        One,
        greater,
    ),
    row(
        "greater_int64_uint64",
        "_>_(int, uint) -> bool",
        One,
        greater,
    ),
    row(
        "greater_uint64_double",
        "_>_(uint, double) -> bool",
        One,
        greater,
    ),
    row(
        "greater_uint64_int64",
        "_>_(uint, int) -> bool",
        One,
        greater,
    ),
    row(
        "greater_double_int64",
        "_>_(double, int) -> bool",
        One,
        greater,
    ),
    row(
        "greater_double_uint64",
        "_>_(double, uint) -> bool",
        One,
        greater,
    ),
    row(
        "greater_equals_int64_double",
        "_>=_(int, double) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_int64_uint64",
        "_>=_(int, uint) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_uint64_double",
        "_>=_(uint, double) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_uint64_int64",
        "_>=_(uint, int) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_double_int64",
        "_>=_(double, int) -> bool",
        One,
        greater_equal,
    ),
    row(
        "greater_equals_double_uint64",
        "_>=_(double, uint) -> bool",
        One,
        greater_equal,
    ),
];

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn same<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(equal(&args[0], &args[1])))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn different<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(!equal(&args[0], &args[1])))
}

fn not<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Bool(value) => Ok(Value::Bool(!value)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn is_in<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[1] {
        Value::List(list) => {
            let found = scope.position(list.values(), &args[0])?;
            Ok(Value::Bool(found.is_some()))
        }
        Value::Map(map) => Ok(Value::Bool(map.get(&args[0]).is_some())),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn ordered<'a>(args: &[Value<'a>], holds: impl Fn(Ordering) -> bool) -> Eval<'a> {
    match compare(&args[0], &args[1]) {
        Some(order) => Ok(Value::Bool(order.is_some_and(holds))),
        None => Err(Fault::NoSuchOverload),
    }
}

fn less<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    ordered(args, Ordering::is_lt)
}

fn less_equal<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    ordered(args, Ordering::is_le)
}

fn greater<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    ordered(args, Ordering::is_gt)
}

fn greater_equal<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    ordered(args, Ordering::is_ge)
}
