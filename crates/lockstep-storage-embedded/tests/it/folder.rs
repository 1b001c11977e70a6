//! The folder: made, locked, closed and opened again.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lockstep_storage::{
    Event, EventKind, Key, KeyRange, LeaseTtl, Op, Put, PutLease, Range, Store, Txn, WatchMessage,
    WatchRequest, WatchSelector, WriteFailure,
};
use lockstep_storage_embedded::{EmbeddedStore, Faults, OpenError, Options};
use redb::{Database, ReadableDatabase, ReadableTableMetadata, TableDefinition};
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

/// Permission bits of a directory and of the files in it, by name.
fn modes(folder: &Path) -> BTreeMap<String, u32> {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        (name, mode(&entry.path()))
    });
    files.chain([(".".to_owned(), mode(folder))]).collect()
}

#[test]
fn only_the_owner_has_access_to_a_new_folder_and_its_files() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("a");
    let store = EmbeddedStore::open(&folder, &Options::default()).unwrap();
    let modes = modes(&folder);
    assert!(modes.len() >= 4, "{modes:?}");
    assert_eq!(modes["."], 0o700);
    for (name, mode) in modes {
        assert_eq!(mode & 0o077, 0, "{name}");
    }
    drop(store);
}

/// A folder of an older version, or one that was copied, may be open to others. A link leads out of the folder.
#[test]
fn others_lose_access_to_a_folder_and_its_files_when_it_is_opened() {
    let parent = tempfile::tempdir().unwrap();
    let (folder, outside) = (parent.path().join("a"), parent.path().join("outside"));
    drop(EmbeddedStore::open(&folder, &Options::default()).unwrap());
    let open = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    for entry in fs::read_dir(&folder).unwrap() {
        open(&entry.unwrap().path(), 0o664);
    }
    open(&folder, 0o755);
    fs::write(&outside, b"").unwrap();
    open(&outside, 0o644);
    std::os::unix::fs::symlink(&outside, folder.join("link")).unwrap();
    drop(EmbeddedStore::open(&folder, &Options::default()).unwrap());
    let mut modes = modes(&folder);
    assert_eq!(modes.remove("link"), Some(0o644));
    assert_eq!(modes.remove("."), Some(0o700));
    assert!(modes.len() >= 3, "{modes:?}");
    for (name, mode) in modes {
        assert_eq!(mode, 0o600, "{name}");
    }
}

#[test]
fn a_second_store_on_one_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let first = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let second = EmbeddedStore::open(folder.path(), &Options::default());
    let expected = format!(
        "the store in `{}` is in use by process {}; stop that one first",
        folder.path().display(),
        std::process::id()
    );
    assert_eq!(second.err().unwrap().to_string(), expected);
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

#[test]
fn a_store_whose_disk_failed_still_reads_and_takes_no_more_writes() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let fails = Arc::new(AtomicBool::new(false));
    let failing = fails.clone();
    let options = Options {
        faults: Faults::new(move |_| failing.load(Ordering::SeqCst)),
        ..Options::default()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    for index in 1..=5 {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    fails.store(true, Ordering::SeqCst);
    let uncertain = runtime.block_on(send(&store, command(6)));
    assert!(
        matches!(uncertain, Err(WriteFailure::Uncertain { .. })),
        "{uncertain:?}"
    );
    for index in 7..9 {
        let refused = runtime.block_on(send(&store, command(index)));
        assert!(
            matches!(refused, Err(WriteFailure::Unavailable(_))),
            "{refused:?}"
        );
    }
    assert_eq!(digest_of(&store), digest(&expected(5)));
}

#[test]
fn the_state_holds_no_version_that_a_compaction_dropped() {
    const PAIRS: TableDefinition<'_, &[u8], &[u8]> = TableDefinition::new("pairs");
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    for index in 1..=500 {
        runtime.block_on(send(&store, command(index))).unwrap();
    }
    let at = store.live().revision();
    runtime.block_on(store.compact(at)).unwrap();
    let live = store.live().range(&Range::new(KeyRange::all())).unwrap();
    let deletes = store.live().inspect(|machine| {
        let changes = machine.changes(at);
        changes.filter(|kv| kv.is_tombstone()).count()
    });
    drop(store);
    let state = Database::open(folder.path().join("state.redb")).unwrap();
    let rows = state.begin_read().unwrap().open_table(PAIRS).unwrap().len();
    assert_eq!(rows.unwrap(), (live.count + deletes) as u64);
}

#[test]
fn a_lease_survives_a_restart_and_then_expires() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let mut options = Options::default();
        options.limits.lease_ttl_min_seconds = 1;
        EmbeddedStore::open(folder.path(), &options).unwrap()
    };
    let key = Key::new("leased").unwrap();
    let store = open();
    let lease = runtime.block_on(store.grant_lease(LeaseTtl(1))).unwrap();
    let put = Put {
        lease: PutLease::Set(lease.id),
        ..Put::new(key.clone(), "v")
    };
    let txn = Txn {
        success: vec![Op::Put(put)],
        ..Txn::default()
    };
    runtime.block_on(store.txn(txn.check(1).unwrap())).unwrap();
    drop(store);
    let store = open();
    let status = runtime.block_on(store.lease(lease.id)).unwrap().unwrap();
    assert_eq!(status.keys, [key.bytes()]);
    let mut watch = store.live().watch(WatchRequest {
        selector: WatchSelector::new(KeyRange::single(key)),
        from: None,
    });
    let message = runtime.block_on(watch.next()).unwrap();
    let WatchMessage::Events { events, .. } = message else {
        panic!("{message:?}");
    };
    assert_eq!(
        events.iter().map(Event::kind).collect::<Vec<_>>(),
        [EventKind::Delete]
    );
    assert_eq!(runtime.block_on(store.lease(lease.id)), Ok(None));
}

fn segments(folder: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("log-")).collect()
}
