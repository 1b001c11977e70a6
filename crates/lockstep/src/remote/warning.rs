//! `Warning` headers: `299 - "text"`.

/// The text of a warning that a server sends to people; none of those of proxies.
pub(super) fn text(header: &str) -> Option<String> {
    let quoted = header.trim().strip_prefix("299 ")?;
    let (_, quoted) = quoted.split_once(' ')?;
    let mut text = String::new();
    let mut characters = quoted.strip_prefix('"')?.chars();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn the_text_between_quotes_is_told() {
        let told = |header| text(header).unwrap_or_else(|| "nothing".to_owned());
        assert_eq!(told(r#"299 - "a \"b\" \\ c""#), r#"a "b" \ c"#);
        assert_eq!(
            told(r#"299 lockstep "spec.x: dropped" "date""#),
            "spec.x: dropped"
        );
        for odd in [
            r#"110 - "stale""#,
            "299 -",
            r#"299 - "open"#,
            "299 - text",
            "",
        ] {
            assert_eq!(told(odd), "nothing", "{odd}");
        }
    }
}
