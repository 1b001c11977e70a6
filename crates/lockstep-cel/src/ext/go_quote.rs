//! Quoted text: `strings.quote` of CEL, and Go's `%q` for error messages.

use std::fmt::Write as _;

/// `strings.quote`: double quotes around the text, escapes for quotes, backslashes and the named control characters.
/// Every other character stays as it is.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match named_escape(character) {
            Some(escape) => quoted.push_str(escape),
            None => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

/// Go's `%q`: as [`quote`], and characters that do not print are written as their code point.
pub fn quote_for_error(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match named_escape(character) {
            Some(escape) => quoted.push_str(escape),
            None if is_printable(character) => quoted.push(character),
            None => push_code_point(&mut quoted, character),
        }
    }
    quoted.push('"');
    quoted
}

fn named_escape(character: char) -> Option<&'static str> {
    Some(match character {
        '\x07' => "\\a",
        '\x08' => "\\b",
        '\x0c' => "\\f",
        '\n' => "\\n",
        '\r' => "\\r",
        '\t' => "\\t",
        '\x0b' => "\\v",
        '\\' => "\\\\",
        '"' => "\\\"",
        _ => return None,
    })
}

fn is_printable(character: char) -> bool {
    // The text form keeps combining marks, as Go does; the character form would escape them.
    let mut buffer = [b'a', 0, 0, 0, 0];
    let length = character.encode_utf8(&mut buffer[1..]).len();
    let after_letter = std::str::from_utf8(&buffer[..=length]).unwrap_or_default();
    character == '\'' || after_letter.escape_debug().count() == 2
}

fn push_code_point(out: &mut String, character: char) {
    let code = u32::from(character);
    let written = match code {
        0..=0x7f => write!(out, "\\x{code:02x}"),
        0x80..=0xffff => write!(out, "\\u{code:04x}"),
        _ => write!(out, "\\U{code:08x}"),
    };
    written.expect("writing to a string cannot fail");
}
