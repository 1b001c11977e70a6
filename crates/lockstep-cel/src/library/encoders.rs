//! Encoders library: base64.

use super::{Row, row};
use crate::cost::Cost::Tenth;
use crate::scope::Scope;
use crate::value::{Eval, Fault, Value};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

pub(super) const ROWS: &[Row] = &[
    row(
        "base64_decode_string",
        "base64.decode(string) -> bytes",
        Tenth,
        decode,
    ),
    row(
        "base64_encode_bytes",
        "base64.encode(bytes) -> string",
        Tenth,
        encode,
    ),
];

fn decode<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    let text = args[0].as_text()?;
    match STANDARD
        .decode(text)
        .or_else(|_| STANDARD_NO_PAD.decode(text))
    {
        Ok(bytes) => Ok(Value::Bytes(scope.arena.bytes(&bytes))),
        Err(error) => Err(scope.fault(format_args!("illegal base64 data: {error}"))),
    }
}

fn encode<'a>(scope: &Scope<'a>, args: &[Value<'a>]) -> Eval<'a> {
    match args[0] {
        Value::Bytes(bytes) => scope.text(&STANDARD.encode(bytes)),
        _ => Err(Fault::NoSuchOverload),
    }
}
