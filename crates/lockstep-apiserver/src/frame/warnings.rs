//! `Warning` headers.

use http::HeaderValue;

use super::cut;

/// All warnings of an answer together.
const WARNINGS_BYTES_MAX: usize = 4096;
/// Each of them, once all together are too long.
const WARNING_BYTES_MAX: usize = 256;

/// `299 - "text"` for each warning. When they are too long together, each is cut short and the last
/// ones are left out.
pub(super) fn headers(warnings: &[String]) -> Vec<HeaderValue> {
    let total: usize = warnings.iter().map(String::len).sum();
    let each = if total > WARNINGS_BYTES_MAX {
        WARNING_BYTES_MAX
    } else {
        WARNINGS_BYTES_MAX
    };
    let mut left = WARNINGS_BYTES_MAX;
    let mut headers = Vec::new();
    for warning in warnings {
        let text = cut(warning, each);
        if text.is_empty() || text.len() > left {
            continue;
        }
        left -= text.len();
        let value = HeaderValue::from_str(&format!("299 - {}", quoted(text)));
        headers.extend(value.ok());
    }
    headers
}

/// A quoted string of HTTP; what cannot be printed is escaped.
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

    #[test]
    fn too_many_bytes_cut_every_warning_and_drop_the_last() {
        let long = "ä".repeat(2000);
        let texts: Vec<String> = (0..20).map(|index| format!("{index:02}{long}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let shown = shown(&texts);
        assert_eq!(shown.len(), 16);
        assert!(
            shown
                .iter()
                .all(|header| header.len() == 256 + "299 - \"\"".len())
        );
        assert!(shown[0].starts_with("299 - \"00ä"));
    }
}
