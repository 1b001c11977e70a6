//! Feature gates that switch nothing: each gate of the table is read by code of another crate.

use std::collections::BTreeSet;
use std::str::FromStr;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::SourceFile;
use super::finding::Finding;
use super::rust::{attribute_at, marks_a_test};

/// The table of gates.
const TABLE: &str = "crates/lockstep-gates/src/lib.rs";

/// Gates whose constant no other crate names.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(table) = files.iter().find(|file| file.path == TABLE) else {
        return Vec::new();
    };
    let reads = |file: &&SourceFile| {
        let is_source = file.path.starts_with("crates/") && file.path.contains("/src/");
        let is_test = file.has_folder("tests") || file.path.ends_with("/tests.rs");
        let is_table = file.path.starts_with("crates/lockstep-gates/");
        file.has_extension(&["rs"]) && is_source && !is_test && !is_table
    };
    let mut named = BTreeSet::new();
    for file in files.iter().filter(reads) {
        if let Ok(tokens) = TokenStream::from_str(&file.text) {
            constants(tokens, &mut named);
        }
    }
    let unread = declared(&table.text)
        .into_iter()
        .filter(|(name, _)| !named.contains(&name.to_uppercase()));
    let finding = |(name, line): (String, usize)| {
        let what = format!("no code outside of the table reads the gate `{name}`");
        let remedy = "read it where it switches behaviour, or list it in foreign.rs or removed.rs";
        Finding::problem(TABLE, line, what, remedy)
    };
    unread.map(finding).collect()
}

/// Names of constants in code outside of tests, without underscores: `WATCH_LIST` is `WATCHLIST`. Strings and
/// comments do not count, since naming a gate there reads nothing.
fn constants(tokens: TokenStream, named: &mut BTreeSet<String>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut is_test = false;
    for (index, tree) in trees.iter().enumerate() {
        is_test |= attribute_at(&trees[index..]).is_some_and(|it| marks_a_test(&it));
        match tree {
            TokenTree::Ident(word) if !is_test => {
                let word = word.to_string();
                if word.contains('_') && word.to_uppercase() == word {
                    named.insert(word.replace('_', ""));
                }
            }
            TokenTree::Group(group) => {
                if !is_test {
                    constants(group.stream(), named);
                }
                is_test &= group.delimiter() != Delimiter::Brace;
            }
            TokenTree::Punct(punct) => is_test &= punct.as_char() != ';',
            _ => {}
        }
    }
}

/// Gates inside `features! { component { Name { … }, … } }`, with their lines.
fn declared(text: &str) -> Vec<(String, usize)> {
    let Ok(tokens) = TokenStream::from_str(text) else {
        return Vec::new();
    };
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut groups = trees.windows(3).filter_map(|window| match window {
        [
            TokenTree::Ident(name),
            TokenTree::Punct(_),
            TokenTree::Group(group),
        ] if name == "features" => Some(group.stream()),
        _ => None,
    });
    let Some(components) = groups.next() else {
        return Vec::new();
    };
    let mut gates = Vec::new();
    for tree in components {
        let TokenTree::Group(component) = tree else {
            continue;
        };
        let trees: Vec<TokenTree> = component.stream().into_iter().collect();
        gates.extend(trees.windows(2).filter_map(|window| match window {
            [TokenTree::Ident(name), TokenTree::Group(_)] => {
                Some((name.to_string(), name.span().start().line))
            }
            _ => None,
        }));
    }
    gates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, shown};

    const GATES: &str = "//! Gates.\nfeatures! {\n    kube {\n        /// A.\n        APIServerIdentity { \
                         \"1.20\": Alpha, after: [WatchList], owner: \"a\" },\n        /// B.\n        \
                         WatchList { \"1.27\": Alpha, owner: \"b\" },\n    }\n}\n";

    #[test]
    fn a_gate_that_no_other_crate_reads_is_found() {
        let files = [
            file(TABLE, GATES),
            file("crates/lockstep-gates/src/other.rs", "WATCH_LIST"),
            file("crates/x/tests/it/a.rs", "WATCH_LIST"),
            file(
                "crates/x/src/b.rs",
                "// WATCH_LIST\nconst A: &str = \"WATCH_LIST\";",
            ),
            file(
                "crates/x/src/c.rs",
                "#[cfg(test)]\nmod tests { fn a() { WATCH_LIST; } }",
            ),
            file("crates/x/src/a.rs", "gates.enabled(API_SERVER_IDENTITY)"),
        ];
        assert_eq!(
            shown(check(&files)),
            [
                "crates/lockstep-gates/src/lib.rs:7: no code outside of the table reads the gate `WatchList`; read it \
                 where it switches behaviour, or list it in foreign.rs or removed.rs"
            ]
        );
    }

    #[test]
    fn gates_that_are_read_are_fine() {
        let reads = "use lockstep_gates::{API_SERVER_IDENTITY, WATCH_LIST};";
        assert_eq!(
            check(&[file(TABLE, GATES), file("crates/x/src/a.rs", reads)]),
            []
        );
        assert_eq!(check(&[]), []);
    }
}
