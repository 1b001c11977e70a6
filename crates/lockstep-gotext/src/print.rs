//! Numbers and quoted text as Go's `fmt` and `encoding/json` print them.
//!
//! Clients match these texts in error messages, field sets and stored JSON, so they are reproduced digit for digit.

use std::fmt::Write as _;

/// Formats a double as `encoding/json` does.
pub fn json_double(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        scientific(value, 1)
    } else {
        format!("{value}")
    }
}

/// Formats a double as `%v` does: `1e+06`.
pub fn double(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        scientific(value, 2)
    } else {
        format!("{value}")
    }
}

/// Scientific notation with a signed exponent of at least `digits` digits.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{exponent:0>digits$}")
}

/// Quotes text as `%q` does.
pub fn quote(text: &str) -> String {
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

/// Quotes each text as `%q` does and joins them with commas: `"a", "b"`.
pub fn quote_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(quote).collect();
    quoted.join(", ")
}

/// Stands for the rest of a text that was cut.
pub const ELLIPSIS: &str = "...";

/// The first characters of a text: no more than this many bytes.
pub fn start_of(text: &str, bytes_max: usize) -> &str {
    if text.len() <= bytes_max {
        return text;
    }
    let end = (0..=bytes_max)
        .rev()
        .find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

/// Cuts a text that is longer than this many bytes, and says so with an [`ELLIPSIS`].
pub fn shorten(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        let end = start_of(text, bytes_max).len();
        text.truncate(end);
        text.push_str(ELLIPSIS);
        text.shrink_to_fit();
    }
}

/// Escapes that Go writes with a letter, shared by `%q` and CEL's `strings.quote`.
pub(crate) fn named_escape(character: char) -> Option<&'static str> {
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

/// True if `%q` prints the character unescaped, as decided by Go's `strconv.IsPrint`.
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // `escape_debug` escapes a combining mark at the start of a text only; Go never does, hence the letter before it.
    let mut buffer = [b'a', 0, 0, 0, 0];
    let length = character.encode_utf8(&mut buffer[1..]).len();
    let after_letter = std::str::from_utf8(&buffer[..=length]).unwrap_or_default();
    // Of all spaces, Go prints only U+0020.
    !character.is_whitespace() && after_letter.escape_debug().count() == 2
}

fn push_code_point(text: &mut String, character: char) {
    let code = u32::from(character);
    let written = match code {
        0..=0x7f => write!(text, "\\x{code:02x}"),
        0x80..=0xffff => write!(text, "\\u{code:04x}"),
        _ => write!(text, "\\U{code:08x}"),
    };
    written.expect("a string can be written to");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// dependencies.md §3, JSON numbers
    #[test]
    fn doubles_print_as_encoding_json_prints_them() {
        let cases = [
            (0.0, "0"),
            (1.5, "1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (-1.25e30, "-1.25e+30"),
            (0.000_001, "0.000001"),
            (0.000_000_1, "1e-7"),
            (1.844_674_407_370_955_2e19, "18446744073709552000"),
        ];
        for (value, text) in cases {
            assert_eq!(json_double(value), text);
        }
    }

    #[test]
    fn doubles_print_as_percent_v_prints_them() {
        let cases = [
            (0.0, "0"),
            (5.0, "5"),
            (0.1, "0.1"),
            (1e6, "1e+06"),
            (123_456.0, "123456"),
            (1_234_567.0, "1.234567e+06"),
            (0.000_01, "1e-05"),
            (2.5e-7, "2.5e-07"),
            (1e100, "1e+100"),
        ];
        for (value, text) in cases {
            assert_eq!(double(value), text, "{value}");
        }
    }

    #[test]
    fn text_is_quoted_as_percent_q_quotes_it() {
        assert_eq!(
            quote("a\"\\\n\u{7f}é\u{200b}\u{a0}😀"),
            "\"a\\\"\\\\\\n\\x7fé\\u200b\\u00a0😀\""
        );
        assert_eq!(quote("e\u{301}"), "\"e\u{301}\"");
        assert_eq!(quote_all(["a", "b"]), "\"a\", \"b\"");
    }
}
