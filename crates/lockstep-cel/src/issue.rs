//! Compile-time issues of an expression, and their rendering.

use crate::source::{Position, Source};
use std::fmt;

/// The step that refused the expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Syntax error.
    Parse,
    /// The expression does not fit the environment's types and functions.
    Check,
    /// A constant part of the expression already fails.
    Program,
    /// The result type is not the one required by the context.
    ResultType,
}

/// One fault of an expression, with the place it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The step that found it.
    pub phase: Phase,
    /// Position; none if the issue concerns the whole expression.
    pub position: Option<Position>,
    /// The message, without position.
    pub message: String,
    snippet: Option<Box<str>>,
}

impl Issue {
    pub(crate) fn at(
        phase: Phase,
        source: &Source,
        offset: u32,
        message: impl Into<String>,
    ) -> Self {
        let position = source.position(offset);
        let snippet = source.line(position.line).map(Into::into);
        Self {
            phase,
            position: Some(position),
            message: message.into(),
            snippet,
        }
    }

    pub(crate) fn whole(phase: Phase, message: impl Into<String>) -> Self {
        Self {
            phase,
            position: None,
            message: message.into(),
            snippet: None,
        }
    }
}

impl fmt::Display for Issue {
    /// `ERROR: <input>:L:C: message`, the source line and a caret under the place.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(Position { line, column }) = self.position else {
            return write!(f, "ERROR: <input>:-1:0: {}", self.message);
        };
        write!(f, "ERROR: <input>:{line}:{column}: {}", self.message)?;
        match &self.snippet {
            Some(text) => write!(
                f,
                "\n | {}\n | {}",
                text.replace('\t', " "),
                pointer(text, column)
            ),
            None => Ok(()),
        }
    }
}

/// Dots up to the column and a caret; characters beyond ASCII get wide ones, as they are often shown wide.
fn pointer(line: &str, column: u32) -> String {
    let wide = |c: char| !c.is_ascii();
    let before = line.chars().take(column.saturating_sub(1) as usize);
    let dots: String = before.map(|c| if wide(c) { '．' } else { '.' }).collect();
    let at = line.chars().nth(column.saturating_sub(1) as usize);
    dots + if at.is_some_and(wide) { "＾" } else { "^" }
}

/// All issues as one text, a block for each, in the order given.
pub fn render(issues: &[Issue]) -> String {
    issues
        .iter()
        .map(Issue::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_points_into_its_line() {
        let source = Source::new("1 +\n a.b");
        let issue = Issue::at(Phase::Check, &source, 6, "undefined field 'b'");
        let text = "ERROR: <input>:2:3: undefined field 'b'\n |  a.b\n | ..^";
        assert_eq!(issue.to_string(), text);
        let wide = Source::new("é+ä");
        let issue_of_wide = Issue::at(Phase::Check, &wide, 3, "x");
        assert_eq!(
            issue_of_wide.to_string(),
            "ERROR: <input>:1:3: x\n | é+ä\n | ．.＾"
        );
        let deep = Issue::whole(Phase::Parse, "expression recursion limit exceeded: 250");
        let both =
            "ERROR: <input>:-1:0: expression recursion limit exceeded: 250\n".to_owned() + text;
        assert_eq!(render(&[deep, issue]), both);
    }
}
