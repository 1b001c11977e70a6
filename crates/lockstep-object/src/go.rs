//! Go text formats that are part of the API contract, such as `%q`.

use std::fmt::Write as _;

/// A double as `encoding/json` prints it.
pub fn json_double(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        scientific(value, 1)
    } else {
        format!("{value}")
    }
}

/// A double as `%v` prints it: `1e+06`.
pub fn double(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e6).contains(&size) {
        scientific(value, 2)
    } else {
        format!("{value}")
    }
}

/// Mantissa, sign, and at least `digits` digits of exponent.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{exponent:0>digits$}")
}

/// Text in double quotes, as `%q` prints it.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\x07' => quoted.push_str("\\a"),
            '\x08' => quoted.push_str("\\b"),
            '\x0c' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\x0b' => quoted.push_str("\\v"),
            _ if is_printable(character) => quoted.push(character),
            _ => push_code_point(&mut quoted, character),
        }
    }
    quoted.push('"');
    quoted
}

/// Texts as `%q` prints a list of them, without brackets: `"a", "b"`.
pub fn quote_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(quote).collect();
    quoted.join(", ")
}

/// True if `%q` prints a character unescaped.
pub fn is_printable(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // Go does not print whitespace other than the plain space. `escape_debug` decides the rest; the `a` in front keeps
    // it from escaping a combining mark.
    let marked: String = ['a', character].iter().collect();
    !character.is_whitespace() && marked.escape_debug().count() == 2
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
