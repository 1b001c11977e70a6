//! CEL sets library.

use super::{Row, row};
use crate::cost::Cost::{One, Product};
use crate::scope::Scope;
use crate::value::{Eval, Fault, List, Value};

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

fn has<'a>(scope: &Scope<'a>, list: List<'a>, wanted: &Value<'a>) -> Result<bool, Fault<'a>> {
    Ok(scope.position(list.values(), wanted)?.is_some())
}

/// True if some element of `list` is in `other` (`wanted` is true), or is not in it (`wanted` is false).
fn any<'a>(
    scope: &Scope<'a>,
    list: List<'a>,
    other: List<'a>,
    wanted: bool,
) -> Result<bool, Fault<'a>> {
    for value in list.values() {
        let found = match value {
            Ok(value) => has(scope, other, &value)?,
            Err(_) => false,
        };
        if found == wanted {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (list, subset) = (args[0].as_list()?, args[1].as_list()?);
    Ok(Value::Bool(!any(scope, subset, list, false)?))
}

fn equivalent<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (left, right) = (args[0].as_list()?, args[1].as_list()?);
    let differs = any(scope, right, left, false)? || any(scope, left, right, false)?;
    Ok(Value::Bool(!differs))
}

fn intersects<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (left, right) = (args[0].as_list()?, args[1].as_list()?);
    Ok(Value::Bool(any(scope, right, left, true)?))
}

fn includes<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::List(list) => Ok(Value::Bool(has(scope, list, &args[1])?)),
        single => Ok(Value::Bool(scope.equal(&single, &args[1])?)),
    }
}
