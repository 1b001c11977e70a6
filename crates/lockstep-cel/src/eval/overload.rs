//! Runtime errors for missing overloads.

use crate::scope::Scope;
use crate::value::{Fault, List, Map, Value};

/// Error for a call without a matching overload. An operator is named only if its first operand has no such operator at
/// all; most other functions list their argument types.
pub(super) fn no_overload<'a>(
    scope: &Scope<'a>,
    function: &'a str,
    args: &[Value<'a>],
) -> Fault<'a> {
    match function {
        "contains" | "startsWith" | "endsWith" => return Fault::NoSuchOverload,
        "size" => return Fault::NoSuchOverloadOf(function),
        "flatten" => return no_flatten(scope, args),
        _ => {}
    }
    let knows = args.first().is_some_and(|first| knows(function, first));
    match function.as_bytes() {
        [b'_' | b'-' | b'!' | b'@', ..] | b"matches" | b"sort" if knows => Fault::NoSuchOverload,
        [b'_' | b'-' | b'!' | b'@', ..] | b"matches" | b"sort" => Fault::NoSuchOverloadOf(function),
        _ => {
            let types: Vec<&str> = args.iter().map(Value::type_name).collect();
            scope.fault(format_args!(
                "no such overload: {function}({})",
                types.join(", ")
            ))
        }
    }
}

/// `flatten` is the one method that writes its receiver in front.
fn no_flatten<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Fault<'a> {
    let name = |value: &Value<'a>| match value {
        Value::Map(_) => "map(dyn, dyn)",
        other => other.type_name(),
    };
    let (receiver, depth) = (args.first().map(name), args.get(1).map(name));
    scope.fault(format_args!(
        "no such overload: {}.flatten({})",
        receiver.unwrap_or_default(),
        depth.unwrap_or_default()
    ))
}

/// Error of a comprehension over a value that is neither a list nor a map.
pub(super) fn no_range<'a>(scope: &Scope<'a>, value: &Value<'a>, pairs: bool) -> Fault<'a> {
    let name = upstream_name(value);
    if pairs {
        return scope.fault(format_args!("unsupported comprehension range type: {name}"));
    }
    scope.fault(format_args!("got '{name}', expected iterable type"))
}

/// Error of a selection with a value that is not a valid key type.
pub(super) fn no_qualifier<'a>(scope: &Scope<'a>, value: &Value<'a>) -> Fault<'a> {
    let name = match value {
        Value::Null => "<nil>",
        Value::List(List::Json(_)) => "[]interface {}",
        Value::Map(Map::Json(_)) => "map[string]interface {}",
        other => upstream_name(other),
    };
    scope.fault(format_args!("invalid qualifier type: {name}"))
}

/// The name upstream's messages give a value that the language has made.
pub(crate) fn upstream_name<'a>(value: &Value<'a>) -> &'a str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Duration(_) => "types.Duration",
        Value::Optional(_) => "*types.Optional",
        Value::Type(_) => "*types.Type",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        other => other.type_name(),
    }
}

/// True if a value supports the operator with some second operand. Strings and times count as supporting every
/// operator, because upstream lets their own methods report the error.
fn knows(function: &str, value: &Value<'_>) -> bool {
    use Value::{Bool, Bytes, Double, Duration, Int, List, String, Timestamp, Uint};
    if matches!(value, String(_) | Timestamp(_) | Duration(_)) {
        return true;
    }
    match function {
        "_+_" => matches!(value, Bytes(_) | Double(_) | Int(_) | List(_) | Uint(_)),
        "_-_" | "_*_" | "_/_" => matches!(value, Double(_) | Int(_) | Uint(_)),
        "_%_" => matches!(value, Int(_) | Uint(_)),
        "_<_" | "_<=_" | "_>_" | "_>=_" => {
            matches!(value, Bool(_) | Bytes(_) | Double(_) | Int(_) | Uint(_))
        }
        "-_" | "!_" => matches!(value, Bool(_) | Double(_) | Int(_)),
        "matches" | "sort" => false,
        _ => true,
    }
}
