//! `Warning` headers.

use http::HeaderValue;

/// Longest total of all warnings in a response, in characters.
const WARNINGS_CHARS_MAX: usize = 4096;
/// Length to which each warning is truncated if the total is too long.
const WARNING_CHARS_MAX: usize = 256;

/// Encodes each warning as `299 - "text"`. If the total is too long, each warning is truncated and the last ones are
/// dropped.
pub(super) fn headers(warnings: &[String]) -> Vec<HeaderValue> {
    let length = |text: &str| text.chars().count();
    let total: usize = warnings.iter().map(|warning| length(warning)).sum();
    let each = if total > WARNINGS_CHARS_MAX {
        WARNING_CHARS_MAX
    } else {
        WARNINGS_CHARS_MAX
    };
    let mut left = WARNINGS_CHARS_MAX;
    let mut headers = Vec::new();
    for warning in warnings {
        let text = cut(warning, each);
        if text.is_empty() || length(text) > left {
            continue;
        }
        left -= length(text);
        let value = HeaderValue::from_str(&format!("299 - {}", quoted(text)));
        headers.extend(value.ok());
    }
    headers
}

/// First characters of a text.
fn cut(text: &str, chars_max: usize) -> &str {
    let end = text.char_indices().nth(chars_max);
    &text[..end.map_or(text.len(), |(end, _)| end)]
}

/// Encodes an HTTP quoted-string; unprintable characters are escaped.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character.is_control() => {
                // The escape's own backslash has to survive the quoting.
                for escaped in character.escape_default() {
                    if escaped == '\\' {
                        quoted.push('\\');
                    }
                    quoted.push(escaped);
                }
            }
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(warnings: &[&str]) -> Vec<String> {
        let warnings: Vec<String> = warnings.iter().map(|&text| text.to_owned()).collect();
        let text = |value: HeaderValue| String::from_utf8(value.as_bytes().to_vec()).unwrap();
        headers(&warnings).into_iter().map(text).collect()
    }

    /// api-machinery.md §4/warnings.
    /// field-gates.md §6/header.
    #[test]
    fn a_warning_is_a_quoted_string() {
        assert_eq!(shown(&["plain"]), ["299 - \"plain\""]);
        assert_eq!(shown(&["say \"a\\b\""]), ["299 - \"say \\\"a\\\\b\\\"\""]);
        assert_eq!(
            shown(&["two\nlines\u{7f}"]),
            ["299 - \"two\\\\nlines\\\\u{7f}\""]
        );
        assert_eq!(shown(&["größer"]), ["299 - \"größer\""]);
        assert_eq!(shown(&[""]), Vec::<String>::new());
    }

    /// field-gates.md §6/header: characters are counted, not bytes.
    #[test]
    fn too_much_text_cuts_every_warning_and_drops_the_last() {
        let whole = "ä".repeat(4096);
        assert_eq!(shown(&[&whole]), [format!("299 - \"{whole}\"")]);
        let long = "ä".repeat(2000);
        let texts: Vec<String> = (0..20).map(|index| format!("{index:02}{long}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let shown = shown(&texts);
        let cut = |at: usize| format!("299 - \"{at:02}{}\"", "ä".repeat(254));
        assert_eq!(shown, (0..16).map(cut).collect::<Vec<_>>());
    }
}
