//! Protobuf wire format.

use bytes::Buf as _;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
};

use super::DecodeError;

/// Payload of a field.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

impl Payload<'_> {
    /// The number of its wire type.
    pub(super) fn wire_type(self) -> u32 {
        match self {
            Payload::Varint(_) => 0,
            Payload::Fixed64(_) => 1,
            Payload::Bytes(_) => 2,
        }
    }
}

/// The next field whose tag `wants` accepts; others are skipped. None at the end.
pub(super) fn next<'a>(
    rest: &mut &'a [u8],
    wants: impl Fn(u32) -> bool,
) -> Result<Option<(u32, Payload<'a>)>, DecodeError> {
    next_known(rest, |tag| wants(tag).then_some(tag))
}

/// The next field with a `known` tag, and its lookup result; others are skipped. None at the end.
pub(super) fn next_known<'a, K>(
    rest: &mut &'a [u8],
    known: impl Fn(u32) -> Option<K>,
) -> Result<Option<(K, Payload<'a>)>, DecodeError> {
    while !rest.is_empty() {
        let (tag, wire_type) = decode_key(rest)?;
        let known = known(tag);
        let payload = match wire_type {
            _ if known.is_none() => None,
            WireType::Varint => Some(Payload::Varint(decode_varint(rest)?)),
            WireType::SixtyFourBit if rest.len() >= 8 => Some(Payload::Fixed64(rest.get_u64_le())),
            WireType::LengthDelimited => Some(Payload::Bytes(delimited(rest)?)),
            _ => None,
        };
        match known.zip(payload) {
            Some(read) => return Ok(Some(read)),
            None => skip_field(wire_type, tag, rest, DecodeContext::default())?,
        }
    }
    Ok(None)
}

fn delimited<'a>(rest: &mut &'a [u8]) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(decode_varint(rest)?).map_err(|_| DecodeError::Truncated)?;
    let (bytes, after) = rest
        .split_at_checked(length)
        .ok_or(DecodeError::Truncated)?;
    *rest = after;
    Ok(bytes)
}

/// The varints of a packed list.
pub(super) fn packed(mut bytes: &[u8]) -> Result<Vec<u64>, DecodeError> {
    let mut numbers = Vec::new();
    while !bytes.is_empty() {
        numbers.push(decode_varint(&mut bytes)?);
    }
    Ok(numbers)
}

pub(super) fn put_varint(tag: u32, value: u64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::Varint, out);
    encode_varint(value, out);
}

pub(super) fn put_double(tag: u32, value: f64, out: &mut Vec<u8>) {
    encode_key(tag, WireType::SixtyFourBit, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a field of bytes, a text or a message.
pub fn put_bytes(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}
