//! Type conversions and `size`: `int`, `uint`, `double`, `string`, `bool`, `bytes`, `dyn`, `type`.

use super::arithmetic::{OVERFLOW, UNSIGNED_OVERFLOW};
use super::{Row, row};
use crate::cost::Cost::{One, Tenth};
use crate::scope::Scope;
use crate::value::{Eval, Fault, Opaque, Value};
use lockstep_gotext::number_text;

pub(super) const ROWS: &[Row] = &[
    row("int64_to_int64", "int(int) -> int", One, int),
    row("double_to_int64", "int(double) -> int", One, int),
    row("string_to_int64", "int(string) -> int", One, int),
    row("timestamp_to_int64", "int(timestamp) -> int", One, int),
    row("duration_to_int64", "int(duration) -> int", One, int),
    row("uint64_to_int64", "int(uint) -> int", One, int),
    row("uint64_to_uint64", "uint(uint) -> uint", One, uint),
    row("double_to_uint64", "uint(double) -> uint", One, uint),
    row("int64_to_uint64", "uint(int) -> uint", One, uint),
    row("string_to_uint64", "uint(string) -> uint", One, uint),
    row("double_to_double", "double(double) -> double", One, double),
    row("int64_to_double", "double(int) -> double", One, double),
    row("string_to_double", "double(string) -> double", One, double),
    row("uint64_to_double", "double(uint) -> double", One, double),
    row("bool_to_bool", "bool(bool) -> bool", One, boolean),
    row("string_to_bool", "bool(string) -> bool", One, boolean),
    row("bytes_to_bytes", "bytes(bytes) -> bytes", One, bytes),
    row("string_to_bytes", "bytes(string) -> bytes", Tenth, bytes),
    row("string_to_string", "string(string) -> string", One, string),
    row("bool_to_string", "string(bool) -> string", One, string),
    row("bytes_to_string", "string(bytes) -> string", Tenth, string),
    row("double_to_string", "string(double) -> string", One, string),
    row(
        "duration_to_string",
        "string(duration) -> string",
        One,
        string,
    ),
    row("int64_to_string", "string(int) -> string", One, string),
    row(
        "timestamp_to_string",
        "string(timestamp) -> string",
        One,
        string,
    ),
    row("uint64_to_string", "string(uint) -> string", One, string),
    row("to_dyn", "dyn(A) -> dyn", One, same),
    row("type", "type(A) -> type(A)", One, type_of),
    row("size_bytes", "size(bytes) -> int", One, size),
    row("size_list", "size(list(A)) -> int", One, size),
    row("size_map", "size(map(A, B)) -> int", One, size),
    row("size_string", "size(string) -> int", One, size),
    row("bytes_size", "<bytes>.size() -> int", One, size),
    row("list_size", "<list(A)>.size() -> int", One, size),
    row("map_size", "<map(A, B)>.size() -> int", One, size),
    row("string_size", "<string>.size() -> int", One, size),
];

pub(super) const NETWORK_ROWS: &[Row] = &[
    row("ip_to_string", "string(IP) -> string", One, string),
    row("cidr_to_string", "string(CIDR) -> string", One, string),
];

fn int<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Int(value) => Ok(Value::Int(value)),
        Value::Uint(value) => i64::try_from(value).map(Value::Int).map_err(|_| OVERFLOW),
        Value::Double(value) => number_text::double_to_int(value)
            .map(Value::Int)
            .map_err(|error| scope.fault(error)),
        Value::String(text) => number_text::parse_int(text)
            .map(Value::Int)
            .map_err(|error| scope.fault(error)),
        Value::Timestamp(at) => Ok(Value::Int(at.unix_seconds())),
        Value::Duration(span) => Ok(Value::Int(span.nanoseconds())),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn uint<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Uint(value) => Ok(Value::Uint(value)),
        Value::Int(value) => u64::try_from(value)
            .map(Value::Uint)
            .map_err(|_| UNSIGNED_OVERFLOW),
        Value::Double(value) => number_text::double_to_uint(value)
            .map(Value::Uint)
            .map_err(|error| scope.fault(error)),
        Value::String(text) => number_text::parse_uint(text)
            .map(Value::Uint)
            .map_err(|error| scope.fault(error)),
        _ => Err(Fault::NoSuchOverload),
    }
}

#[expect(clippy::cast_precision_loss, reason = "conversion to double rounds")]
fn double<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Double(value) => Ok(Value::Double(value)),
        Value::Int(value) => Ok(Value::Double(value as f64)),
        Value::Uint(value) => Ok(Value::Double(value as f64)),
        Value::String(text) => number_text::parse_double(text)
            .map(Value::Double)
            .map_err(|error| scope.fault(error)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn boolean<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Bool(value) => Ok(Value::Bool(value)),
        Value::String(text) => number_text::parse_bool(text)
            .map(Value::Bool)
            .map_err(|error| scope.fault(error)),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn bytes<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Bytes(value) => Ok(Value::Bytes(value)),
        Value::String(text) => Ok(Value::Bytes(text.as_bytes())),
        _ => Err(Fault::NoSuchOverload),
    }
}

fn string<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let text = match args[0] {
        Value::String(text) => return Ok(Value::String(text)),
        Value::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes);
            return text
                .map(Value::String)
                .map_err(|_| Fault::Fixed("invalid UTF-8 in bytes, cannot convert to string"));
        }
        Value::Bool(value) => return Ok(Value::String(if value { "true" } else { "false" })),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => number_text::double_text(value),
        Value::Duration(span) => span.to_string(),
        Value::Timestamp(at) => at.to_string(),
        Value::Opaque(Opaque::Ip(ip)) => ip.to_string(),
        Value::Opaque(Opaque::Cidr(cidr)) => cidr.to_string(),
        _ => return Err(Fault::NoSuchOverload),
    };
    scope.text(&text)
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn same<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(args[0])
}

#[expect(clippy::unnecessary_wraps, reason = "the shape of a library function")]
fn type_of<'a>(_: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    Ok(Value::Type(args[0].type_name()))
}

fn size<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let size = match args[0] {
        Value::String(text) => scope.code_points(text)?,
        other => other.size().ok_or(Fault::NoSuchOverload)?,
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}
