//! Source text, and the conversion of byte offsets to line and column.

/// Position in the source text: line and column in code points, counted from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from one.
    pub line: u32,
    /// The column, from one.
    pub column: u32,
}

/// The text of one expression with the offsets of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    text: Box<str>,
    line_starts: Box<[u32]>,
}

impl Source {
    /// Takes a copy of the text; texts over 4 GiB do not occur because the parser limits them first.
    pub fn new(text: &str) -> Self {
        let newlines = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n');
        let starts = std::iter::once(0).chain(newlines.map(|(at, _)| offset(at) + 1));
        Self {
            line_starts: starts.collect(),
            text: text.into(),
        }
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The position of a byte offset; an offset past the end is the position after the last character.
    pub fn position(&self, at: u32) -> Position {
        let line = self
            .line_starts
            .partition_point(|&start| start <= at)
            .saturating_sub(1);
        let start = self.line_starts[line] as usize;
        let end = (at as usize).min(self.text.len()).max(start);
        let column = self
            .text
            .get(start..end)
            .map_or(0, |before| before.chars().count());
        Position {
            line: offset(line) + 1,
            column: offset(column) + 1,
        }
    }

    /// The text of a line counted from one, without its line break.
    pub fn line(&self, line: u32) -> Option<&str> {
        self.text.split('\n').nth(line.checked_sub(1)? as usize)
    }
}

/// Offsets fit because expressions are limited to 100,000 code points.
pub(crate) fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_code_points_from_one() {
        let source = Source::new("é+\nbß.c");
        let at = |needle: &str| source.position(offset(source.text().find(needle).unwrap()));
        assert_eq!(at("+"), Position { line: 1, column: 2 });
        assert_eq!(at("."), Position { line: 2, column: 3 });
        assert_eq!(source.position(999), Position { line: 2, column: 5 });
        assert_eq!(source.line(2), Some("bß.c"));
    }
}
