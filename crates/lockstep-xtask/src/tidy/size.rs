//! File size limits.

use super::SourceFile;
use super::finding::Finding;

/// Where a file asks which two ideas it holds.
const FILE_LINES_NOTE: usize = 400;

/// Where a file is too long, whatever it holds.
const FILE_LINES_MAX: usize = 800;

/// Languages that people write here.
const CODE: &[&str] = &["rs", "ts", "js", "svelte", "sh"];

/// A note past the first limit, a problem at the second.
pub(super) fn check(file: &SourceFile) -> Option<Finding> {
    if !file.has_extension(CODE) || file.is_generated() || file.is_fixture() {
        return None;
    }
    let lines = file.text.lines().count();
    let what = format!("is {lines} lines long");
    if lines >= FILE_LINES_MAX {
        let remedy = format!("{FILE_LINES_MAX} is the end: give each idea a file");
        Some(Finding::problem(&file.path, 1, what, remedy))
    } else if lines > FILE_LINES_NOTE {
        let remedy = format!("past {FILE_LINES_NOTE}, ask which two ideas these are");
        Some(Finding::note(&file.path, 1, what, remedy))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{file, shown};

    fn check_lines(path: &str, lines: usize) -> Vec<String> {
        shown(check(&file(path, &"x\n".repeat(lines))))
    }

    #[test]
    fn a_long_file_is_noted_and_a_longer_one_fails() {
        assert_eq!(check_lines("a.rs", 400), [""; 0]);
        assert_eq!(
            check_lines("a.rs", 401),
            ["a.rs:1: note: is 401 lines long; past 400, ask which two ideas these are"]
        );
        assert_eq!(check_lines("a.rs", 799).len(), 1);
        assert_eq!(
            check_lines("a.rs", 800),
            ["a.rs:1: is 800 lines long; 800 is the end: give each idea a file"]
        );
    }

    #[test]
    fn data_and_generated_code_may_be_long() {
        for path in [
            "a.yaml",
            "Cargo.lock",
            "crates/x/src/gen/a.rs",
            "crates/x/tests/fixtures/a.rs",
        ] {
            assert_eq!(check_lines(path, 5000), [""; 0], "{path}");
        }
    }
}
