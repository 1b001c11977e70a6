//! Manifest keys that every crate inherits from the workspace.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::SourceFile;
use super::finding::Finding;

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Dependencies without `workspace = true` and lints of its own, in the manifest of a member.
pub(super) fn check(file: &SourceFile) -> Vec<Finding> {
    let parsed = match DeTable::parse(&file.text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let what = format!("is not TOML: {}", error.message());
            return vec![Finding::problem(
                &file.path,
                1,
                what,
                "put the syntax right",
            )];
        }
    };
    let manifest = parsed.get_ref();
    let mut findings: Vec<_> = dependency_tables(manifest)
        .into_iter()
        .flat_map(|table| own_versions(file, table))
        .collect();
    findings.extend(own_lints(file, manifest));
    findings
}

/// The tables that name dependencies, also those for one platform alone.
fn dependency_tables<'a, 'i>(manifest: &'a DeTable<'i>) -> Vec<&'a DeTable<'i>> {
    let per_target = table(manifest, "target")
        .into_iter()
        .flat_map(|targets| targets.values());
    let per_target = per_target.filter_map(|target| target.get_ref().as_table());
    let owners = std::iter::once(manifest).chain(per_target);
    owners
        .flat_map(|owner| KINDS.into_iter().filter_map(|kind| table(owner, kind)))
        .collect()
}

fn own_versions(file: &SourceFile, dependencies: &DeTable<'_>) -> Vec<Finding> {
    let is_own = |(_, value): &(&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        !value.get_ref().as_table().is_some_and(inherits)
    };
    let own = dependencies.iter().filter(is_own).map(|(name, _)| {
        let what = format!("`{}` has a version or path of its own", name.get_ref());
        let remedy = format!(
            "declare it in [workspace.dependencies] and write `{}.workspace = true`",
            name.get_ref()
        );
        Finding::problem(&file.path, line_at(&file.text, &name.span()), what, remedy)
    });
    own.collect()
}

fn own_lints(file: &SourceFile, manifest: &DeTable<'_>) -> Option<Finding> {
    let is_shared = table(manifest, "lints").is_some_and(inherits);
    let what = "does not take the workspace's lints";
    let remedy = "add `[lints]` with `workspace = true`";
    (!is_shared).then(|| Finding::problem(&file.path, 1, what, remedy))
}

fn table<'a, 'i>(owner: &'a DeTable<'i>, key: &str) -> Option<&'a DeTable<'i>> {
    owner.get(key)?.get_ref().as_table()
}

fn inherits(table: &DeTable<'_>) -> bool {
    table
        .get("workspace")
        .and_then(|value| value.get_ref().as_bool())
        == Some(true)
}

fn line_at(text: &str, span: &Range<usize>) -> usize {
    text.bytes()
        .take(span.start)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}

/// The line of a manifest that names `dependency`, or the first.
pub(super) fn line_of_dependency(text: &str, dependency: &str) -> usize {
    let names = |line: &str| {
        let rest = line.trim_start().strip_prefix(dependency);
        rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
    };
    text.lines().position(names).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, shown};

    const LINTS: &str = "[lints]\nworkspace = true\n";

    fn check_text(text: &str) -> Vec<String> {
        shown(check(&file("crates/x/Cargo.toml", text)))
    }

    #[test]
    fn a_manifest_that_inherits_everything_is_fine() {
        let text = format!(
            "[dependencies]\nserde.workspace = true\nclap = {{ workspace = true, optional = true }}\n\
             [target.'cfg(unix)'.dependencies]\nrlimit.workspace = true\n{LINTS}"
        );
        assert_eq!(check_text(&text), [""; 0]);
    }

    #[test]
    fn every_kind_of_dependency_inherits_its_version() {
        let text = format!(
            "[dependencies]\nserde = \"1\"\n[dev-dependencies]\na = {{ path = \"../a\" }}\n\
             [build-dependencies]\nb = {{ version = \"1\" }}\n\
             [target.'cfg(unix)'.dependencies]\nc.workspace = false\n{LINTS}"
        );
        let expected = [(2, "serde"), (4, "a"), (6, "b"), (8, "c")].map(|(line, name)| {
            format!(
                "crates/x/Cargo.toml:{line}: `{name}` has a version or path of its own; declare it \
                 in [workspace.dependencies] and write `{name}.workspace = true`"
            )
        });
        assert_eq!(check_text(&text), expected);
    }

    #[test]
    fn lints_come_from_the_workspace() {
        let expected = [
            "crates/x/Cargo.toml:1: does not take the workspace's lints; add `[lints]` \
                         with `workspace = true`",
        ];
        assert_eq!(check_text("[package]\nname = \"x\"\n"), expected);
        assert_eq!(
            check_text("[lints.rust]\nunsafe_code = \"allow\"\n"),
            expected
        );
        assert_eq!(check_text("[lints]\nworkspace = false\n"), expected);
    }

    #[test]
    fn a_broken_manifest_is_a_finding() {
        assert_eq!(check_text("[dependencies\n").len(), 1);
    }

    #[test]
    fn a_dependency_is_found_by_its_whole_name() {
        let text = "[dependencies]\nserde_json.workspace = true\nserde = { workspace = true }\n";
        assert_eq!(line_of_dependency(text, "serde"), 3);
        assert_eq!(line_of_dependency(text, "serde_json"), 2);
        assert_eq!(line_of_dependency(text, "clap"), 1);
    }
}
