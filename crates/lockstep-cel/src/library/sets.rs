//! Lists seen as sets.

use super::{Row, row};
use crate::cost::Cost::{One, Product};
use crate::eval::Scope;
use crate::value::{Eval, List, Value, equal};

pub(super) const ROWS: &[Row] = &[
    row(
        "list_sets_contains_list",
        "sets.contains(list(A), list(A)) -> bool",
        Product(1),
        contains,
    ),
    row(
        "list_sets_equivalent_list",
        "sets.equivalent(list(A), list(A)) -> bool",
        Product(2),
        equivalent,
    ),
    row(
        "list_sets_intersects_list",
        "sets.intersects(list(A), list(A)) -> bool",
        Product(1),
        intersects,
    ),
];

pub(super) const INCLUDES_ROWS: &[Row] = &[row(
    "includes",
    "<dyn>.includes(dyn) -> bool",
    One,
    includes,
)];

fn has<'a>(list: List<'a>, wanted: &Value<'a>) -> bool {
    list.values()
        .any(|value| matches!(value, Ok(value) if equal(&value, wanted)))
}

fn all_in<'a>(list: List<'a>, subset: List<'a>) -> bool {
    subset
        .values()
        .all(|value| matches!(value, Ok(value) if has(list, &value)))
}

fn contains<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(all_in(args[0].as_list()?, args[1].as_list()?)))
}

fn equivalent<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (left, right) = (args[0].as_list()?, args[1].as_list()?);
    Ok(Value::Bool(all_in(left, right) && all_in(right, left)))
}

fn intersects<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (left, right) = (args[0].as_list()?, args[1].as_list()?);
    Ok(Value::Bool(right.values().any(
        |value| matches!(value, Ok(value) if has(left, &value)),
    )))
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn includes<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::List(list) => Ok(Value::Bool(has(list, &args[1]))),
        single => Ok(Value::Bool(equal(&single, &args[1]))),
    }
}
