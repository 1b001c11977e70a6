//! Directories restored from a snapshot.

use lockstep_mvcc::{LeaseTtl, Machine};
use lockstep_storage::Store;
use lockstep_storage_embedded::{EmbeddedStore, Inspection, Options, restore};
use tokio::runtime::Runtime;

use crate::rng::fast_folder;
use crate::workload::{digest, digest_of, expected};

fn options() -> Options {
    Options {
        segment_bytes: 1 << 16,
        ..Options::default()
    }
}

#[test]
fn a_restored_store_has_the_same_state_and_goes_on() {
    for commands in [0, 1, 45, 60] {
        let machine = expected(commands);
        let parent = fast_folder();
        let folder = parent.path().join("new");
        restore(&folder, &machine, &options()).unwrap();
        let inspection = Inspection::of(&folder).unwrap();
        assert_eq!(inspection.findings, [], "after {commands} commands");
        assert_eq!(
            inspection.machine.as_ref().map(digest),
            Some(digest(&machine))
        );
        let runtime = Runtime::new().unwrap();
        for _ in 0..2 {
            let store = EmbeddedStore::open(&folder, &options()).unwrap();
            // A new lease gets an id that no restored lease has.
            let granted = runtime.block_on(store.grant_lease(LeaseTtl(1000))).unwrap();
            assert_eq!(machine.lease(granted.id).map(|_| granted.id), None);
        }
        let store = EmbeddedStore::open(&folder, &options()).unwrap();
        let leases = |machine: &Machine| machine.leases().len();
        assert_eq!(store.live().inspect(leases), leases(&machine) + 2);
        assert_eq!(store.live().revision(), machine.revision());
        drop(store);
    }
}

#[test]
fn nothing_is_restored_over_something() {
    let parent = fast_folder();
    let folder = parent.path().join("taken");
    restore(&folder, &expected(20), &options()).unwrap();
    let refused = restore(&folder, &expected(30), &options())
        .unwrap_err()
        .to_string();
    let shown = folder.display();
    let text = format!("`{shown}` is not empty; choose a directory that does not exist yet");
    assert_eq!(refused, text);
    let store = EmbeddedStore::open(&folder, &options()).unwrap();
    assert_eq!(digest_of(&store), digest(&expected(20)));
}

#[test]
fn a_restore_that_was_interrupted_does_not_open() {
    let parent = fast_folder();
    let folder = parent.path().join("half");
    restore(&folder, &expected(20), &options()).unwrap();
    std::fs::remove_file(folder.join("state.redb")).unwrap();
    let refused = EmbeddedStore::open(&folder, &options()).err();
    let segment = folder.join("log-0000000000000000.seg");
    let text = format!(
        "`{}` is missing; restore it from a backup",
        segment.display()
    );
    assert_eq!(refused.map(|error| error.to_string()), Some(text));
}
