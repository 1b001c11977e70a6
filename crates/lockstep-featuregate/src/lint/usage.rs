//! FG119: declared gates that no code reads.

use std::collections::BTreeSet;

use super::{Finding, Severity};
use crate::Component;

/// A source file to search.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Path of the file; files under a folder `tests` or `benches` are tests.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Use of a constant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Never,
    TestsOnly,
    Code,
}

/// Finds gates of declared components whose constant is used nowhere, or only in tests.
pub fn lint_usage(component: &Component, files: &[SourceFile]) -> Vec<Finding> {
    let (mut code, mut tests) = (BTreeSet::new(), BTreeSet::new());
    for file in files {
        let (production, testing) = split_tests(file);
        code.extend(constants(production));
        tests.extend(constants(testing));
    }
    let declared = component.groups().flat_map(crate::Group::gates);
    let usage = |constant: &str| match (code.contains(constant), tests.contains(constant)) {
        (true, _) => Use::Code,
        (false, true) => Use::TestsOnly,
        (false, false) => Use::Never,
    };
    let message = |gate: crate::Gate| match usage(gate.constant()) {
        Use::Code => None,
        Use::TestsOnly => Some(format!("`{}` is used only in tests", gate.constant())),
        Use::Never => Some(format!("`{}` is not used in code", gate.constant())),
    };
    declared
        .filter_map(|gate| {
            Some(Finding {
                component: component.name().to_owned(),
                gate: gate.name().to_owned(),
                rule: "FG119",
                severity: Severity::Warning,
                version: None,
                message: message(gate)?,
            })
        })
        .collect()
}

/// The part of a file that ships, and the part that tests: by convention the test module is last.
fn split_tests(file: &SourceFile) -> (&str, &str) {
    let is_test = file
        .path
        .split(['/', '\\'])
        .any(|part| part == "tests" || part == "benches");
    match file.text.find("#[cfg(test)]") {
        _ if is_test => ("", &file.text),
        Some(at) => file.text.split_at(at),
        None => (&file.text, ""),
    }
}

/// Words in capitals, comments left out.
fn constants(text: &str) -> impl Iterator<Item = &str> {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let words = lines.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    words.filter(|word| word.len() > 1 && !word.bytes().any(|byte| byte.is_ascii_lowercase()))
}
