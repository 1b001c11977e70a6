//! Positions in manifests: from a field, and a place in its expression, to line and column of the file.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use crate::manifests::Source;

/// A position in a file, from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// The shape of a document, with the places of its values.
enum Node {
    Map(Vec<(String, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Leaf,
}

/// The position of a field such as `spec.mutations[0].apply`, or of a place inside its text. If the field does not
/// exist, its closest parent is found.
pub(super) fn find(source: &Source, field: &str, inside: Option<Position>) -> Option<Position> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    let root: Spanned<Node> = serde_saphyr::from_str_with_options(&source.text, options).ok()?;
    let mut steps = Vec::new();
    if let Some(item) = source.item {
        steps.push(Step::Name("items"));
        steps.push(Step::Index(item));
    }
    steps.extend(self::steps(field));
    let mut node = &root;
    let mut is_whole = true;
    for step in steps {
        let below = match (&node.value, step) {
            (Node::Map(entries), Step::Name(name)) => {
                let found = entries.iter().find(|(key, _)| key == name);
                found.map(|(_, value)| value)
            }
            (Node::List(items), Step::Index(index)) => items.get(index),
            _ => None,
        };
        let Some(below) = below else {
            is_whole = false;
            break;
        };
        node = below;
    }
    let at = Position {
        line: usize::try_from(node.referenced.line()).ok()?,
        column: usize::try_from(node.referenced.column()).ok()?,
    };
    let position = match inside.filter(|_| is_whole) {
        Some(inside) => within(&source.text, at, inside),
        None => at,
    };
    Some(Position {
        line: position.line + source.lines_before,
        ..position
    })
}

enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

fn steps(field: &str) -> impl Iterator<Item = Step<'_>> {
    field.split(['.', '[']).filter_map(|part| {
        let index = part.strip_suffix(']').and_then(|part| part.parse().ok());
        match index {
            Some(index) => Some(Step::Index(index)),
            None if part.is_empty() => None,
            None => Some(Step::Name(part)),
        }
    })
}

/// The position in the document of a place inside a scalar that starts at `at`.
fn within(text: &str, at: Position, inside: Position) -> Position {
    let lines: Vec<&str> = text.lines().collect();
    let start = lines.get(at.line - 1).copied().unwrap_or_default();
    let first = start.chars().nth(at.column - 1);
    // The parser may name the indicator of a block, or the first line of its text.
    let before: String = start.chars().take(at.column.saturating_sub(1)).collect();
    let is_block = matches!(first, Some('|' | '>'));
    let above = lines
        .get(at.line.wrapping_sub(2))
        .copied()
        .unwrap_or_default()
        .trim_end();
    let is_below_indicator = before.trim().is_empty()
        && [":", "-"].iter().any(|_| {
            let indicator = above.rsplit(' ').next().unwrap_or_default();
            indicator.starts_with(['|', '>'])
        });
    if !is_block && !is_below_indicator {
        let quote = usize::from(matches!(first, Some('"' | '\'')));
        return Position {
            line: at.line + inside.line - 1,
            column: match inside.line {
                1 => at.column + quote + inside.column - 1,
                _ => inside.column,
            },
        };
    }
    let first_line = if is_block { at.line + 1 } else { at.line };
    let indicator = if is_block {
        first
    } else {
        above.rsplit(' ').next().and_then(|it| it.chars().next())
    };
    let content = lines.get(first_line - 1..).unwrap_or_default();
    let indent = content
        .iter()
        .find(|line| !line.trim().is_empty())
        .map_or(0, |line| line.len() - line.trim_start().len());
    if indicator == Some('|') {
        return Position {
            line: first_line + inside.line - 1,
            column: indent + inside.column,
        };
    }
    // Folding makes one line of several: each line end is one space.
    let mut left = inside.column - 1;
    for (offset, line) in content.iter().enumerate() {
        let length = line.chars().count().saturating_sub(indent);
        if left <= length {
            return Position {
                line: first_line + offset,
                column: indent + left + 1,
            };
        }
        left -= length + 1;
    }
    at
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            entries.push((key, map.next_value()?));
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, field: &str, inside: Option<(usize, usize)>) -> Option<(usize, usize)> {
        let source = Source {
            text: text.into(),
            lines_before: 10,
            item: None,
            duplicates: [].into(),
        };
        let inside = inside.map(|(line, column)| Position { line, column });
        find(&source, field, inside).map(|found| (found.line, found.column))
    }

    /// ux.md §7: positions are those of the file, also inside of block scalars.
    #[test]
    fn positions_are_those_of_the_file_in_every_style_of_scalar() {
        let text = "spec:\n  a: object.x\n  b: 'object.x'\n  c: |\n    one\n    two.x\n  d: >\n    one\n    two.x\n  e:\n  - f: 1\n";
        assert_eq!(at(text, "spec.a", Some((1, 7))), Some((12, 12)));
        assert_eq!(at(text, "spec.b", Some((1, 7))), Some((13, 13)));
        assert_eq!(at(text, "spec.c", Some((2, 4))), Some((16, 8)));
        assert_eq!(at(text, "spec.d", Some((1, 8))), Some((19, 8)));
        assert_eq!(at(text, "spec.e[0].f", None), Some((21, 8)));
        assert_eq!(at(text, "spec.e[0].g", None), Some((21, 5)));
    }
}
