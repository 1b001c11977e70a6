//! CEL math library; not part of the Kubernetes dialect.

use super::{Row, arithmetic, row};
use crate::cost::Cost::One;
use crate::scope::Scope;
use crate::value::{Eval, Fault, Value, compare_numbers};
use std::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    row("math_@max_int", "math.@max(int) -> int", One, greatest),
    row("math_@max_uint", "math.@max(uint) -> uint", One, greatest),
    row(
        "math_@max_double",
        "math.@max(double) -> double",
        One,
        greatest,
    ),
    row(
        "math_@max_list_int",
        "math.@max(list(int)) -> int",
        One,
        greatest,
    ),
    row(
        "math_@max_list_uint",
        "math.@max(list(uint)) -> uint",
        One,
        greatest,
    ),
    row(
        "math_@max_list_double",
        "math.@max(list(double)) -> double",
        One,
        greatest,
    ),
    row(
        "math_@max_int_int",
        "math.@max(int, int) -> int",
        One,
        greatest,
    ),
    row(
        "math_@max_int_uint",
        "math.@max(int, uint) -> dyn",
        One,
        greatest,
    ),
    row(
        "math_@max_int_double",
        "math.@max(int, double) -> dyn",
        One,
        greatest,
    ),
    row(
        "math_@max_uint_int",
        "math.@max(uint, int) -> dyn",
        One,
        greatest,
    ),
    row(
        "math_@max_uint_uint",
        "math.@max(uint, uint) -> uint",
        One,
        greatest,
    ),
    row(
        "math_@max_uint_double",
        "math.@max(uint, double) -> dyn",
        One,
        greatest,
    ),
    row(
        "math_@max_double_int",
        "math.@max(double, int) -> dyn",
        One,
        greatest,
    ),
    row(
        "math_@max_double_uint",
        "math.@max(double, uint) -> dyn",
        One,
        greatest,
    ),
    row(
        "math_@max_double_double",
        "math.@max(double, double) -> double",
        One,
        greatest,
    ),
    row("math_@min_int", "math.@min(int) -> int", One, least),
    row("math_@min_uint", "math.@min(uint) -> uint", One, least),
    row(
        "math_@min_double",
        "math.@min(double) -> double",
        One,
        least,
    ),
    row(
        "math_@min_list_int",
        "math.@min(list(int)) -> int",
        One,
        least,
    ),
    row(
        "math_@min_list_uint",
        "math.@min(list(uint)) -> uint",
        One,
        least,
    ),
    row(
        "math_@min_list_double",
        "math.@min(list(double)) -> double",
        One,
        least,
    ),
    row(
        "math_@min_int_int",
        "math.@min(int, int) -> int",
        One,
        least,
    ),
    row(
        "math_@min_int_uint",
        "math.@min(int, uint) -> dyn",
        One,
        least,
    ),
    row(
        "math_@min_int_double",
        "math.@min(int, double) -> dyn",
        One,
        least,
    ),
    row(
        "math_@min_uint_int",
        "math.@min(uint, int) -> dyn",
        One,
        least,
    ),
    row(
        "math_@min_uint_uint",
        "math.@min(uint, uint) -> uint",
        One,
        least,
    ),
    row(
        "math_@min_uint_double",
        "math.@min(uint, double) -> dyn",
        One,
        least,
    ),
    row(
        "math_@min_double_int",
        "math.@min(double, int) -> dyn",
        One,
        least,
    ),
    row(
        "math_@min_double_uint",
        "math.@min(double, uint) -> dyn",
        One,
        least,
    ),
    row(
        "math_@min_double_double",
        "math.@min(double, double) -> double",
        One,
        least,
    ),
    row("math_ceil_double", "math.ceil(double) -> double", One, ceil),
    row(
        "math_floor_double",
        "math.floor(double) -> double",
        One,
        floor,
    ),
    row(
        "math_round_double",
        "math.round(double) -> double",
        One,
        round,
    ),
    row(
        "math_trunc_double",
        "math.trunc(double) -> double",
        One,
        trunc,
    ),
    row("math_sqrt_double", "math.sqrt(double) -> double", One, sqrt),
    row("math_sqrt_int", "math.sqrt(int) -> double", One, sqrt),
    row("math_sqrt_uint", "math.sqrt(uint) -> double", One, sqrt),
    row(
        "math_isNaN_double",
        "math.isNaN(double) -> bool",
        One,
        is_nan,
    ),
    row(
        "math_isInf_double",
        "math.isInf(double) -> bool",
        One,
        is_inf,
    ),
    row(
        "math_isFinite_double",
        "math.isFinite(double) -> bool",
        One,
        is_finite,
    ),
    row("math_abs_int", "math.abs(int) -> int", One, abs),
    row("math_abs_uint", "math.abs(uint) -> uint", One, abs),
    row("math_abs_double", "math.abs(double) -> double", One, abs),
    row("math_sign_int", "math.sign(int) -> int", One, sign),
    row("math_sign_uint", "math.sign(uint) -> uint", One, sign),
    row("math_sign_double", "math.sign(double) -> double", One, sign),
    row(
        "math_bitAnd_int",
        "math.bitAnd(int, int) -> int",
        One,
        bit_and,
    ),
    row(
        "math_bitAnd_uint",
        "math.bitAnd(uint, uint) -> uint",
        One,
        bit_and,
    ),
    row("math_bitOr_int", "math.bitOr(int, int) -> int", One, bit_or),
    row(
        "math_bitOr_uint",
        "math.bitOr(uint, uint) -> uint",
        One,
        bit_or,
    ),
    row(
        "math_bitXor_int",
        "math.bitXor(int, int) -> int",
        One,
        bit_xor,
    ),
    row(
        "math_bitXor_uint",
        "math.bitXor(uint, uint) -> uint",
        One,
        bit_xor,
    ),
    row("math_bitNot_int", "math.bitNot(int) -> int", One, bit_not),
    row(
        "math_bitNot_uint",
        "math.bitNot(uint) -> uint",
        One,
        bit_not,
    ),
    row(
        "math_bitShiftLeft_int",
        "math.bitShiftLeft(int, int) -> int",
        One,
        shift_left,
    ),
    row(
        "math_bitShiftLeft_uint",
        "math.bitShiftLeft(uint, int) -> uint",
        One,
        shift_left,
    ),
    row(
        "math_bitShiftRight_int",
        "math.bitShiftRight(int, int) -> int",
        One,
        shift_right,
    ),
    row(
        "math_bitShiftRight_uint",
        "math.bitShiftRight(uint, int) -> uint",
        One,
        shift_right,
    ),
];

/// The first of the numbers that no other beats.
fn extreme<'a>(args: &[Value<'a>], wanted: Ordering) -> Eval<'a> {
    let mut best: Option<Value<'a>> = None;
    let mut offer = |value: Value<'a>| -> Result<(), Fault<'a>> {
        let against = best.unwrap_or(value);
        let order = compare_numbers(&value, &against).ok_or(Fault::NoSuchOverload)?;
        if best.is_none() || order == Some(wanted) {
            best = Some(value);
        }
        Ok(())
    };
    match args {
        [Value::List(list)] => list.values().try_for_each(|value| offer(value?))?,
        _ => args.iter().try_for_each(|value| offer(*value))?,
    }
    best.ok_or(Fault::Fixed("argument must not be empty"))
}

fn greatest<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    extreme(args, Ordering::Greater)
}

fn least<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    extreme(args, Ordering::Less)
}

fn of_double<'a>(value: &Value<'a>) -> Result<f64, Fault<'a>> {
    match value {
        Value::Double(value) => Ok(*value),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn ceil<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Double(of_double(&args[0])?.ceil()))
}

fn floor<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Double(of_double(&args[0])?.floor()))
}

fn round<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Double(of_double(&args[0])?.round()))
}

fn trunc<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Double(of_double(&args[0])?.trunc()))
}

#[expect(clippy::cast_precision_loss, reason = "roots are doubles")]
fn sqrt<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let value = match args[0] {
        Value::Int(value) => value as f64,
        Value::Uint(value) => value as f64,
        ref other => of_double(other)?,
    };
    Ok(Value::Double(value.sqrt()))
}

fn is_nan<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_double(&args[0])?.is_nan()))
}

fn is_inf<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_double(&args[0])?.is_infinite()))
}

fn is_finite<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(of_double(&args[0])?.is_finite()))
}

fn abs<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Int(value) => value
            .checked_abs()
            .map(Value::Int)
            .ok_or(arithmetic::OVERFLOW),
        Value::Uint(value) => Ok(Value::Uint(value)),
        ref other => Ok(Value::Double(of_double(other)?.abs())),
    }
}

fn sign<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Int(value) => Ok(Value::Int(value.signum())),
        Value::Uint(value) => Ok(Value::Uint(value.min(1))),
        Value::Double(value) if value == 0.0 || value.is_nan() => Ok(Value::Double(value)),
        ref other => Ok(Value::Double(of_double(other)?.signum())),
    }
}

fn bits<'a>(args: &[Value<'a>], int: fn(i64, i64) -> i64, uint: fn(u64, u64) -> u64) -> Eval<'a> {
    match (args[0], args[1]) {
        (Value::Int(a), Value::Int(b)) => Ok(Value::Int(int(a, b))),
        (Value::Uint(a), Value::Uint(b)) => Ok(Value::Uint(uint(a, b))),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn bit_and<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    bits(args, |a, b| a & b, |a, b| a & b)
}

fn bit_or<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    bits(args, |a, b| a | b, |a, b| a | b)
}

fn bit_xor<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    bits(args, |a, b| a ^ b, |a, b| a ^ b)
}

fn bit_not<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Int(value) => Ok(Value::Int(!value)),
        Value::Uint(value) => Ok(Value::Uint(!value)),
        _ => Err(Fault::NoSuchOverload),
    }
}

/// Shifts by 64 and more leave nothing; negative integers shift as their bits, without their sign.
fn shift<'a>(scope: &Scope<'a>, args: &[Value<'a>], run: fn(u64, u32) -> Option<u64>) -> Eval<'a> {
    let by = args[1].as_int()?;
    if by < 0 {
        return Err(scope.fault(format_args!("math.bitShift() negative offset: {by}")));
    }
    let by = u32::try_from(by).unwrap_or(u32::MAX);
    match args[0] {
        Value::Int(value) => Ok(Value::Int(
            run(value.cast_unsigned(), by).unwrap_or(0).cast_signed(),
        )),
        Value::Uint(value) => Ok(Value::Uint(run(value, by).unwrap_or(0))),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn shift_left<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    shift(scope, args, u64::checked_shl)
}

fn shift_right<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    shift(scope, args, u64::checked_shr)
}
