//! Kubernetes quantity library.

use super::{Row, row};
use crate::cost::Cost::{One, Tenth};
use crate::scope::Scope;
use crate::value::{Eval, Fault, Opaque, Value};
use lockstep_gotext::quantity::{Quantity, QuantityError};
use std::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    row(
        "string_to_quantity",
        "quantity(string) -> Quantity",
        Tenth,
        quantity,
    ),
    row(
        "is_quantity_string",
        "isQuantity(string) -> bool",
        Tenth,
        is_quantity,
    ),
    row("sign", "sign(Quantity) -> int", One, sign),
    row(
        "quantity_is_greater_than",
        "<Quantity>.isGreaterThan(Quantity) -> bool",
        One,
        is_greater,
    ),
    row(
        "quantity_is_less_than",
        "<Quantity>.isLessThan(Quantity) -> bool",
        One,
        is_less,
    ),
    row(
        "quantity_compare_to",
        "<Quantity>.compareTo(Quantity) -> int",
        One,
        compare_to,
    ),
    row(
        "quantity_as_float",
        "<Quantity>.asApproximateFloat() -> double",
        One,
        as_float,
    ),
    row(
        "quantity_as_integer",
        "<Quantity>.asInteger() -> int",
        One,
        as_integer,
    ),
    row(
        "quantity_is_integer",
        "<Quantity>.isInteger() -> bool",
        One,
        is_integer,
    ),
    row(
        "quantity_add",
        "<Quantity>.add(Quantity) -> Quantity",
        One,
        add,
    ),
    row(
        "quantity_add_int",
        "<Quantity>.add(int) -> Quantity",
        One,
        add,
    ),
    row(
        "quantity_sub",
        "<Quantity>.sub(Quantity) -> Quantity",
        One,
        sub,
    ),
    row(
        "quantity_sub_int",
        "<Quantity>.sub(int) -> Quantity",
        One,
        sub,
    ),
];

fn of<'a>(value: &Value<'a>) -> Result<&'a Quantity, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::Quantity(quantity)) => Ok(quantity),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn outcome<'a>(scope: &Scope<'a>, result: Result<Quantity, QuantityError>) -> Eval<'a> {
    result
        .map(|quantity| scope.arena.opaque(Opaque::Quantity(quantity)))
        .map_err(|error| scope.fault(error))
}

fn quantity<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    outcome(scope, Quantity::parse(args[0].as_text()?))
}

fn is_quantity<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(Quantity::parse(args[0].as_text()?).is_ok()))
}

fn sign<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(of(&args[0])?.sign()))
}

fn order<'a>(args: &[Value<'a>]) -> Result<Ordering, Fault<'a>> {
    Ok(of(&args[0])?.cmp(of(&args[1])?))
}

fn is_greater<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn is_less<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(order(args)?.is_lt()))
}

fn compare_to<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(order(args)? as i64))
}

fn as_float<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Double(of(&args[0])?.as_approximate_float()))
}

fn as_integer<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    of(&args[0])?
        .as_integer()
        .map(Value::Int)
        .map_err(|error| scope.fault(error))
}

fn is_integer<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of(&args[0])?.is_integer()))
}

fn combine<'a>(
    scope: &Scope<'a>,
    args: &[Value<'a>],
    run: fn(&Quantity, &Quantity) -> Result<Quantity, QuantityError>,
) -> Eval<'a> {
    let left = of(&args[0])?;
    match args[1] {
        Value::Int(value) => outcome(scope, run(left, &Quantity::from_int(value))),
        ref right => outcome(scope, run(left, of(right)?)),
    }
}

fn add<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    combine(scope, args, Quantity::add)
}

fn sub<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    combine(scope, args, Quantity::sub)
}
