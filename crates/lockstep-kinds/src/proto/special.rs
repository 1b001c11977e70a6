//! Protobuf messages of types with custom encodings.

use lockstep_object::metadata::{Micros, Seconds};
use lockstep_object::{Map, Value, json};

use super::decode::{At, DecodeError, Decoder, int32, text};
use super::encode::{EncodeError, Encoder};
use super::wire::{next, put_bytes, put_varint};
use crate::table::{Special, TypeId};
use crate::typed::quantity;

const MICROS_PER_SECOND: i64 = 1_000_000;
const NANOS_PER_MICRO: i64 = 1_000;

/// `IntOrString.type` for a string.
const IS_TEXT: u64 = 1;

pub(super) fn decode(
    decoder: &mut Decoder<'_>,
    at: At<'_>,
    special: Special,
    bytes: &[u8],
) -> Result<Value, DecodeError> {
    match special {
        Special::Time | Special::MicroTime => time(at, special, bytes),
        Special::Quantity => {
            let amount = last_bytes(at, bytes)?;
            Ok(amount.map_or_else(|| "0".to_owned(), text).into())
        }
        Special::IntOrString => int_or_string(at, bytes),
        Special::Json => match last_bytes(at, bytes)? {
            None | Some([]) => Ok(Value::Null),
            Some(raw) => Ok(json::decode(raw)?.value),
        },
        Special::Texts => texts(decoder, at, bytes, 1).map(Value::Array),
        Special::SchemaOrTexts => {
            let texts = texts(decoder, at, bytes, 2)?;
            if texts.is_empty() {
                return schema(decoder, at, bytes, 1);
            }
            Ok(Value::Array(texts))
        }
        Special::SchemaOrBool => match schema(decoder, at, bytes, 2)? {
            Value::Null => allows(at, bytes).map(Value::Bool),
            schema => Ok(schema),
        },
        Special::SchemaOrSchemas => {
            let mut schemas = Vec::new();
            let mut rest = bytes;
            while let Some((_, payload)) = next(&mut rest, |tag| tag == 2)? {
                schemas.push(nested(decoder, at, at.bytes(payload)?)?);
            }
            if schemas.is_empty() {
                return schema(decoder, at, bytes, 1);
            }
            Ok(Value::Array(schemas))
        }
    }
}

/// The bytes of tag 1, the last if there are several.
fn last_bytes<'b>(at: At<'_>, mut bytes: &'b [u8]) -> Result<Option<&'b [u8]>, DecodeError> {
    let mut found = None;
    while let Some((_, payload)) = next(&mut bytes, |tag| tag == 1)? {
        found = Some(at.bytes(payload)?);
    }
    Ok(found)
}

/// No bytes are no time.
fn time(at: At<'_>, special: Special, mut bytes: &[u8]) -> Result<Value, DecodeError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0_i64, 0_i64);
    while let Some((tag, payload)) = next(&mut bytes, |tag| matches!(tag, 1 | 2))? {
        let number = at.varint(payload)?;
        match tag {
            1 => seconds = number.cast_signed(),
            _ => nanos = int32(number).into(),
        }
    }
    let printed = if special == Special::Time {
        Seconds::from_unix(seconds).map(|at| at.to_string())
    } else {
        let whole = seconds.checked_mul(MICROS_PER_SECOND);
        let micros = whole.and_then(|whole| whole.checked_add(nanos / NANOS_PER_MICRO));
        micros.and_then(Micros::from_unix).map(|at| at.to_string())
    };
    printed.map(Value::String).ok_or(DecodeError::Time(seconds))
}

fn int_or_string(at: At<'_>, mut bytes: &[u8]) -> Result<Value, DecodeError> {
    let (mut kind, mut number, mut string) = (0, 0, String::new());
    while let Some((tag, payload)) = next(&mut bytes, |tag| matches!(tag, 1..=3))? {
        match tag {
            1 => kind = at.varint(payload)?,
            2 => number = int32(at.varint(payload)?),
            _ => string = text(at.bytes(payload)?),
        }
    }
    Ok(if kind == IS_TEXT {
        string.into()
    } else {
        number.into()
    })
}

fn texts(
    decoder: &mut Decoder<'_>,
    at: At<'_>,
    mut bytes: &[u8],
    tag: u32,
) -> Result<Vec<Value>, DecodeError> {
    let mut items = Vec::new();
    while let Some((_, payload)) = next(&mut bytes, |found| found == tag)? {
        decoder.count()?;
        items.push(text(at.bytes(payload)?).into());
    }
    Ok(items)
}

fn allows(at: At<'_>, mut bytes: &[u8]) -> Result<bool, DecodeError> {
    let mut allows = false;
    while let Some((_, payload)) = next(&mut bytes, |tag| tag == 1)? {
        allows = at.varint(payload)? != 0;
    }
    Ok(allows)
}

/// The schema of a tag; null if there is none.
fn schema(
    decoder: &mut Decoder<'_>,
    at: At<'_>,
    mut bytes: &[u8],
    tag: u32,
) -> Result<Value, DecodeError> {
    let mut found = Value::Null;
    while let Some((_, payload)) = next(&mut bytes, |other| other == tag)? {
        found = nested(decoder, at, at.bytes(payload)?)?;
    }
    Ok(found)
}

/// A schema inside a schema: the type that the field is declared in.
fn nested(decoder: &mut Decoder<'_>, at: At<'_>, bytes: &[u8]) -> Result<Value, DecodeError> {
    decoder.count()?;
    let mut entries = Map::new();
    decoder.message(at.id, bytes, &mut entries, at.depth + 2)?;
    Ok(Value::Object(entries))
}

/// The message of a value; `owner` is the type that the field is declared in.
pub(super) fn encode(
    encoder: &Encoder<'_>,
    owner: TypeId,
    special: Special,
    value: &Value,
    depth: usize,
) -> Result<Vec<u8>, EncodeError> {
    let mut out = Vec::new();
    match (special, value) {
        (Special::Quantity, Value::Null) => put_bytes(1, b"0", &mut out),
        (Special::IntOrString, Value::Null) => put_int_or_string(0, 0, "", &mut out),
        (_, Value::Null) => {}
        (Special::Json, _) => put_bytes(1, &json::encode(value), &mut out),
        (Special::Time, Value::String(text)) => {
            let at: Seconds = text.parse().map_err(|_| EncodeError::Value)?;
            put_time(at.unix(), 0, &mut out);
        }
        (Special::MicroTime, Value::String(text)) => {
            let at: Micros = text.parse().map_err(|_| EncodeError::Value)?;
            let micros = at.unix();
            let nanos = micros.rem_euclid(MICROS_PER_SECOND) * NANOS_PER_MICRO;
            put_time(micros.div_euclid(MICROS_PER_SECOND), nanos, &mut out);
        }
        (Special::Quantity, Value::String(text)) => {
            let amount = quantity(text).map_err(|_| EncodeError::Value)?;
            put_bytes(1, amount.as_bytes(), &mut out);
        }
        (Special::IntOrString, Value::String(text)) => {
            put_int_or_string(IS_TEXT, 0, text, &mut out);
        }
        (Special::IntOrString, Value::Number(number)) => {
            let number = number.as_i64().ok_or(EncodeError::Value)?;
            put_int_or_string(0, number, "", &mut out);
        }
        (Special::Texts, Value::Array(items)) => put_texts(1, items, &mut out)?,
        (Special::SchemaOrTexts, Value::Array(items)) => put_texts(2, items, &mut out)?,
        (Special::SchemaOrBool, Value::Bool(allows)) => put_varint(1, u64::from(*allows), &mut out),
        (Special::SchemaOrBool, Value::Object(entries)) => {
            put_varint(1, 1, &mut out);
            put_bytes(2, &encoder.message(owner, entries, depth + 1)?, &mut out);
        }
        (Special::SchemaOrSchemas | Special::SchemaOrTexts, Value::Object(entries)) => {
            put_bytes(1, &encoder.message(owner, entries, depth + 1)?, &mut out);
        }
        (Special::SchemaOrSchemas, Value::Array(items)) => {
            for item in items {
                let entries = item.as_object().ok_or(EncodeError::Value)?;
                put_bytes(2, &encoder.message(owner, entries, depth + 1)?, &mut out);
            }
        }
        _ => return Err(EncodeError::Value),
    }
    Ok(out)
}

fn put_time(seconds: i64, nanos: i64, out: &mut Vec<u8>) {
    put_varint(1, seconds.cast_unsigned(), out);
    put_varint(2, nanos.cast_unsigned(), out);
}

fn put_int_or_string(kind: u64, number: i64, text: &str, out: &mut Vec<u8>) {
    put_varint(1, kind, out);
    put_varint(2, number.cast_unsigned(), out);
    put_bytes(3, text.as_bytes(), out);
}

fn put_texts(tag: u32, items: &[Value], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    for item in items {
        let text = item.as_str().ok_or(EncodeError::Value)?;
        put_bytes(tag, text.as_bytes(), out);
    }
    Ok(())
}
