//! Habits of Rust files, judged on tokens: what stands in strings and comments does not count,
//! what stands in macros does.

use std::str::FromStr;

use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};

use super::SourceFile;
use super::finding::Finding;

/// Where a function asks to be looked at again.
const FUNCTION_LINES_NOTE: usize = 70;

/// Every finding of this module over the tree.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    files.iter().flat_map(check_file).collect()
}

/// Missing module docs, ignored tests, unexplained `allow`s, sleeping tests, long functions.
fn check_file(file: &SourceFile) -> Vec<Finding> {
    if !file.has_extension(&["rs"]) || file.is_generated() || file.is_fixture() {
        return Vec::new();
    }
    let Ok(tokens) = TokenStream::from_str(&file.text) else {
        return vec![Finding::problem(
            &file.path,
            1,
            "is not Rust",
            "put the syntax right",
        )];
    };
    let mut findings: Vec<_> = module_doc(file, &tokens).into_iter().collect();
    let mut walk = vec![Scope {
        tokens,
        is_test: is_test_file(file),
    }];
    while let Some(scope) = walk.pop() {
        let trees: Vec<TokenTree> = scope.tokens.into_iter().collect();
        for index in 0..trees.len() {
            let rest = &trees[index..];
            findings.extend(attribute_at(rest).and_then(|it| check_attribute(file, &it)));
            findings.extend(long_function(file, rest));
            if scope.is_test {
                findings.extend(sleep(file, rest));
            }
        }
        walk.extend(inner_scopes(&trees, scope.is_test));
    }
    findings.sort();
    findings
}

/// The tokens between two brackets, and whether they belong to a test.
struct Scope {
    tokens: TokenStream,
    is_test: bool,
}

fn inner_scopes(trees: &[TokenTree], is_test: bool) -> Vec<Scope> {
    let mut scopes = Vec::new();
    let mut is_marked = false;
    for (index, tree) in trees.iter().enumerate() {
        is_marked |= attribute_at(&trees[index..]).is_some_and(|it| marks_a_test(&it));
        match tree {
            TokenTree::Group(group) => {
                scopes.push(Scope {
                    tokens: group.stream(),
                    is_test: is_test || is_marked,
                });
                is_marked &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) => is_marked &= punct.as_char() != ';',
            _ => {}
        }
    }
    scopes
}

fn is_test_file(file: &SourceFile) -> bool {
    file.has_folder("tests") || file.path.ends_with("/tests.rs")
}

/// The bracket of the attribute that starts here: `#[…]` or `#![…]`.
pub(super) fn attribute_at(trees: &[TokenTree]) -> Option<Group> {
    let rest = match trees {
        [first, second, rest @ ..] if is_punct(first, '#') && is_punct(second, '!') => rest,
        [first, rest @ ..] if is_punct(first, '#') => rest,
        _ => return None,
    };
    match rest.first()? {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => Some(group.clone()),
        _ => None,
    }
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]` and the like.
pub(super) fn marks_a_test(attribute: &Group) -> bool {
    let trees: Vec<_> = attribute.stream().into_iter().collect();
    let path_end = trees
        .iter()
        .take_while(|tree| !matches!(tree, TokenTree::Group(_)))
        .last();
    match (path_end, trees.last()) {
        (Some(end), Some(TokenTree::Group(arguments))) if is_ident(end, "cfg") => {
            let condition = arguments.stream().to_string();
            let words: Vec<_> = condition.split(|c: char| !c.is_alphanumeric()).collect();
            words.contains(&"test") && !words.contains(&"not")
        }
        (Some(end), _) => is_ident(end, "test"),
        (None, _) => false,
    }
}

/// The first thing in a file says what the file is for.
fn module_doc(file: &SourceFile, tokens: &TokenStream) -> Option<Finding> {
    let trees: Vec<_> = tokens.clone().into_iter().collect();
    let inner = trees.chunks(3).map_while(|chunk| match chunk {
        [hash, bang, TokenTree::Group(group)] if is_punct(hash, '#') && is_punct(bang, '!') => {
            Some(group.stream().into_iter().collect::<Vec<_>>())
        }
        _ => None,
    });
    let says_something = |attribute: Vec<TokenTree>| match attribute.as_slice() {
        [doc, _, TokenTree::Literal(text)] => {
            is_ident(doc, "doc") && !text.to_string().trim_matches(['"', ' ']).is_empty()
        }
        _ => false,
    };
    let what = "has no module doc";
    let remedy = "say at the top, after `//!`, what the file is for";
    let is_missing = !inner.into_iter().any(says_something);
    is_missing.then(|| Finding::problem(&file.path, 1, what, remedy))
}

/// No `#[ignore]`, and no silenced lint without a reason, also behind `cfg_attr`.
fn check_attribute(file: &SourceFile, attribute: &Group) -> Option<Finding> {
    let mut trees: Vec<_> = attribute.stream().into_iter().collect();
    while let [name, TokenTree::Group(arguments)] = trees.as_slice()
        && is_ident(name, "cfg_attr")
    {
        let after_condition = |tree: &TokenTree| !is_punct(tree, ',');
        trees = arguments
            .stream()
            .into_iter()
            .skip_while(after_condition)
            .skip(1)
            .collect();
    }
    let name = trees.first()?;
    let line = name.span().start().line;
    if is_ident(name, "ignore") {
        let remedy = "make it pass, or let it say `SKIPPED` with the reason when it runs";
        return Some(Finding::problem(
            &file.path,
            line,
            "a test is ignored",
            remedy,
        ));
    }
    let silences = is_ident(name, "allow") || is_ident(name, "expect");
    let TokenTree::Group(lints) = trees.get(1)? else {
        return None;
    };
    let has_reason = lints
        .stream()
        .into_iter()
        .any(|tree| is_ident(&tree, "reason"));
    let what = format!("`{name}` without a reason");
    let remedy = "write `#[expect(…, reason = \"…\")]`, or put right what the lint sees";
    (silences && !has_reason).then(|| Finding::problem(&file.path, line, what, remedy))
}

/// Fault of a test that waits for a clock.
const SLEEP: &str = "a test sleeps";

/// `thread::sleep` or `tokio::time::sleep`, as a path or in a `use` with braces. `sleep_until` is left alone:
/// tests with paused time use it.
fn sleep(file: &SourceFile, trees: &[TokenTree]) -> Option<Finding> {
    let [module, first_colon, second_colon, last, ..] = trees else {
        return None;
    };
    let is_module = is_ident(module, "thread") || is_ident(module, "time");
    let is_path = is_module && is_punct(first_colon, ':') && is_punct(second_colon, ':');
    let is_sleep = match last {
        TokenTree::Group(names) => names
            .stream()
            .into_iter()
            .any(|tree| is_ident(&tree, "sleep")),
        tree => is_ident(tree, "sleep"),
    };
    let line = module.span().start().line;
    let remedy = "hand in the time, or wait for the event itself";
    (is_path && is_sleep).then(|| Finding::problem(&file.path, line, SLEEP, remedy))
}

/// A function whose body ends too far from its `fn`.
fn long_function(file: &SourceFile, trees: &[TokenTree]) -> Option<Finding> {
    let [TokenTree::Ident(keyword), TokenTree::Ident(name), rest @ ..] = trees else {
        return None;
    };
    if keyword != "fn" {
        return None;
    }
    let body = rest
        .iter()
        .take_while(|tree| !is_punct(tree, ';'))
        .find_map(|tree| match tree {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group),
            _ => None,
        })?;
    let line = keyword.span().start().line;
    let lines = body.span_close().end().line + 1 - line;
    (lines > FUNCTION_LINES_NOTE).then(|| note_on_length(file, line, name, lines))
}

fn note_on_length(file: &SourceFile, line: usize, name: &Ident, lines: usize) -> Finding {
    let what = format!("`{name}` is {lines} lines long");
    let remedy = format!("past {FUNCTION_LINES_NOTE}, ask which steps deserve a name");
    Finding::note(&file.path, line, what, remedy)
}

pub(super) fn is_punct(tree: &TokenTree, character: char) -> bool {
    matches!(tree, TokenTree::Punct(punct) if punct.as_char() == character)
}

fn is_ident(tree: &TokenTree, name: &str) -> bool {
    matches!(tree, TokenTree::Ident(ident) if ident == name)
}

#[cfg(test)]
mod tests;
