//! Runs `tests/scripts/*.txt`: commands after `>`, each followed by the expected output.
//!
//! `UPDATE_EXPECT=1` rewrites the expected output; review the difference before you commit it.

use std::fs;
use std::path::{Path, PathBuf};

use lockstep_mvcc::{Limits, Machine};

use crate::language::run;

/// Runs one script on one machine.
fn check(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let mut machine = Machine::default();
    let mut limits = Limits::default();
    let mut actual = String::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("> ") {
            let output = run(&mut machine, &mut limits, command)
                .unwrap_or_else(|problem| panic!("{}: {command}: {problem}", path.display()));
            actual.push_str(&format!("{line}\n{output}"));
        } else if line.is_empty() || line.starts_with('#') {
            actual.push_str(&format!("{line}\n"));
        }
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(path, actual).unwrap();
        return;
    }
    assert_eq!(actual, text, "{}", path.display());
}

#[test]
fn scripts_print_what_they_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut scripts: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    scripts.sort();
    assert!(!scripts.is_empty(), "the scripts are where they should be");
    for script in scripts {
        check(&script);
    }
}
