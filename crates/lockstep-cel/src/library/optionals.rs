//! Optional types library.

use super::{Row, row};
use crate::cost::Cost::One;
use crate::scope::Scope;
use crate::value::{Eval, Fault, List, Value};

pub(super) const ROWS: &[Row] = &[
    row("optional_of", "optional.of(A) -> optional(A)", One, of),
    row("optional_none", "optional.none() -> optional(A)", One, none),
    row(
        "optional_ofNonZeroValue",
        "optional.ofNonZeroValue(A) -> optional(A)",
        One,
        of_non_zero,
    ),
    row("optional_value", "<optional(A)>.value() -> A", One, value),
    row(
        "optional_hasValue",
        "<optional(A)>.hasValue() -> bool",
        One,
        has_value,
    ),
    row(
        "optional_or_optional",
        "<optional(A)>.or(optional(A)) -> optional(A)",
        One,
        super::not_implemented,
    ),
    row(
        "optional_orValue_value",
        "<optional(A)>.orValue(A) -> A",
        One,
        super::not_implemented,
    ),
    row(
        "list_optindex_optional_int",
        "_[?_](list(A), int) -> optional(A)",
        One,
        super::not_implemented,
    ),
    row(
        "optional_list_optindex_optional_int",
        "_[?_](optional(list(A)), int) -> optional(A)",
        One,
        super::not_implemented,
    ),
    row(
        "map_optindex_optional_value",
        "_[?_](map(A, B), A) -> optional(B)",
        One,
        super::not_implemented,
    ),
    row(
        "optional_map_optindex_optional_value",
        "_[?_](optional(map(A, B)), A) -> optional(B)",
        One,
        super::not_implemented,
    ),
    row(
        "optional_list_index_int",
        "_[_](optional(list(A)), int) -> optional(A)",
        One,
        super::not_implemented,
    ),
    row(
        "optional_map_index_value",
        "_[_](optional(map(A, B)), A) -> optional(B)",
        One,
        super::not_implemented,
    ),
];

pub(super) const LIST_ROWS: &[Row] = &[
    row(
        "optional_unwrap",
        "optional.unwrap(list(optional(A))) -> list(A)",
        One,
        unwrap,
    ),
    row(
        "optional_unwrapOpt",
        "<list(optional(A))>.unwrapOpt() -> list(A)",
        One,
        unwrap,
    ),
    row("list_first", "<list(A)>.first() -> optional(A)", One, first),
    row("list_last", "<list(A)>.last() -> optional(A)", One, last),
];

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn of<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(scope.some(args[0]))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn none<'a>(_: &Scope<'a>, _: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Optional(None))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn of_non_zero<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(if args[0].is_zero() {
        Value::Optional(None)
    } else {
        scope.some(args[0])
    })
}

fn value<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Optional(Some(value)) => Ok(*value),
        Value::Optional(None) => Err(Fault::Fixed("optional.none() dereference")),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn has_value<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Optional(value) => Ok(Value::Bool(value.is_some())),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn unwrap<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let mut values = scope.arena.vec();
    for value in args[0].as_list()?.values() {
        match value? {
            Value::Optional(inner) => values.extend(inner.copied()),
            _ => return Err(Fault::NoSuchOverload),
        }
    }
    Ok(Value::List(List::Built(values.into_bump_slice())))
}

fn element<'a>(scope: &Scope<'a>, list: List<'a>, index: Option<usize>) -> Eval<'a> {
    match index {
        Some(index) if index < list.len() => Ok(scope.some(list.at(index)?)),
        _ => Ok(Value::Optional(None)),
    }
}

fn first<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    element(scope, args[0].as_list()?, Some(0))
}

fn last<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let list = args[0].as_list()?;
    element(scope, list, list.len().checked_sub(1))
}
