//! Regex library, for patterns known only at run time.

use super::{Row, row};
use crate::cost::Cost::Regex;
use crate::scope::Scope;
use crate::value::{Eval, List, Value};

/// Error prefix of `find` and `findAll` for invalid patterns; `matches` has none.
const SEARCH_COMPLAINT: &str = "Illegal regex: ";

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

fn matches<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let subject = args[0].as_text()?;
    Ok(Value::Bool(
        scope.pattern(args[1].as_text()?, "")?.is_match(subject),
    ))
}

fn find<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let subject = args[0].as_text()?;
    Ok(Value::String(
        scope
            .pattern(args[1].as_text()?, SEARCH_COMPLAINT)?
            .find(subject)
            .unwrap_or(""),
    ))
}

fn find_all<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let subject = args[0].as_text()?;
    let limit = args.get(2).map_or(Ok(-1), Value::as_int)?;
    let found = scope
        .pattern(args[1].as_text()?, SEARCH_COMPLAINT)?
        .find_all(subject, limit);
    let mut values = scope.arena.vec_with(found.len());
    values.extend(found.into_iter().map(Value::String));
    Ok(Value::List(List::Built(values.into_bump_slice())))
}
