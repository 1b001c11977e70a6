//! Regression tests for known bugs of etcd-like stores: etcd-api.md, "Known-bug regression list", for a single
//! member. Bugs that any store can have are covered by the contract and the histories; these need a disk, a crash
//! or a restart.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::{
    Consistency, DeleteRange, Event, Key, KeyRange, Op, Put, Range, ReadError, Revision, Store,
    Txn, TxnResponse, WatchMessage, WatchRequest, WatchSelector, WriteError, WriteFailure,
};
use lockstep_storage_embedded::{EmbeddedStore, Faults, FileAction, Inspection, Options, Step};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::rng::fast_folder;
use crate::workload::{command, digest, digest_of, send};

fn open(folder: &Path, faults: Faults) -> EmbeddedStore {
    let options = Options {
        segment_bytes: 4096,
        state_interval: Duration::ZERO,
        faults,
        ..Options::default()
    };
    EmbeddedStore::open(folder, &options).unwrap()
}

fn key(name: &str) -> Key {
    Key::new(name.to_owned()).unwrap()
}

fn put(name: &str, value: &str) -> Op {
    Op::Put(Put::new(key(name), value.to_owned()))
}

fn delete(name: &str) -> Op {
    Op::DeleteRange(DeleteRange::new(KeyRange::single(key(name))))
}

async fn run(store: &EmbeddedStore, success: Vec<Op>) -> Result<TxnResponse, WriteFailure> {
    let txn = Txn {
        success,
        ..Txn::default()
    };
    store.txn(txn.check(8).unwrap()).await
}

async fn events(store: &EmbeddedStore, from: Revision, count: usize) -> Vec<Event> {
    let request = WatchRequest {
        selector: WatchSelector::new(KeyRange::all()),
        from: Some(from),
    };
    let mut watch = store.watch(request).await.unwrap();
    let mut all = Vec::new();
    while all.len() < count {
        if let WatchMessage::Events { events, .. } = watch.next().await.unwrap() {
            all.extend(events);
        }
    }
    all
}

/// "revision inconsistent after crash under load": the state and the commands of the log have to
/// amount to the same, whichever of them a crash left behind.
#[test]
fn revisions_are_consistent_after_a_crash_under_load() {
    let runtime = Runtime::new().unwrap();
    for step in Step::ALL {
        let folder = fast_folder();
        let store = Arc::new(open(folder.path(), Faults::dies_at(step, 2)));
        let told = runtime.block_on(async {
            let mut writers = JoinSet::new();
            for writer in 0..8 {
                let store = store.clone();
                writers.spawn(async move {
                    let mut last = Revision::NONE;
                    for nth in 0..200 {
                        let ops = vec![put(&format!("{writer}"), &format!("{nth}"))];
                        match run(&store, ops).await {
                            Ok(answer) => last = answer.revision,
                            Err(_) => break,
                        }
                    }
                    last
                });
            }
            writers.join_all().await.into_iter().max().unwrap()
        });
        drop(store);
        let machine = Inspection::of(folder.path()).unwrap().machine.unwrap();
        assert!(machine.revision() >= told, "{step:?}");
        let store = open(folder.path(), Faults::default());
        assert_eq!(digest_of(&store), digest(&machine), "{step:?}");
        let next = runtime
            .block_on(run(&store, vec![put("next", "")]))
            .unwrap();
        assert_eq!(next.revision, machine.revision().next(), "{step:?}");
    }
}

/// "single member loses an acked write (reply before fsync)".
#[test]
fn no_write_is_acknowledged_before_its_bytes_are_safe() {
    let runtime = Runtime::new().unwrap();
    let folder = fast_folder();
    let is_unsafe = Arc::new(Mutex::new(false));
    let seen = is_unsafe.clone();
    let faults = Faults::default().on_files(move |file, action| {
        if file.starts_with("log-") {
            match action {
                FileAction::Write { .. } => *seen.lock() = true,
                FileAction::Sync => *seen.lock() = false,
                _ => {}
            }
        }
        Ok(())
    });
    let store = open(folder.path(), faults);
    for index in 1..=200 {
        runtime.block_on(send(&store, command(index))).unwrap();
        assert!(!*is_unsafe.lock(), "command {index}");
    }
}

/// "revision decreasing after crash in compaction": also when the compacted keys held the newest
/// revision and are gone.
#[test]
fn the_revision_never_decreases_after_a_crash_in_a_compaction() {
    let runtime = Runtime::new().unwrap();
    for step in Step::ALL {
        for nth in 1..=3 {
            let folder = fast_folder();
            let store = open(folder.path(), Faults::default());
            let newest = runtime.block_on(async {
                for nth in 0..50 {
                    run(&store, vec![put("k", &nth.to_string())]).await.unwrap();
                }
                run(&store, vec![delete("k")]).await.unwrap().revision
            });
            drop(store);
            let options = Options {
                segment_bytes: 4096,
                state_interval: Duration::ZERO,
                faults: Faults::dies_at(step, nth),
                ..Options::default()
            };
            if let Ok(store) = EmbeddedStore::open(folder.path(), &options) {
                // Acknowledged or not, the compaction is applied completely or not at all.
                drop(runtime.block_on(store.compact(newest)));
            }
            let store = open(folder.path(), Faults::default());
            let what = format!("{step:?}, time {nth}");
            assert_eq!(store.live().revision(), newest, "{what}");
            let compacted = store.live().inspect(lockstep_mvcc::Machine::compacted);
            assert!([Revision::NONE, newest].contains(&compacted), "{what}");
            let next = runtime
                .block_on(run(&store, vec![put("k", "new")]))
                .unwrap();
            assert_eq!(next.revision, newest.next(), "{what}");
        }
    }
}

/// "watch drops event when compacting on a delete", "missing delete event at compaction revision":
/// the event is there after a restart too.
#[test]
fn a_delete_at_the_compacted_revision_is_delivered_after_a_restart() {
    let runtime = Runtime::new().unwrap();
    let folder = fast_folder();
    let store = open(folder.path(), Faults::default());
    let deleted = runtime.block_on(async {
        run(&store, vec![put("a", "1"), put("b", "1")])
            .await
            .unwrap();
        let deleted = run(&store, vec![delete("a"), put("b", "2")]).await.unwrap();
        store.compact(deleted.revision).await.unwrap();
        deleted.revision
    });
    let shown = |events: &[Event]| -> Vec<String> {
        let show = |event: &Event| format!("{:?} {:?}", event.kind(), event.kv.key);
        events.iter().map(show).collect()
    };
    let expected = ["Delete b\"a\"", "Put b\"b\""];
    let before = runtime.block_on(events(&store, deleted, 2));
    assert_eq!(shown(&before), expected);
    drop(store);
    let store = open(folder.path(), Faults::default());
    let after = runtime.block_on(events(&store, deleted, 2));
    assert_eq!(shown(&after), expected);
    assert_eq!(after, before);
}

/// "compacted read inside a write txn": it fails when it is sent and when it is read back from the
/// log, and leaves nothing either time.
#[test]
fn a_compacted_read_inside_a_write_fails_alike_after_a_restart() {
    let runtime = Runtime::new().unwrap();
    let folder = fast_folder();
    // The state is not written before the end, and then not either: everything is read back from
    // the log.
    let options = Options {
        segment_bytes: 4096,
        state_interval: Duration::from_secs(3600),
        faults: Faults::new(|step| step == Step::StateBegun),
        ..Options::default()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    runtime.block_on(async {
        run(&store, vec![put("k", "1")]).await.unwrap();
        let compacted = run(&store, vec![put("k", "2")]).await.unwrap().revision;
        store.compact(compacted).await.unwrap();
        let old = Range {
            at: Some(compacted.previous()),
            ..Range::new(KeyRange::all())
        };
        let refused = run(&store, vec![put("never", "v"), Op::Range(old)]).await;
        let error = WriteError::Read(ReadError::Compacted { compacted });
        assert_eq!(refused, Err(WriteFailure::Refused(error)));
    });
    let before = digest_of(&store);
    drop(store);
    let store = open(folder.path(), Faults::default());
    assert_eq!(digest_of(&store), before);
    let never = Range::new(KeyRange::single(key("never")));
    let never = runtime.block_on(store.range(never, Consistency::Linearizable));
    assert_eq!(never.unwrap().count, 0);
}

/// "duplicated event", and "compaction racing the catch-up": a watcher that follows closely sees
/// each revision once, however often history is dropped behind it.
#[test]
fn a_watcher_that_races_with_compactions_sees_every_revision_once() {
    let runtime = Runtime::new().unwrap();
    let folder = fast_folder();
    let store = Arc::new(open(folder.path(), Faults::default()));
    runtime.block_on(async {
        let request = WatchRequest {
            selector: WatchSelector::new(KeyRange::all()),
            from: None,
        };
        let mut watch = store.watch(request).await.unwrap();
        let first = watch.started_at().next();
        let mut seen = Vec::new();
        for nth in 0..300 {
            let ops = vec![if nth % 4 == 3 {
                delete("k")
            } else {
                put("k", "v")
            }];
            let at = run(&store, ops).await.unwrap().revision;
            while seen.last() != Some(&at) {
                let message = watch.next().await.unwrap();
                if let WatchMessage::Events { events, .. } = message {
                    seen.extend(events.iter().map(|event| event.kv.mod_revision));
                }
            }
            store.compact(at).await.unwrap();
        }
        let all: Vec<_> = (first.0..first.0 + 300).map(Revision).collect();
        assert_eq!(seen, all);
    });
}

/// "future-revision watch": it stays silent until its revision is reached, also if the store was reopened before.
#[test]
fn a_watch_from_the_future_begins_with_its_revision_after_a_restart() {
    let runtime = Runtime::new().unwrap();
    let folder = fast_folder();
    let store = open(folder.path(), Faults::default());
    let last = runtime
        .block_on(run(&store, vec![put("k", "old")]))
        .unwrap();
    drop(store);
    let store = open(folder.path(), Faults::default());
    runtime.block_on(async {
        let from = last.revision.next().next();
        let request = WatchRequest {
            selector: WatchSelector::new(KeyRange::all()),
            from: Some(from),
        };
        let mut watch = store.watch(request).await.unwrap();
        watch.request_progress();
        for value in ["early", "first"] {
            run(&store, vec![put("k", value)]).await.unwrap();
        }
        let first = loop {
            match watch.next().await.unwrap() {
                WatchMessage::Events { events, .. } => break events[0].kv.clone(),
                WatchMessage::Progress { progress } => assert!(progress.next() >= from),
            }
        };
        assert_eq!(
            (first.mod_revision, &first.value[..]),
            (from, &b"first"[..])
        );
    });
}
