//! Kubernetes semver library.

use super::{Row, row};
use crate::cost::Cost::{One, Tenth};
use crate::scope::Scope;
use crate::value::{Eval, Fault, Opaque, Value};
use lockstep_gotext::semver::{Normalize, Semver, SemverError};
use std::cmp::Ordering;

pub(super) const ROWS: &[Row] = &[
    row(
        "string_to_semver",
        "semver(string) -> Semver",
        Tenth,
        semver,
    ),
    row(
        "string_bool_to_semver",
        "semver(string, bool) -> Semver",
        Tenth,
        semver,
    ),
    row(
        "is_semver_string",
        "isSemver(string) -> bool",
        Tenth,
        is_semver,
    ),
    row(
        "is_semver_string_bool",
        "isSemver(string, bool) -> bool",
        Tenth,
        is_semver,
    ),
    row("semver_major", "<Semver>.major() -> int", One, major),
    row("semver_minor", "<Semver>.minor() -> int", One, minor),
    row("semver_patch", "<Semver>.patch() -> int", One, patch),
    row(
        "semver_compare_to",
        "<Semver>.compareTo(Semver) -> int",
        One,
        compare_to,
    ),
    row(
        "semver_is_greater_than",
        "<Semver>.isGreaterThan(Semver) -> bool",
        One,
        is_greater,
    ),
    row(
        "semver_is_less_than",
        "<Semver>.isLessThan(Semver) -> bool",
        One,
        is_less,
    ),
];

fn of<'a>(value: &Value<'a>) -> Result<&'a Semver, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::Semver(semver)) => Ok(semver),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn parse<'a>(args: &[Value<'a>]) -> Result<Result<Semver, SemverError>, Fault<'a>> {
    let normalize = match args.get(1) {
        None | Some(Value::Bool(false)) => Normalize::No,
        Some(Value::Bool(true)) => Normalize::Yes,
        Some(_) => return Err(Fault::NoSuchOverload),
    };
    Ok(Semver::parse(args[0].as_text()?, normalize))
}

fn semver<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let semver = parse(args)?.map_err(|error| scope.fault(error))?;
    Ok(scope.arena.opaque(Opaque::Semver(semver)))
}

fn is_semver<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(parse(args)?.is_ok()))
}

fn major<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(of(&args[0])?.major()))
}

fn minor<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(of(&args[0])?.minor()))
}

fn patch<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(of(&args[0])?.patch()))
}

fn order<'a>(args: &[Value<'a>]) -> Result<Ordering, Fault<'a>> {
    Ok(of(&args[0])?.cmp(of(&args[1])?))
}

fn compare_to<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(order(args)? as i64))
}

fn is_greater<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(order(args)?.is_gt()))
}

fn is_less<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(order(args)?.is_lt()))
}
