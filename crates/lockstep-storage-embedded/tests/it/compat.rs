//! Data directories written by earlier releases still open. The files are never regenerated.

use std::fs;
use std::path::{Path, PathBuf};

use lockstep_storage_embedded::{EmbeddedStore, Inspection, Options};
use tokio::runtime::Runtime;

use crate::rng::fast_folder;
use crate::workload::{command, digest, digest_of, expected, send};

/// Number of workload commands in each directory.
const COMMANDS: u64 = 60;

fn kept(name: &str) -> PathBuf {
    let compat = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat");
    compat.join(name)
}

fn check(name: &str, state_applied: u64) {
    let inspection = Inspection::of(&kept(name)).unwrap();
    assert!(!inspection.is_damaged(), "{:?}", inspection.findings);
    assert_eq!(
        (inspection.state_applied, inspection.applied),
        (state_applied, COMMANDS)
    );
    let right = digest(&expected(COMMANDS));
    assert_eq!(inspection.machine.as_ref().map(digest), Some(right.clone()));
    // The store accepts writes after opening an old directory.
    let folder = fast_folder();
    for entry in fs::read_dir(kept(name)).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    let options = Options {
        segment_bytes: 4096,
        ..Options::default()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    assert_eq!(digest_of(&store), right);
    let sent = send(&store, command(COMMANDS + 1));
    Runtime::new().unwrap().block_on(sent).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(COMMANDS + 1)));
}

#[test]
fn a_folder_of_format_1_that_was_closed_in_order_opens() {
    check("format-1/closed", COMMANDS);
}

#[test]
fn a_folder_of_format_1_whose_process_was_killed_opens() {
    check("format-1/killed", 0);
}

#[test]
fn a_folder_of_format_2_that_was_closed_in_order_opens() {
    check("format-2/closed", COMMANDS);
}

#[test]
fn a_folder_of_format_2_whose_process_was_killed_opens() {
    check("format-2/killed", 0);
}
