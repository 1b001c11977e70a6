//! Crashes at every failpoint: acknowledged writes survive, and an uncertain write is applied completely or not at
//! all.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockstep_mvcc::{Key, KeyRange, Op, Put, Range, Revision, Txn};
use lockstep_storage::{Store, WriteFailure};
use lockstep_storage_embedded::{EmbeddedStore, Faults, Options, Step};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::workload::{command, digest, digest_of, expected, send};

/// Small segments and frequent checkpoints, so that every failpoint is reached often.
fn options(faults: Faults) -> Options {
    Options {
        segment_bytes: 4096,
        state_interval: Duration::ZERO,
        faults,
        ..Options::default()
    }
}

/// Sends commands until the store crashes; returns the last acknowledged index.
fn live_and_die(runtime: &Runtime, folder: &Path, first: u64, last: u64, faults: Faults) -> u64 {
    let Ok(store) = EmbeddedStore::open(folder, &options(faults)) else {
        return first - 1;
    };
    for index in first..=last {
        match runtime.block_on(send(&store, command(index))) {
            Ok(()) => {}
            Err(WriteFailure::Uncertain { .. } | WriteFailure::Unavailable(_)) => return index - 1,
            Err(other) => panic!("{other}"),
        }
    }
    last
}

/// Opens and verifies a directory after a crash; returns the last index in it.
fn check(folder: &Path, acknowledged: u64, what: &str) -> u64 {
    let store = EmbeddedStore::open(folder, &options(Faults::default()));
    let store = store.unwrap_or_else(|error| panic!("{what}: {error}"));
    let found = digest_of(&store);
    let doubtful = acknowledged + 1;
    if found == digest(&expected(acknowledged)) {
        return acknowledged;
    }
    // A command that changes nothing leaves no trace in the state, so this one may be it.
    let is_doubtful = found == digest(&expected(doubtful));
    assert!(
        is_doubtful,
        "{what}: neither {acknowledged} nor {doubtful} commands"
    );
    doubtful
}

#[test]
fn a_store_that_dies_at_any_step_keeps_what_it_acknowledged() {
    const COMMANDS: u64 = 120;
    let runtime = Runtime::new().unwrap();
    for step in Step::ALL {
        for nth in [1, 2, 7, 25] {
            let what = format!("{step:?}, time {nth}");
            let folder = tempfile::tempdir().unwrap();
            let died_at = live_and_die(
                &runtime,
                folder.path(),
                1,
                COMMANDS,
                Faults::dies_at(step, nth),
            );
            check(folder.path(), died_at, &what);
            // A second start changes nothing.
            check(folder.path(), died_at, &what);
        }
    }
}

#[test]
fn a_store_that_dies_again_and_again_goes_on_where_it_was() {
    let runtime = Runtime::new().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for round in 0..60 {
        let step = Step::ALL[round % Step::ALL.len()];
        let faults = Faults::dies_at(step, 1 + round % 5);
        let next = log_end(folder.path());
        // The indexes of the log go on, whether the command in doubt changed something or not.
        assert!(
            next == last + 1 || next == last + 2,
            "round {round}: {next} after {last}"
        );
        let died_at = live_and_die(&runtime, folder.path(), next, next + 9, faults);
        check(folder.path(), died_at, &format!("round {round}, {step:?}"));
        last = died_at;
    }
    assert!(last > 60, "the rounds got somewhere: {last}");
}

/// Upper bound of a writer's writes: on a fast disk the log would get far ahead of the state.
const NUMBERS_MAX: u64 = 300;

/// Puts increasing numbers under its own key until the store crashes; returns the last acknowledged number and its
/// revision.
async fn count_up(store: Arc<EmbeddedStore>, writer: usize) -> (u64, Revision) {
    let key = Key::new(format!("writer-{writer}")).unwrap();
    let mut acknowledged = (0, Revision::NONE);
    for number in 1..=NUMBERS_MAX {
        let put = Put::new(key.clone(), number.to_string());
        let txn = Txn {
            success: vec![Op::Put(put)],
            ..Txn::default()
        };
        match store.txn(txn.check(1).unwrap()).await {
            Ok(answer) => acknowledged = (number, answer.revision),
            Err(_) => break,
        }
    }
    acknowledged
}

#[test]
fn many_writers_keep_what_each_of_them_was_told() {
    const WRITERS: usize = 16;
    let runtime = Runtime::new().unwrap();
    for (round, step) in Step::ALL.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let faults = Faults::dies_at(step, 3 + 2 * round);
        let store = EmbeddedStore::open(folder.path(), &options(faults)).unwrap();
        let store = Arc::new(store);
        let told = runtime.block_on(async {
            let mut writers = JoinSet::new();
            for writer in 0..WRITERS {
                let store = store.clone();
                writers.spawn(async move { (writer, count_up(store, writer).await) });
            }
            writers.join_all().await
        });
        drop(store);
        let store = EmbeddedStore::open(folder.path(), &options(Faults::default())).unwrap();
        for (writer, (number, revision)) in told {
            let key = Key::new(format!("writer-{writer}")).unwrap();
            let found = store
                .live()
                .range(&Range::new(KeyRange::single(key)))
                .unwrap();
            let found = found.kvs.first();
            let value = found.map_or("0".into(), |kv| String::from_utf8_lossy(&kv.value));
            let value: u64 = value.parse().unwrap();
            assert!(
                value == number || value == number + 1,
                "{step:?}: {value} after {number}"
            );
            if value == number && number > 0 {
                assert_eq!(found.map(|kv| kv.mod_revision), Some(revision), "{step:?}");
            }
        }
    }
}

/// The index that the next command gets.
fn log_end(folder: &Path) -> u64 {
    let store = EmbeddedStore::open(folder, &options(Faults::default())).unwrap();
    store.next_index()
}
