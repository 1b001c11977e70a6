//! Errors become a `Status` in one file for each API: the Kubernetes API, etcd's API, and the store that serves it.

use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::SourceFile;
use super::finding::Finding;
use super::rust::{attribute_at, is_ident, is_punct, marks_a_test};

/// Files that map errors to a `Status`.
const MAPS: [&str; 3] = [
    "crates/lockstep-etcd-api/src/error.rs",
    "crates/lockstep-object/src/status/map.rs",
    "crates/lockstep-store/src/rpc_error.rs",
];

/// Functions of a `Status` that convert another value: the mapping itself, and the decoding of a response.
const CONVERSIONS: [&str; 3] = ["from", "from_error", "from_header_map"];

/// Constructors, literals and conversions to a `Status` outside of the files that map errors, and of tests.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let is_source = |file: &&SourceFile| {
        let is_test = file.has_folder("tests") || file.path.ends_with("/tests.rs");
        let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
        file.has_extension(&["rs"])
            && is_code
            && !is_test
            && !file.is_generated()
            && !file.is_fixture()
            && !MAPS.contains(&file.path.as_str())
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(is_source) {
        if let Ok(tokens) = TokenStream::from_str(&file.text) {
            find(file, tokens, &mut findings);
        }
    }
    findings
}

fn find(file: &SourceFile, tokens: TokenStream, findings: &mut Vec<Finding>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut is_test = false;
    for (index, tree) in trees.iter().enumerate() {
        is_test |= attribute_at(&trees[index..]).is_some_and(|it| marks_a_test(&it));
        match tree {
            TokenTree::Ident(word) if !is_test && word == "Status" => {
                let line = word.span().start().line;
                let what = made_at(trees[..index].last(), &trees[index + 1..]);
                let remedy = format!(
                    "return a typed error, and map it in one of {}",
                    MAPS.join(", ")
                );
                findings.extend(what.map(|what| Finding::problem(&file.path, line, what, remedy)));
            }
            TokenTree::Group(group) => {
                if !is_test {
                    find(file, group.stream(), findings);
                }
                is_test &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) => is_test &= punct.as_char() != ';',
            _ => {}
        }
    }
}

/// Fault of a `Status` between two tokens, if it is made or mapped there.
fn made_at(before: Option<&TokenTree>, after: &[TokenTree]) -> Option<&'static str> {
    if before.is_some_and(|tree| is_ident(tree, "for")) {
        return Some("an error is mapped to a `Status`");
    }
    match after {
        [first, second, TokenTree::Ident(function), ..]
            if is_punct(first, ':') && is_punct(second, ':') =>
        {
            let function = function.to_string();
            let is_function = function.starts_with(|c: char| c.is_ascii_lowercase());
            let is_conversion = CONVERSIONS.contains(&function.as_str());
            (is_function && !is_conversion).then_some("a `Status` is constructed")
        }
        [TokenTree::Group(fields), ..] if fields.delimiter() == Delimiter::Brace => {
            // `-> Status {`, `Kind::Status {`, `struct Status {` and `impl Status {` are no literals.
            let is_other = before.is_some_and(|tree| {
                is_punct(tree, '>')
                    || is_punct(tree, ':')
                    || is_ident(tree, "struct")
                    || is_ident(tree, "impl")
            });
            (!is_other).then_some("a `Status` is constructed")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    /// Line and fault of each finding in a file of this path.
    fn found(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = check(&[file(path, text)]).into_iter();
        findings
            .map(|finding| {
                let shown = finding.to_string();
                let what = shown.split(": ").nth(1).unwrap_or_default();
                let what = what.split(';').next().unwrap_or_default();
                (finding.line, what.to_owned())
            })
            .collect()
    }

    #[test]
    fn a_status_that_is_made_outside_of_the_mapping_is_found() {
        let text = "fn a() -> Status {\n    Status::internal(\"x\")\n}\nfn b() {\n    Err(Status { code: 1 })\n}\n\
                    fn c() {\n    x.ok_or_else(Status::gone)\n}\nimpl From<E> for Status {\n}\n";
        assert_eq!(
            found("crates/x/src/a.rs", text),
            [
                (2, "a `Status` is constructed".to_owned()),
                (5, "a `Status` is constructed".to_owned()),
                (8, "a `Status` is constructed".to_owned()),
                (10, "an error is mapped to a `Status`".to_owned()),
            ]
        );
    }

    #[test]
    fn the_mapping_tests_and_other_words_are_fine() {
        let made = "fn a() { Status::internal(\"x\") }";
        let others = "fn a() -> Status { Status::from(&error) }\nfn b() { if c == Part::Status { } }\n\
                      // Status::gone()\nconst T: &str = \"Status {\";\nimpl Status { }\n\
                      #[cfg(test)]\nmod tests { fn a() { Status::gone() } }\n";
        for path in MAPS {
            assert_eq!(found(path, made), []);
        }
        assert_eq!(found("crates/x/tests/a.rs", made), []);
        assert_eq!(found("crates/x/src/a/tests.rs", made), []);
        assert_eq!(found("crates/x/src/gen/a.rs", made), []);
        assert_eq!(found("crates/x/src/a.rs", others), []);
    }
}
