//! String functions and the CEL extended strings library.

use super::{Row, format, row};
use crate::cost::Cost::{Elements, Fifth, Join, One, Search, Tenth};
use crate::dialect::Profile;
use crate::scope::Scope;
use crate::value::{Eval, List, Value};
use lockstep_gotext::text::{self, OffsetBeyondEnd, TextError};

pub(super) const STANDARD_ROWS: &[Row] = &[
    row(
        "contains_string",
        "<string>.contains(string) -> bool",
        Search,
        contains,
    ),
    row(
        "starts_with_string",
        "<string>.startsWith(string) -> bool",
        Tenth,
        starts_with,
    ),
    row(
        "ends_with_string",
        "<string>.endsWith(string) -> bool",
        Tenth,
        ends_with,
    ),
];

pub(super) const ROWS: &[Row] = &[
    row(
        "string_char_at_int",
        "<string>.charAt(int) -> string",
        One,
        char_at,
    ),
    row(
        "string_index_of_string",
        "<string>.indexOf(string) -> int",
        Elements,
        index_of,
    ),
    row(
        "string_index_of_string_int",
        "<string>.indexOf(string, int) -> int",
        Elements,
        index_of_from,
    ),
    row(
        "string_last_index_of_string",
        "<string>.lastIndexOf(string) -> int",
        Elements,
        last_index_of,
    ),
    row(
        "string_last_index_of_string_int",
        "<string>.lastIndexOf(string, int) -> int",
        Elements,
        last_index_of_from,
    ),
    row("list_join", "<list(string)>.join() -> string", Join, join),
    row(
        "list_join_string",
        "<list(string)>.join(string) -> string",
        Join,
        join,
    ),
    row(
        "string_lower_ascii",
        "<string>.lowerAscii() -> string",
        Tenth,
        lower_ascii,
    ),
    row(
        "string_upper_ascii",
        "<string>.upperAscii() -> string",
        Tenth,
        upper_ascii,
    ),
    row(
        "string_replace_string_string",
        "<string>.replace(string, string) -> string",
        Fifth,
        replace,
    ),
    row(
        "string_replace_string_string_int",
        "<string>.replace(string, string, int) -> string",
        Fifth,
        replace,
    ),
    row(
        "string_split_string",
        "<string>.split(string) -> list(string)",
        Fifth,
        split,
    ),
    row(
        "string_split_string_int",
        "<string>.split(string, int) -> list(string)",
        Fifth,
        split,
    ),
    row(
        "string_substring_int",
        "<string>.substring(int) -> string",
        Tenth,
        substring,
    ),
    row(
        "string_substring_int_int",
        "<string>.substring(int, int) -> string",
        Tenth,
        substring,
    ),
    row("string_trim", "<string>.trim() -> string", Tenth, trim),
];

pub(super) const V2_ROWS: &[Row] = &[
    row(
        "string_format",
        "<string>.format(list(dyn)) -> string",
        Tenth,
        format::format,
    ),
    row(
        "strings_quote",
        "strings.quote(string) -> string",
        Tenth,
        quote,
    ),
];

pub(super) const REVERSE_ROWS: &[Row] = &[row(
    "string_reverse",
    "<string>.reverse() -> string",
    Tenth,
    reverse,
)];

pub(super) const JSON_PATCH_ROWS: &[Row] = &[row(
    "string_escapeKey",
    "jsonpatch.escapeKey(string) -> string",
    One,
    escape_key,
)];

fn contains<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(args[0].as_text()?.contains(args[1].as_text()?)))
}

fn starts_with<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(
        args[0].as_text()?.starts_with(args[1].as_text()?),
    ))
}

fn ends_with<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(
        args[0].as_text()?.ends_with(args[1].as_text()?),
    ))
}

fn beyond(scope: &Scope<'_>) -> OffsetBeyondEnd {
    match scope.profile {
        Profile::Spec => OffsetBeyondEnd::Fails,
        Profile::Kubernetes => OffsetBeyondEnd::NotFound,
    }
}

fn outcome<'a, T>(
    scope: &Scope<'a>,
    result: Result<T, TextError>,
    wrap: impl FnOnce(T) -> Value<'a>,
) -> Eval<'a> {
    result.map(wrap).map_err(|error| scope.fault(error))
}

fn char_at<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let index = usize::try_from(args[1].as_int()?).unwrap_or(usize::MAX);
    scope.work(args[0].as_text()?.len().min(index))?;
    outcome(
        scope,
        text::char_at(args[0].as_text()?, args[1].as_int()?),
        Value::String,
    )
}

fn index_of<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(text::index_of(
        args[0].as_text()?,
        args[1].as_text()?,
    )))
}

fn index_of_from<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let found = text::index_of_from(
        args[0].as_text()?,
        args[1].as_text()?,
        args[2].as_int()?,
        beyond(scope),
    );
    outcome(scope, found, Value::Int)
}

fn last_index_of<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Int(text::last_index_of(
        args[0].as_text()?,
        args[1].as_text()?,
    )))
}

fn last_index_of_from<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let found = text::last_index_of_until(
        args[0].as_text()?,
        args[1].as_text()?,
        args[2].as_int()?,
        beyond(scope),
    );
    outcome(scope, found, Value::Int)
}

fn join<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let separator = args.get(1).map_or(Ok(""), Value::as_text)?;
    let mut parts = Vec::new();
    for (index, part) in args[0].as_list()?.values().enumerate() {
        if index > 0 {
            parts.push(separator);
        }
        parts.push(part?.as_text()?);
    }
    scope.arena.concat(&parts).map(Value::String)
}

fn lower_ascii<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&text::lower_ascii(args[0].as_text()?))
}

fn upper_ascii<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&text::upper_ascii(args[0].as_text()?))
}

fn replace<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (subject, old, new) = (args[0].as_text()?, args[1].as_text()?, args[2].as_text()?);
    let limit = args.get(3).map_or(Ok(-1), Value::as_int)?;
    // The result may be far longer than the receiver it is priced by.
    let count = if old.is_empty() {
        subject.len() + 1
    } else {
        subject.len() / old.len()
    };
    let count = usize::try_from(limit).map_or(count, |limit| count.min(limit));
    scope.arena.room(
        subject
            .len()
            .saturating_add(count.saturating_mul(new.len())),
    )?;
    scope.text(&text::replace(subject, old, new, limit))
}

fn split<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let limit = args.get(2).map_or(Ok(-1), Value::as_int)?;
    let parts = text::split(args[0].as_text()?, args[1].as_text()?, limit);
    let mut values = scope.arena.vec_with(parts.len());
    values.extend(parts.into_iter().map(Value::String));
    Ok(Value::List(List::Built(values.into_bump_slice())))
}

fn substring<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let (subject, start) = (args[0].as_text()?, args[1].as_int()?);
    let found = match args.get(2) {
        Some(end) => text::substring_between(subject, start, end.as_int()?),
        None => text::substring(subject, start),
    };
    outcome(scope, found, Value::String)
}

fn trim<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::String(text::trim(args[0].as_text()?)))
}

fn reverse<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&text::reverse(args[0].as_text()?))
}

fn quote<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&text::quote(args[0].as_text()?))
}

fn escape_key<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&text::escape_json_pointer_key(args[0].as_text()?))
}
