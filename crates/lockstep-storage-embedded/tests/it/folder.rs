//! The folder: made, locked, closed and opened again.

use std::fs;
use std::time::Duration;

use lockstep_storage_embedded::{EmbeddedStore, OpenError, Options};
use tokio::runtime::Runtime;

use crate::workload::{command, digest, digest_of, expected, send};

#[test]
fn a_folder_is_made_and_found_again_as_it_was() {
    let runtime = Runtime::new().unwrap();
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a/b");
    let mut index = 1;
    for round in 1..=5 {
        let store = EmbeddedStore::open(&folder, &Options::default()).unwrap();
        assert_eq!(
            digest_of(&store),
            digest(&expected(index - 1)),
            "round {round}"
        );
        for _ in 0..40 {
            runtime.block_on(send(&store, command(index))).unwrap();
            index += 1;
        }
    }
}

#[test]
fn a_second_store_on_one_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let second = EmbeddedStore::open(folder.path(), &Options::default());
    assert!(matches!(&second, Err(OpenError::InUse { folder: named }) if named == folder.path()));
    drop(first);
    assert!(EmbeddedStore::open(folder.path(), &Options::default()).is_ok());
}

#[test]
fn a_folder_that_is_a_file_is_refused() {
    let parent = tempfile::tempdir().unwrap();
    let file = parent.path().join("file");
    fs::write(&file, b"").unwrap();
    let refused = EmbeddedStore::open(&file, &Options::default());
    assert!(matches!(refused, Err(OpenError::Io { folder, .. }) if folder == file));
}

#[test]
fn segments_that_the_state_has_overtaken_are_used_again() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 1 << 16,
        state_interval: Duration::ZERO,
        ..Options::default()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    for index in 1..=3000 {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    let mut segments = segments(folder.path());
    assert!(segments.len() <= 8, "{segments:?}");
    segments.sort();
    let newest = segments.pop().unwrap();
    assert!(newest.as_str() > "log-0000000000000008.seg", "{newest}");
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(3000)));
}

fn segments(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("log-")).collect()
}
