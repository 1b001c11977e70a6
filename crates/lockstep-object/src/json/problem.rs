//! Syntax error messages for invalid JSON, in the wording of Go's decoder.

/// The text about a failure of the reader of `bytes`.
pub(super) fn problem(error: &serde_json::Error, bytes: &[u8]) -> String {
    let text = error.to_string();
    if text.starts_with("EOF while parsing") {
        return "unexpected end of JSON input".to_owned();
    }
    let Some((at, found)) = place(error, bytes) else {
        return text;
    };
    let where_ = match text.split(" at line ").next().unwrap_or_default() {
        "expected value" => "looking for beginning of value",
        "trailing comma" if found == b']' => "looking for beginning of value",
        "key must be a string" | "trailing comma" => "looking for beginning of object key string",
        "expected `:`" => "after object key",
        "expected `,` or `}`" => "after object key:value pair",
        "expected `,` or `]`" => "after array element",
        "trailing characters" => "after top-level value",
        "invalid escape" => "in string escape code",
        "invalid number" => "in numeric literal",
        "control character (\\u0000-\\u001F) found while parsing a string" => "in string literal",
        "expected ident" => return in_word(bytes, at, found).unwrap_or(text),
        _ => return text,
    };
    format!("invalid character {} {where_}", quoted(found))
}

/// The byte at which the reader stopped.
fn place(error: &serde_json::Error, bytes: &[u8]) -> Option<(usize, u8)> {
    let before = bytes.split_inclusive(|byte| *byte == b'\n');
    let start: usize = before
        .take(error.line().checked_sub(1)?)
        .map(<[u8]>::len)
        .sum();
    // At the beginning of a line, the end of the one before.
    let at = (start + error.column()).checked_sub(1)?;
    Some((at, *bytes.get(at)?))
}

/// A word that begins like `true`, `false` or `null`.
fn in_word(bytes: &[u8], at: usize, found: u8) -> Option<String> {
    let read = bytes.get(..at)?;
    let letters = read
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_lowercase());
    let start = read.get(at - letters.count()..)?;
    let words = ["true", "false", "null"].into_iter();
    let word = words.into_iter().find(|word| {
        let word = word.as_bytes();
        !start.is_empty() && word.len() > start.len() && word.starts_with(start)
    })?;
    let expected = *word.as_bytes().get(start.len())?;
    Some(format!(
        "invalid character {} in literal {word} (expecting {})",
        quoted(found),
        quoted(expected)
    ))
}

fn quoted(byte: u8) -> String {
    match byte {
        b'"' => "'\"'".to_owned(),
        b'\'' => "'\\''".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        0x20..=0x7e => format!("'{}'", char::from(byte)),
        _ => format!("'\\x{byte:02x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::decode;

    /// api-machinery.md §5: the texts are those of upstream's reader.
    #[test]
    fn problems_are_told_in_the_words_that_clients_know() {
        for (document, expected) in [
            ("", "unexpected end of JSON input"),
            (r#"{"a":"#, "unexpected end of JSON input"),
            (
                "hush",
                "invalid character 'h' looking for beginning of value",
            ),
            (
                "[1,]",
                "invalid character ']' looking for beginning of value",
            ),
            (
                "{\n  \"a\":1,\n}",
                "invalid character '}' looking for beginning of object key string",
            ),
            (
                "{a:1}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            (r#"{"a" 1}"#, "invalid character '1' after object key"),
            (
                r#"{"a":1 "b":2}"#,
                "invalid character '\"' after object key:value pair",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            (r#""\q""#, "invalid character 'q' in string escape code"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            (
                "[trux]",
                "invalid character 'x' in literal true (expecting 'e')",
            ),
            ("[-x]", "invalid character 'x' in numeric literal"),
        ] {
            let actual = decode(document.as_bytes()).map_err(|error| error.to_string());
            assert_eq!(actual.err().as_deref(), Some(expected), "{document}");
        }
    }
}
