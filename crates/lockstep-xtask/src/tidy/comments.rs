//! Comments of Rust files with their lines, read from the text since tokens do not carry them.

/// One line of comment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Comment {
    /// Counted from one.
    pub(super) line: usize,
    /// Text behind the mark, trimmed.
    pub(super) text: String,
    /// True for the first line of a comment: the line above is not a comment of this kind.
    pub(super) opens: bool,
}

/// Line comments (`//`, `///`, `//!`) in the order of the file. Block comments are not used in this repository.
pub(super) fn comments(text: &str) -> Vec<Comment> {
    let mut found: Vec<Comment> = Vec::new();
    let mut above: Option<&str> = None;
    let mut literal = Literal::None;
    for (index, line) in text.lines().enumerate() {
        let Some(at) = comment_start(line, &mut literal) else {
            above = None;
            continue;
        };
        let comment = &line[at..];
        let mark = ["///", "//!", "//"]
            .into_iter()
            .find(|mark| comment.starts_with(mark));
        let mark = mark.unwrap_or("//");
        let is_alone = line[..at].trim().is_empty();
        found.push(Comment {
            line: index + 1,
            text: comment[mark.len()..].trim().to_owned(),
            opens: !is_alone || above != Some(mark),
        });
        above = is_alone.then_some(mark);
    }
    found
}

/// String literal that the end of a line leaves open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Literal {
    None,
    Quoted,
    /// Raw, with this number of `#`.
    Raw(usize),
}

/// Byte offset of `//` outside of string and character literals.
fn comment_start(line: &str, literal: &mut Literal) -> Option<usize> {
    let mut at = 0;
    while at < line.len() {
        let rest = &line[at..];
        let step = match *literal {
            Literal::Quoted if rest.starts_with('\\') => {
                1 + rest[1..].chars().next().map_or(0, char::len_utf8)
            }
            Literal::Quoted | Literal::Raw(_) => {
                let end = match *literal {
                    Literal::Raw(hashes) => format!("\"{}", "#".repeat(hashes)),
                    _ => "\"".to_owned(),
                };
                if rest.starts_with(&end) {
                    *literal = Literal::None;
                    end.len()
                } else {
                    first_len(rest)
                }
            }
            Literal::None if rest.starts_with("//") => return Some(at),
            Literal::None => skip(rest, &line[..at], literal),
        };
        at += step;
    }
    None
}

/// Length of the next piece of code, which may open a literal.
fn skip(rest: &str, before: &str, literal: &mut Literal) -> usize {
    let is_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    if rest.starts_with('"') {
        *literal = Literal::Quoted;
        return 1;
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'));
    if let Some(raw) = raw.filter(|_| !is_word) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            *literal = Literal::Raw(hashes);
            return rest.len() - raw.len() + hashes + 1;
        }
    }
    if let Some(inner) = rest.strip_prefix('\'') {
        let escaped = usize::from(inner.starts_with('\\'));
        let character = inner[escaped..].chars().next().map_or(0, char::len_utf8);
        if inner[escaped + character..].starts_with('\'') {
            return 2 + escaped + character;
        }
    }
    first_len(rest)
}

fn first_len(rest: &str) -> usize {
    rest.chars().next().map_or(1, char::len_utf8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, String, bool)> {
        let comments = comments(text).into_iter();
        comments
            .map(|one| (one.line, one.text, one.opens))
            .collect()
    }

    fn row(line: usize, text: &str, opens: bool) -> (usize, String, bool) {
        (line, text.to_owned(), opens)
    }

    #[test]
    fn each_line_of_a_comment_is_found_and_the_first_one_opens_it() {
        let text = "//! A.\n//! B.\n\n/// C.\n/// D.\nfn a() {} // E.\n// F.\n";
        assert_eq!(
            found(text),
            [
                row(1, "A.", true),
                row(2, "B.", false),
                row(4, "C.", true),
                row(5, "D.", false),
                row(6, "E.", true),
                row(7, "F.", true),
            ]
        );
    }

    #[test]
    fn slashes_inside_of_literals_are_no_comment() {
        let text = "let a = \"// \\\" //\";\nlet b = r#\"x\" // \"# ; // A.\nlet c = '\"'; // B.\n\
                    let d = \"open\n// inside\nend\"; let e: &'static str = x; // C.\n";
        assert_eq!(
            found(text),
            [row(2, "A.", true), row(3, "B.", true), row(6, "C.", true)]
        );
    }
}
