//! Special behaviour of a kind is data on its row in the catalog: no code compares the plural name of a resource with a
//! string.

use std::collections::BTreeSet;

use super::SourceFile;
use super::finding::Finding;

/// The rows of built-in resources, which list the plural names.
const ROWS: &str = "crates/lockstep-catalog/src/builtin/";

/// Comparisons of a plural name with a literal, outside of tests.
pub(super) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let is_source = |file: &&SourceFile| {
        let is_test = file.has_folder("tests") || file.path.ends_with("/tests.rs");
        let is_code = file.path.starts_with("crates/") && file.path.contains("/src/");
        file.has_extension(&["rs"]) && is_code && !is_test && !file.is_generated()
    };
    let plurals = plural_names(files);
    let mut findings = Vec::new();
    for file in files.iter().filter(is_source) {
        for (index, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("#[cfg(test)]") {
                break;
            }
            if compares(line) || compares_with(line, &plurals) {
                findings.push(Finding::problem(
                    &file.path,
                    index + 1,
                    "a plural name is compared with a string",
                    "match on `Resource::special`, or look the name up in a table; the rows of kinds are in \
                     lockstep-catalog and in the strategies of lockstep-builtins",
                ));
            }
        }
    }
    findings
}

/// The plural names of built-in resources.
fn plural_names(files: &[SourceFile]) -> BTreeSet<&str> {
    let rows = files.iter().filter(|file| file.path.starts_with(ROWS));
    let lines = rows.flat_map(|file| file.text.lines());
    let names =
        lines.filter_map(|line| line.trim().strip_prefix("plural: \"")?.strip_suffix("\","));
    names.filter(|name| !name.is_empty()).collect()
}

/// True if a line compares anything with the plural name of a built-in resource, or has one in a pattern.
fn compares_with(line: &str, plurals: &BTreeSet<&str>) -> bool {
    let line = line.trim();
    if line.starts_with("//") {
        return false;
    }
    plurals.iter().any(|plural| {
        let literal = format!("\"{plural}\"");
        line.match_indices(&literal).any(|(at, _)| {
            let (before, after) = (line[..at].trim_end(), &line[at + literal.len()..]);
            let after = after.trim_start();
            let is_equal = |text: &str| text.starts_with("==") || text.starts_with("!=");
            let is_compared = is_equal(after) || before.ends_with("==") || before.ends_with("!=");
            let is_arm = after.trim_start_matches([')', ' ']).starts_with("=>");
            let is_alternative = after.starts_with("| ") || before == "|" || before.ends_with(" |");
            is_compared || is_arm || is_alternative || before.contains("matches!(")
        })
    })
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
    fn comparisons_of_plural_names_are_found() {
        let text = "if resource.plural == \"pods\" {}\nif &*resource.plural != \"pods\" {}\n\
                    matches!(&*resource.plural, \"pods\" | \"nodes\");\nlet x = match &*resource.plural {\nmatch (&*resource.group, &*resource.plural) {\n\
                    // plural == \"pods\"\nlet plural = \"pods\";\nmatch api.read(group, plural, key) {\nif plural == other {}\n\
                    #[cfg(test)]\nmod tests { plural == \"pods\" }\n";
        let lines = |path: &str| -> Vec<usize> {
            let found = check(&[file(path, text)]);
            found.iter().map(|finding| finding.line).collect()
        };
        assert_eq!(lines("crates/x/src/a.rs"), [1, 2, 3, 4, 5]);
        assert_eq!(lines("crates/x/tests/a.rs"), [0; 0]);
    }

    #[test]
    fn literals_that_are_plural_names_of_the_catalog_are_found_wherever_they_are_compared() {
        let rows = file(
            "crates/lockstep-catalog/src/builtin/rows.rs",
            "plural: \"pods\",\nplural: \"nodes\",\nplural: \"\",\n",
        );
        let text = "if resource == \"pods\" {}\nif \"nodes\" != name {}\n(\"\", \"pods\") => 1,\n\
                    \"pods\" | \"x\" => 1,\nmatches!(name, (\"\", \"nodes\"))\n\
                    // == \"pods\"\nread(\"\", \"pods\");\n[(\"\", \"nodes\", 1)];\nmap(|_| \"pods\")\n\
                    if resource == \"podsets\" {}\n";
        let found = check(&[rows, file("crates/x/src/a.rs", text)]);
        let found: Vec<_> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(found, [1, 2, 3, 4, 5]);
    }
}
