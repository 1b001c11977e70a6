//! Clocks that jump, readers that never read, and requests that are large or many.

use std::sync::Arc;

use lockstep_mvcc::{Command, LeaseId, Machine, Millis, Put, PutLease};
use lockstep_storage::{
    Consistency, Key, KeyRange, Live, Op, Range, RequestError, Store, Txn, WatchError,
    WatchMessage, WatchRequest, WatchSelector,
};
use lockstep_storage_embedded::{EmbeddedStore, Options};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const SECOND: u64 = 1000;
const YEAR: u64 = 365 * 24 * 3600 * SECOND;
const LEASE: LeaseId = LeaseId(1);

fn key(name: &str) -> Key {
    Key::new(name.to_owned()).unwrap()
}

fn put(name: &str, value: Vec<u8>) -> Op {
    Op::Put(Put::new(key(name), value))
}

fn txn(success: Vec<Op>) -> Txn {
    Txn {
        success,
        ..Txn::default()
    }
}

/// A machine with a lease of ten seconds and a key on it.
fn leased(now: Millis) -> Arc<Live> {
    let live = Live::new(Machine::default(), now);
    let id = LEASE;
    let grant = Command::LeaseGrant {
        id,
        ttl_seconds: 10,
    };
    live.apply(grant, now);
    let put = Put {
        lease: PutLease::Set(LEASE),
        ..Put::new(key("k"), "v")
    };
    live.apply(Command::Put(put), now);
    live
}

fn count(live: &Live) -> usize {
    live.range(&Range::new(KeyRange::all())).unwrap().count
}

#[test]
fn a_clock_that_jumps_forward_expires_leases_once_and_revives_none() {
    let live = leased(Millis(YEAR));
    let later = Millis(3 * YEAR);
    assert_eq!(live.expired_leases(later, 10), [LEASE]);
    assert_eq!(live.keep_lease_alive(LEASE, later), None);
    // Time goes back before the lease was revoked: it waits for the deadline that it has.
    assert_eq!(live.expired_leases(Millis(YEAR), 10), []);
    live.apply(Command::LeaseRevoke { id: LEASE }, later);
    assert_eq!((live.expired_leases(later, 10), count(&live)), (vec![], 0));
    assert_eq!(live.keep_lease_alive(LEASE, Millis(YEAR)), None);
}

#[test]
fn a_clock_that_jumps_back_expires_no_lease_early_and_keeps_it_renewable() {
    let live = leased(Millis(YEAR));
    let before = Millis(YEAR - 3600 * SECOND);
    assert_eq!((live.expired_leases(before, 10), count(&live)), (vec![], 1));
    // A renewal counts from the time as it is now.
    assert_eq!(live.keep_lease_alive(LEASE, before), Some(10));
    assert_eq!(
        live.next_lease_deadline(),
        Some(Millis(before.0 + 10 * SECOND))
    );
    assert_eq!(
        live.expired_leases(Millis(before.0 + 10 * SECOND), 10),
        [LEASE]
    );
    assert_eq!(
        live.lease(LEASE, Millis(0)).unwrap().granted_ttl_seconds,
        10
    );
}

#[test]
fn a_watcher_that_never_reads_holds_nothing_and_is_closed_by_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(async {
        let request = || WatchRequest {
            selector: WatchSelector::new(KeyRange::all()),
            from: None,
        };
        let mut idle = store.watch(request()).await.unwrap();
        let mut busy = store.watch(request()).await.unwrap();
        let mut last = lockstep_storage::Revision::NONE;
        for nth in 0..200_u32 {
            let op = put("k", nth.to_le_bytes().to_vec());
            let answer = store.txn(txn(vec![op]).check(1).unwrap()).await;
            last = answer.unwrap().revision;
            let message = busy.next().await.unwrap();
            let WatchMessage::Events { events, .. } = message else {
                panic!("{message:?}");
            };
            assert_eq!(events[0].kv.mod_revision, last, "others are not held up");
        }
        store.compact(last).await.unwrap();
        let compacted = last;
        assert_eq!(idle.next().await, Err(WatchError::Compacted { compacted }));
        let text = idle.next().await.unwrap_err().to_string();
        assert_eq!(
            text,
            "etcdserver: mvcc: required revision has been compacted"
        );
    });
}

#[test]
fn a_transaction_above_the_limit_is_refused_in_the_words_that_clients_know() {
    let ops = |count: usize| {
        (0..count)
            .map(|nth| put(&nth.to_string(), vec![]))
            .collect()
    };
    let limit = Options::default().limits.txn_ops_max;
    assert!(txn(ops(limit)).check(limit).is_ok());
    let refused = txn(ops(limit + 1)).check(limit).unwrap_err();
    assert_eq!(refused, RequestError::TooManyOps);
    assert_eq!(
        refused.to_string(),
        "etcdserver: too many operations in txn request"
    );
}

#[test]
fn a_value_larger_than_a_segment_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        segment_bytes: 4096,
        ..Options::default()
    };
    let runtime = Runtime::new().unwrap();
    let large: Vec<u8> = (0..3_000_000_u32).map(|nth| nth.to_le_bytes()[0]).collect();
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    for value in [vec![1], large.clone(), vec![2]] {
        let name = value.len().to_string();
        let checked = txn(vec![put(&name, value)]).check(1).unwrap();
        runtime.block_on(store.txn(checked)).unwrap();
    }
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    let range = Range::new(KeyRange::single(key("3000000")));
    let found = runtime.block_on(store.range(range, Consistency::Linearizable));
    assert!(found.unwrap().kvs[0].value == large);
}

#[test]
fn more_writers_than_the_queue_holds_are_all_served() {
    const WRITERS: usize = 6000;
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(EmbeddedStore::open(folder.path(), &Options::default()).unwrap());
    let revisions = Runtime::new().unwrap().block_on(async {
        let mut writers = JoinSet::new();
        for nth in 0..WRITERS {
            let (store, checked) = (
                store.clone(),
                txn(vec![put(&nth.to_string(), vec![])]).check(1).unwrap(),
            );
            writers.spawn(async move { store.txn(checked).await.unwrap().revision });
        }
        writers.join_all().await
    });
    let distinct: std::collections::BTreeSet<_> = revisions.into_iter().collect();
    assert_eq!(distinct.len(), WRITERS);
    assert_eq!(count(store.live()), WRITERS);
}
