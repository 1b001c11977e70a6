//! Lines of a script: JSON is broken where it is too wide, and joined again before it is sent.
//!
//! Continuation lines are indented. A break inside a string is marked by a backslash at the end of the
//! line; every other break is between two tokens, so joining the trimmed lines gives the original bytes.

/// Widest line, in characters.
const WIDTH: usize = 120;
/// Widest value that shares its line with the values around it.
const INLINE: usize = 60;

/// Breaks a line that is too wide, and indents all of it but its first line. `start` is the text before the JSON.
pub(crate) fn broken(start: &str, text: &str) -> String {
    let whole = format!("{start}{text}");
    if width(&whole) <= WIDTH {
        return whole;
    }
    let mut lines = vec![String::new()];
    match Node::parse(text) {
        Some(node) => {
            push_text(&mut lines, start, 2);
            node.write(&mut lines, 0);
        }
        None => push_text(&mut lines, &whole, 2),
    }
    lines.join("\n")
}

/// Undoes [`broken`]: `first` and the indented lines below it.
pub(crate) fn joined<'a>(first: &str, more: impl Iterator<Item = &'a str>) -> String {
    let mut text = first.to_owned();
    for line in more {
        if text.ends_with('\\') {
            text.pop();
        }
        text.push_str(line.trim_start());
    }
    text
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// Appends text that is no JSON, with a backslash at each break.
fn push_text(lines: &mut Vec<String>, text: &str, indent: usize) {
    let characters: Vec<char> = text.chars().collect();
    let mut from = 0;
    while from < characters.len() {
        let line = lines.last_mut().expect("there is a line");
        let room = (WIDTH - 1).saturating_sub(width(line)).max(20);
        let mut to = characters.len().min(from + room);
        // Spaces at a break would be lost, and a backslash there would be taken for a mark.
        let is_bad = |at: usize| {
            characters[at - 1] == '\\' || characters[at - 1] == ' ' || characters[at] == ' '
        };
        while to < characters.len() && to > from + 1 && is_bad(to) {
            to -= 1;
        }
        line.extend(&characters[from..to]);
        from = to;
        if from < characters.len() {
            line.push('\\');
            lines.push(" ".repeat(indent));
        }
    }
}

/// A JSON value as it is spelt.
enum Node<'a> {
    Scalar(&'a str),
    /// The brackets, and the members with their keys.
    Container(char, Vec<(&'a str, Node<'a>)>, char),
}

impl<'a> Node<'a> {
    /// None unless the text is one JSON value without spaces between its tokens.
    fn parse(text: &'a str) -> Option<Self> {
        let mut rest = text;
        let node = Self::read(&mut rest)?;
        rest.is_empty().then_some(node)
    }

    fn read(rest: &mut &'a str) -> Option<Self> {
        let open = rest.chars().next()?;
        let close = match open {
            '{' => '}',
            '[' => ']',
            _ => return scalar(rest).map(Self::Scalar),
        };
        *rest = &rest[1..];
        let mut members = Vec::new();
        while !rest.starts_with(close) {
            if !members.is_empty() {
                *rest = rest.strip_prefix(',')?;
            }
            let mut key = "";
            if open == '{' {
                let before = *rest;
                scalar(rest)?;
                *rest = rest.strip_prefix(':')?;
                key = &before[..before.len() - rest.len()];
            }
            members.push((key, Self::read(rest)?));
        }
        *rest = &rest[1..];
        Some(Self::Container(open, members, close))
    }

    fn compact(&self) -> String {
        match self {
            Self::Scalar(text) => (*text).to_owned(),
            Self::Container(open, members, close) => {
                let members = members
                    .iter()
                    .map(|(key, node)| format!("{key}{}", node.compact()));
                format!("{open}{}{close}", members.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// Writes at the end of the last line; members of a broken container are indented by two.
    fn write(&self, lines: &mut Vec<String>, indent: usize) {
        let compact = self.compact();
        let at = lines.last().map_or(0, |line| width(line));
        // One more for the comma.
        if at + width(&compact) < WIDTH {
            lines
                .last_mut()
                .expect("there is a line")
                .push_str(&compact);
            return;
        }
        let Self::Container(open, members, close) = self else {
            return push_text(lines, &compact, indent + 2);
        };
        lines.last_mut().expect("there is a line").push(*open);
        let mut may_share = false;
        for (nth, (key, node)) in members.iter().enumerate() {
            if nth > 0 {
                lines.last_mut().expect("there is a line").push(',');
            }
            let compact = width(key) + width(&node.compact());
            let is_small = compact <= INLINE;
            let at = lines.last().map_or(0, |line| width(line));
            if !(may_share && is_small && at + compact < WIDTH) {
                lines.push(" ".repeat(indent + 2));
            }
            may_share = is_small;
            lines.last_mut().expect("there is a line").push_str(key);
            node.write(lines, indent + 2);
        }
        lines.last_mut().expect("there is a line").push(*close);
    }
}

/// Takes a string, number or word.
fn scalar<'a>(rest: &mut &'a str) -> Option<&'a str> {
    let end = if rest.starts_with('"') {
        let mut is_escaped = false;
        let mut characters = rest.char_indices().skip(1);
        let (end, _) = characters.find(|(_, character)| {
            let ends = *character == '"' && !is_escaped;
            is_escaped = *character == '\\' && !is_escaped;
            ends
        })?;
        end + 1
    } else {
        rest.find([',', '}', ']', ':', ' ', '{', '[', '"'])
            .unwrap_or(rest.len())
    };
    let (text, left) = rest.split_at(end);
    *rest = left;
    (!text.is_empty()).then_some(text)
}

#[test]
fn breaking_and_joining_gives_the_same_request() {
    let long = format!(
        "{{\"a\":[1,2,{{}}],\"b\":\"{}\",\"c\":{{\"d\":\"{}\"}}}}",
        "x \\\"y ".repeat(60),
        "z".repeat(90)
    );
    for body in [
        long.as_str(),
        "a: b\\n  c: d   e\\n",
        "{ \"spaced\": 1 }",
        "{",
    ] {
        for body in [body.to_owned(), body.repeat(40)] {
            let shown = broken("> POST /api/v1/namespaces ", &body);
            assert!(
                shown.lines().all(|line| line.chars().count() <= 160),
                "{shown}"
            );
            let mut lines = shown.lines();
            let first = lines.next().expect("there is a line");
            assert_eq!(
                joined(first, lines),
                format!("> POST /api/v1/namespaces {body}")
            );
        }
    }
}
