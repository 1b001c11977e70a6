//! Plain technical English: openings and words that comments and documents avoid, and the length of their lines.

use super::SourceFile;
use super::comments::comments;
use super::finding::Finding;

/// Openings without the standard term as their subject.
const OPENINGS: [&str; 5] = ["What", "Who", "Whoever", "How", "The same"];

/// Words that hide which component acts. Each is written in two parts, so this file passes its own check.
const WORDS: [&str; 4] = [
    concat!("no", "body"),
    concat!("some", "body"),
    concat!("who", "ever"),
    concat!("an", "ew"),
];

/// Longest line of a document, in characters.
const LINE_MAX: usize = 120;

/// Every finding of this module over the tree.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let words = files.iter().flat_map(check_words);
    words.chain(files.iter().flat_map(check_lines)).collect()
}

/// Openings and words of one file.
fn check_words(file: &SourceFile) -> Vec<Finding> {
    if file.is_generated() || file.is_fixture() {
        return Vec::new();
    }
    let is_document = file.has_extension(&["md"]) && !file.path.starts_with("crates/");
    if is_document {
        let prose = outside_code(&file.text).into_iter();
        return prose
            .flat_map(|(line, text)| words(file, line, text))
            .collect();
    }
    if !file.has_extension(&["rs"]) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for comment in comments(&file.text) {
        if comment.opens {
            findings.extend(opening(file, comment.line, &comment.text));
        }
        findings.extend(words(file, comment.line, &comment.text));
    }
    findings
}

fn opening(file: &SourceFile, line: usize, text: &str) -> Option<Finding> {
    let opens = |word: &&&str| {
        let rest = text.strip_prefix(**word);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let word = OPENINGS.iter().find(opens)?;
    let what = format!("a comment opens with `{word}`");
    let remedy = "begin with the standard term as the subject of a sentence";
    Some(Finding::problem(&file.path, line, what, remedy))
}

fn words(file: &SourceFile, line: usize, text: &str) -> Vec<Finding> {
    let lower = text.to_lowercase();
    let used: Vec<_> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let found = WORDS.iter().filter(|word| used.contains(word)).map(|word| {
        let remedy = "name the component, or say what it does";
        Finding::problem(&file.path, line, format!("says `{word}`"), remedy)
    });
    found.collect()
}

/// Lines of documents that are too long. Tables, code and links cannot be broken.
fn check_lines(file: &SourceFile) -> Vec<Finding> {
    if !file.has_extension(&["md"]) || file.is_fixture() {
        return Vec::new();
    }
    let is_breakable = |text: &str| {
        let is_link = text.contains("](") || text.contains("]: ") || text.contains("://");
        !text.starts_with('|') && !is_link && text.trim().contains(' ')
    };
    let prose = outside_code(&file.text).into_iter();
    let long = prose.filter(|(_, text)| is_breakable(text) && text.chars().count() > LINE_MAX);
    let finding = |(line, text): (usize, &str)| {
        let what = format!("has a line of {} characters", text.chars().count());
        Finding::problem(&file.path, line, what, format!("wrap it at {LINE_MAX}"))
    };
    long.map(finding).collect()
}

/// Lines outside of fenced code, with their numbers.
pub(super) fn outside_code(text: &str) -> Vec<(usize, &str)> {
    let mut is_code = false;
    let outside = text.lines().enumerate().filter(|(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    outside.map(|(index, line)| (index + 1, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, shown};

    fn in_comment(text: &str) -> Vec<String> {
        shown(check_words(&file("crates/x/src/a.rs", text)))
    }

    #[test]
    fn a_comment_that_opens_with_a_question_word_is_found() {
        for opening in OPENINGS {
            for mark in ["//", "///", "//!"] {
                let expected = format!(
                    "crates/x/src/a.rs:1: a comment opens with `{opening}`; begin with the standard term as the \
                     subject of a sentence"
                );
                let found = in_comment(&format!("{mark} {opening} is it.\n"));
                assert_eq!(found.first(), Some(&expected));
            }
        }
        assert_eq!(in_comment("/// A value.\n/// What it is.\n"), [""; 0]);
        assert_eq!(
            in_comment("/// However, Whole, `What`.\nlet a = \"// What\";\n"),
            [""; 0]
        );
    }

    #[test]
    fn a_word_that_hides_the_component_is_found_in_comments_and_documents() {
        for word in WORDS {
            let expected = |place: &str| {
                [format!(
                    "{place}: says `{word}`; name the component, or say what it does"
                )]
            };
            let text = format!("/// A value.\n/// It is {word}.\n");
            assert_eq!(in_comment(&text), expected("crates/x/src/a.rs:2"));
            let capital = word[..1].to_uppercase() + &word[1..];
            let document = file("docs/a.md", &format!("{capital}, so\n```\n{word}\n```\n"));
            assert_eq!(shown(check_words(&document)), expected("docs/a.md:1"));
            assert_eq!(
                in_comment(&format!("let a = \"{word}\"; // {word}s\n")),
                [""; 0]
            );
            let transcript = file("crates/x/tests/cmd/a.md", word);
            assert_eq!(check_words(&transcript), []);
        }
    }

    #[test]
    fn a_long_line_of_a_document_is_found() {
        let long = "word ".repeat(25);
        let found = |text: &str| shown(check_lines(&file("docs/a.md", text)));
        assert_eq!(
            found(&format!("x\n{long}\n")),
            ["docs/a.md:2: has a line of 125 characters; wrap it at 120"]
        );
        assert_eq!(found(&"§".repeat(120)), [""; 0]);
        for exempt in [
            format!("| {long} |"),
            format!("```\n{long}\n```"),
            format!("{long}[x](y.md)"),
            "x".repeat(130),
        ] {
            assert_eq!(found(&exempt), [""; 0], "{exempt}");
        }
    }
}
