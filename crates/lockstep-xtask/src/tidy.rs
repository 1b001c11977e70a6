//! `cargo xtask tidy`: the habits of this repository that no compiler knows.
//!
//! Each module holds a few rules, and each rule is a pure function that returns findings.

mod citations;
mod comments;
mod cycles;
mod finding;
mod gates;
mod graph;
mod layers;
mod manifest;
mod plurals;
mod prose;
mod rust;
mod size;
mod statuses;
mod text;

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::Context;

use crate::metadata::Metadata;
use crate::workspace::Workspace;
use crate::{Outcome, process};
use finding::{Finding, Severity};

/// A file of the tree; its path starts at the root and has forward slashes.
#[derive(Clone, PartialEq, Eq, Debug)]
struct SourceFile {
    path: String,
    text: String,
}

impl SourceFile {
    fn has_extension(&self, extensions: &[&str]) -> bool {
        let extension = self
            .path
            .rsplit_once('.')
            .map_or("", |(_, extension)| extension);
        extensions.contains(&extension)
    }

    fn has_folder(&self, name: &str) -> bool {
        let folders = self
            .path
            .rsplit_once('/')
            .map_or("", |(folders, _)| folders);
        folders.split('/').any(|folder| folder == name)
    }

    /// Written by a program, so held to no habit of people.
    fn is_generated(&self) -> bool {
        self.has_folder("gen")
    }

    /// Input of a test, so free to be wrong on purpose.
    fn is_fixture(&self) -> bool {
        self.has_folder("fixtures") || self.path.contains("/tests/ui/")
    }
}

/// Prints every finding of the tree; red if one of them is more than a note.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let files = read_tree(workspace)?;
    let findings = check(&files, &workspace.metadata()?);
    for finding in &findings {
        println!("{finding}");
    }
    let problems = findings
        .iter()
        .filter(|f| f.severity == Severity::Problem)
        .count();
    let notes = findings.len() - problems;
    println!(
        "tidy: files {}, problems {problems}, notes {notes}",
        files.len()
    );
    Ok(Outcome::of(problems == 0))
}

/// All findings of all rules, in order of place.
fn check(files: &[SourceFile], metadata: &Metadata) -> Vec<Finding> {
    let members = metadata.members().into_iter();
    let manifests: BTreeSet<_> = members.map(|member| metadata.manifest_of(member)).collect();
    let mut findings = Vec::new();
    for file in files {
        if manifests.contains(&file.path) {
            findings.extend(manifest::check(file));
        }
        findings.extend(size::check(file));
        findings.extend(text::check(file));
    }
    findings.extend(rust::check(files));
    findings.extend(citations::check(files));
    findings.extend(cycles::check(files));
    findings.extend(gates::check(files));
    findings.extend(prose::check(files));
    findings.extend(statuses::check(files));
    findings.extend(plurals::check(files));
    findings.extend(layers::check(metadata, files));
    findings.extend(graph::check(metadata));
    findings.sort();
    findings
}

/// Every text file that git tracks or would track once added.
fn read_tree(workspace: &Workspace) -> anyhow::Result<Vec<SourceFile>> {
    let mut git = Command::new("git");
    git.current_dir(workspace.root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = process::output_of(&mut git).context("tidy asks git which files count")?;
    let mut files = Vec::new();
    for path in listed.split('\0').filter(|path| !path.is_empty()) {
        let place = workspace.root().join(path);
        // Gone from the tree but still in the index, or a link to a folder: nothing to read.
        if !place.is_file() {
            continue;
        }
        let bytes = std::fs::read(&place).with_context(|| format!("reading `{path}`"))?;
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile {
                path: path.to_owned(),
                text,
            });
        }
    }
    Ok(files)
}

/// A file for the tests of rules.
#[cfg(test)]
fn file(path: &str, text: &str) -> SourceFile {
    SourceFile {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// Findings as a reader sees them.
#[cfg(test)]
fn shown(findings: impl IntoIterator<Item = Finding>) -> Vec<String> {
    findings
        .into_iter()
        .map(|finding| finding.to_string())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::sample::Sample;

    #[test]
    fn findings_of_all_rules_come_sorted_by_place() {
        let files = [
            file("crates/b/src/lib.rs", "fn b() {}\n"),
            file(
                "crates/a/src/lib.rs",
                "//! A.\n#[ignore]\nfn a() {}\n// for \u{6e}ow\n",
            ),
        ];
        let metadata = Sample::default().publishable_member("lockstep-cel").build();
        let places: Vec<_> = check(&files, &metadata)
            .into_iter()
            .map(|f| (f.path, f.line))
            .filter(|(path, _)| !path.starts_with("crates/lockstep-xtask/"))
            .collect();
        let expected = [
            ("crates/a/src/lib.rs", 2),
            ("crates/a/src/lib.rs", 4),
            ("crates/b/src/lib.rs", 1),
            ("crates/lockstep-cel/Cargo.toml", 1),
        ];
        assert_eq!(places, expected.map(|(path, line)| (path.to_owned(), line)));
    }

    #[test]
    fn only_members_leave_their_versions_to_the_workspace() {
        let text = "[dependencies]\nserde = \"1\"\n[lints]\nworkspace = true\n";
        let files = [
            file("Cargo.toml", "[workspace.dependencies]\nserde = \"1\"\n"),
            file("crates/lockstep-cel/Cargo.toml", text),
            file("crates/lockstep-cel/fuzz/Cargo.toml", text),
        ];
        let metadata = Sample::default().member("lockstep-cel", &[]).build();
        let places: Vec<_> = check(&files, &metadata)
            .into_iter()
            .map(|f| f.path)
            .filter(|path| !path.starts_with("crates/lockstep-xtask/"))
            .collect();
        assert_eq!(places, ["crates/lockstep-cel/Cargo.toml"]);
    }

    #[test]
    fn generated_files_and_fixtures_are_told_by_their_folder() {
        assert!(file("crates/x/src/gen/rpc.rs", "").is_generated());
        assert!(!file("crates/x/src/gen.rs", "").is_generated());
        assert!(file("crates/x/tests/fixtures/a.rs", "").is_fixture());
        assert!(file("crates/x/tests/ui/a.rs", "").is_fixture());
        assert!(!file("crates/x/tests/a.rs", "").is_fixture());
    }
}
