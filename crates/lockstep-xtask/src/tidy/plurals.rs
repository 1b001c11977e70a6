//! Special behaviour of a kind is data on its row in the catalog: no other code compares the plural name of a resource
//! with a string.

use super::SourceFile;
use super::finding::Finding;

/// Crates whose tables have a row for each built-in kind.
const TABLES: [&str; 2] = ["crates/lockstep-builtins/", "crates/lockstep-catalog/"];

/// Comparisons of a plural name with a literal outside of the catalog, and of tests.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let is_source = |file: &&SourceFile| {
        let is_test = file.has_folder("tests") || file.path.ends_with("/tests.rs");
        let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
        let is_catalog = TABLES.iter().any(|table| file.path.starts_with(table));
        file.has_extension(&["rs"]) && is_code && !is_test && !is_catalog && !file.is_generated()
    };
    let mut findings = Vec::new();
    for file in files.iter().filter(is_source) {
        for (index, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("#[cfg(test)]") {
                break;
            }
            if compares(line) {
                findings.push(Finding::problem(
                    &file.path,
                    index + 1,
                    "a plural name is compared with a string",
                    "match on `Resource::special`, and set it in the row of the kind in lockstep-catalog",
                ));
            }
        }
    }
    findings
}

/// True for `plural == "…"`, `"…" == plural`, `matches!(plural, "…")` and `match` on a plural name.
fn compares(line: &str) -> bool {
    let line = line.trim();
    if line.starts_with("//") {
        return false;
    }
    let names = ["plural", "resource.resource", "path.resource"];
    names.iter().any(|name| {
        line.match_indices(name).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + name.len()..]);
            let before = before
                .trim_end_matches(['&', '*', '.'])
                .trim_end_matches(|c: char| c.is_alphanumeric() || c == '_' || c == '.')
                .trim_end_matches(['&', '*']);
            let is_whole = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            let is_equal = after.starts_with(" == \"") || after.starts_with(" != \"");
            let is_equal = is_equal || before.ends_with("\" == ") || before.ends_with("\" != ");
            let is_matched = before.ends_with("matches!(") && after.starts_with(", \"");
            let is_match = before.ends_with("match ") && after.starts_with(" {");
            let is_tuple = before.contains("match (") && after.starts_with(") {");
            is_whole && (is_equal || is_matched || is_match || is_tuple)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn comparisons_of_plural_names_are_found_outside_of_the_catalog() {
        let text = "if resource.plural == \"pods\" {}\nif &*resource.plural != \"pods\" {}\n\
                    matches!(&*resource.plural, \"pods\" | \"nodes\");\nlet x = match &*resource.plural {\nmatch (&*resource.group, &*resource.plural) {\n\
                    // plural == \"pods\"\nlet plural = \"pods\";\nmatch api.read(group, plural, key) {\nif plural == other {}\n\
                    #[cfg(test)]\nmod tests { plural == \"pods\" }\n";
        let lines = |path: &str| -> Vec<usize> {
            let found = check(&[file(path, text)]);
            found.iter().map(|finding| finding.line).collect()
        };
        assert_eq!(lines("crates/x/src/a.rs"), [1, 2, 3, 4, 5]);
        assert_eq!(lines("crates/lockstep-catalog/src/a.rs"), [0; 0]);
        assert_eq!(lines("crates/x/tests/a.rs"), [0; 0]);
    }
}
