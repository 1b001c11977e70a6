//! JSON encoding compatible with Go's `encoding/json`.

use crate::go;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{CharEscape, Formatter, Serializer};
use std::io::{self, Write};

/// Initial buffer of [`encode_ordered`]; its outputs (OpenAPI documents) are large.
const ORDERED_BYTES: usize = 256 << 10;

/// Encodes compact JSON with sorted keys; escapes `<`, `>`, `&` and the line separators, and prints numbers as Go does
/// (`1e+21`).
pub fn encode(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    encode_into(value, &mut bytes);
    bytes
}

/// As [`encode`], at the end of a buffer.
pub fn encode_into(value: &Value, bytes: &mut Vec<u8>) {
    let mut serializer = Serializer::with_formatter(bytes, Go);
    value
        .serialize(&mut serializer)
        .expect("a value has string keys, and memory does not fail to be written");
}

/// Variant of [`encode`] for any type that serializes its maps with string keys in sorted order; avoids building a
/// [`Value`] first.
pub fn encode_ordered(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ORDERED_BYTES);
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, Go))
        .expect("its maps have texts for keys, and memory does not fail to be written");
    bytes
}

/// Variant of [`encode_ordered`] that writes, and ends with the first error of the writer.
pub(crate) fn write_ordered(
    value: &(impl Serialize + ?Sized),
    writer: &mut impl Write,
) -> serde_json::Result<()> {
    value.serialize(&mut Serializer::with_formatter(writer, Go))
}

/// As [`encode`], as text.
pub fn encode_to_string(value: &Value) -> String {
    String::from_utf8(encode(value)).expect("JSON is printed as UTF-8")
}

struct Go;

impl Formatter for Go {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(go::json_double(value).as_bytes())
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, escape, length)) = next_escape(rest) {
            writer.write_all(&rest.as_bytes()[..at])?;
            writer.write_all(escape)?;
            rest = &rest[at + length..];
        }
        writer.write_all(rest.as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> io::Result<()> {
        match escape {
            CharEscape::Quote => writer.write_all(b"\\\""),
            CharEscape::ReverseSolidus => writer.write_all(b"\\\\"),
            CharEscape::Solidus => writer.write_all(b"/"),
            CharEscape::Backspace => writer.write_all(b"\\b"),
            CharEscape::FormFeed => writer.write_all(b"\\f"),
            CharEscape::LineFeed => writer.write_all(b"\\n"),
            CharEscape::CarriageReturn => writer.write_all(b"\\r"),
            CharEscape::Tab => writer.write_all(b"\\t"),
            CharEscape::AsciiControl(byte) => write!(writer, "\\u{byte:04x}"),
        }
    }
}

/// The first character that a browser could mistake: where, its escape, its length.
fn next_escape(text: &str) -> Option<(usize, &'static [u8], usize)> {
    const SEPARATOR_START: u8 = 0xe2;
    for (at, byte) in text.bytes().enumerate() {
        let escape: (&[u8], usize) = match byte {
            b'<' => (b"\\u003c", 1),
            b'>' => (b"\\u003e", 1),
            b'&' => (b"\\u0026", 1),
            SEPARATOR_START if text[at..].starts_with('\u{2028}') => (b"\\u2028", 3),
            SEPARATOR_START if text[at..].starts_with('\u{2029}') => (b"\\u2029", 3),
            _ => continue,
        };
        return Some((at, escape.0, escape.1));
    }
    None
}
