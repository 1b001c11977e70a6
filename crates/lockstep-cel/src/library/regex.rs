//! Regular expressions whose pattern is only known when the expression runs.

use super::{Row, row};
use crate::cost::Cost::Regex;
use crate::eval::Scope;
use crate::ext::re2::Pattern;
use crate::value::{Eval, Fault, List, Value};

pub(super) const MATCHES_ROWS: &[Row] = &[
    row("matches", "matches(string, string) -> bool", Regex, matches),
    row(
        "matches_string",
        "<string>.matches(string) -> bool",
        Regex,
        matches,
    ),
];

pub(super) const ROWS: &[Row] = &[
    row(
        "string_find_string",
        "<string>.find(string) -> string",
        Regex,
        find,
    ),
    row(
        "string_find_all_string",
        "<string>.findAll(string) -> list(string)",
        Regex,
        find_all,
    ),
    row(
        "string_find_all_string_int",
        "<string>.findAll(string, int) -> list(string)",
        Regex,
        find_all,
    ),
];

/// Compiling a pattern takes many times as long as reading it.
const WORK_PER_PATTERN_BYTE: usize = 1_000;

fn pattern<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Result<Pattern, Fault<'a>> {
    let pattern = args[1].as_text()?;
    scope.work(pattern.len().saturating_mul(WORK_PER_PATTERN_BYTE))?;
    Pattern::compile_at_run_time(pattern).map_err(|error| scope.fault(error))
}

fn matches<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let subject = args[0].as_text()?;
    Ok(Value::Bool(pattern(scope, args)?.is_match(subject)))
}

fn find<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let subject = args[0].as_text()?;
    Ok(Value::String(
        pattern(scope, args)?.find(subject).unwrap_or(""),
    ))
}

fn find_all<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let subject = args[0].as_text()?;
    let limit = args.get(2).map_or(Ok(-1), Value::as_int)?;
    let found = pattern(scope, args)?.find_all(subject, limit);
    let mut values = scope.arena.vec_with(found.len());
    values.extend(found.into_iter().map(Value::String));
    Ok(Value::List(List::Built(values.into_bump_slice())))
}
