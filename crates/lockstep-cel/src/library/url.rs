//! Kubernetes URL library.

use super::{Row, row};
use crate::cost::Cost::{One, Tenth};
use crate::scope::Scope;
use crate::value::{BuiltMap, Eval, Fault, List, Map, Opaque, Value};
use lockstep_gotext::url::{Url, parse_request_uri};

pub(super) const ROWS: &[Row] = &[
    row("string_to_url", "url(string) -> URL", Tenth, url),
    row("is_url_string", "isURL(string) -> bool", One, is_url),
    row("url_get_scheme", "<URL>.getScheme() -> string", One, scheme),
    row("url_get_host", "<URL>.getHost() -> string", One, host),
    row(
        "url_get_hostname",
        "<URL>.getHostname() -> string",
        One,
        hostname,
    ),
    row("url_get_port", "<URL>.getPort() -> string", One, port),
    row(
        "url_get_escaped_path",
        "<URL>.getEscapedPath() -> string",
        One,
        escaped_path,
    ),
    row(
        "url_get_query",
        "<URL>.getQuery() -> map(string, list(string))",
        One,
        query,
    ),
];

fn of<'a>(value: &Value<'a>) -> Result<&'a Url, Fault<'a>> {
    match value {
        Value::Opaque(Opaque::Url(url)) => Ok(url),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn url<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let url = Url::parse(args[0].as_text()?).map_err(|error| scope.fault(error))?;
    Ok(scope.arena.opaque(Opaque::Url(url)))
}

fn is_url<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Bool(parse_request_uri(args[0].as_text()?).is_ok()))
}

fn scheme<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::String(of(&args[0])?.scheme()))
}

fn host<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&of(&args[0])?.host())
}

fn hostname<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&of(&args[0])?.hostname())
}

fn port<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&of(&args[0])?.port())
}

fn escaped_path<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    scope.text(&of(&args[0])?.escaped_path())
}

fn query<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let mut entries = scope.arena.vec();
    for (name, values) in of(&args[0])?.query() {
        let mut list = scope.arena.vec_with(values.len());
        for value in &values {
            list.push(scope.text(value)?);
        }
        entries.push((
            scope.text(&name)?,
            Value::List(List::Built(list.into_bump_slice())),
        ));
    }
    let map = BuiltMap {
        entries: entries.into_bump_slice(),
        omitted: &[],
    };
    Ok(Value::Map(Map::Built(scope.arena.put(map))))
}
