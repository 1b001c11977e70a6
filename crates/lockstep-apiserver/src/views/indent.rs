//! Indented JSON.

/// Indents JSON by two spaces per level; none if the result exceeds `bytes_max`.
pub(super) fn indented(json: &[u8], bytes_max: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len() + json.len() / 2);
    let mut depth: usize = 0;
    let mut is_in_text = false;
    let mut is_escaped = false;
    let mut is_just_open = false;
    for &byte in json {
        if is_in_text {
            out.push(byte);
            is_in_text = is_escaped || byte != b'"';
            is_escaped = !is_escaped && byte == b'\\';
            continue;
        }
        if byte.is_ascii_whitespace() {
            continue;
        }
        let is_close = matches!(byte, b'}' | b']');
        if is_close {
            depth = usize::saturating_sub(depth, 1);
        }
        if is_just_open != is_close {
            new_line(depth, &mut out);
        }
        is_just_open = matches!(byte, b'{' | b'[');
        match byte {
            b'{' | b'[' => depth += 1,
            b'"' => is_in_text = true,
            _ => {}
        }
        out.push(byte);
        match byte {
            b',' => new_line(depth, &mut out),
            b':' => out.push(b' '),
            _ => {}
        }
        if out.len() > bytes_max {
            return None;
        }
    }
    Some(out)
}

fn new_line(depth: usize, out: &mut Vec<u8>) {
    out.push(b'\n');
    out.resize(out.len() + 2 * depth, b' ');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        let bytes = indented(json.as_bytes(), 1000).expect("it is short");
        String::from_utf8(bytes).expect("it is text")
    }

    /// api-machinery.md §3: two-space indent
    #[test]
    fn json_is_indented_as_serde_does_and_texts_stay_as_they_are() {
        for json in [
            "{}",
            "[]",
            r#"{"a":[],"b":{},"c":[1,-2.5,true,null]}"#,
            r#"{"a\"}":"{\\\",:[","b":[[{"c":"\\"}],[[]]]}"#,
            r#""text""#,
            "7",
        ] {
            let value: serde_json::Value = serde_json::from_str(json).expect("it is JSON");
            assert_eq!(shown(json), format!("{value:#}"), "{json}");
        }
        assert_eq!(shown(r#"{"a" : "\u003c" }"#), "{\n  \"a\": \"\\u003c\"\n}");
    }

    #[test]
    fn what_grows_beyond_the_limit_is_not_indented() {
        let deep = "[".repeat(300) + &"]".repeat(300);
        assert_eq!(indented(deep.as_bytes(), 1000), None);
    }
}
