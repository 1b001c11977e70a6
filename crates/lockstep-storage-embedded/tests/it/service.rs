//! Operations for the etcd server, in addition to the `Store` contract.

use std::time::Duration;

use lockstep_mvcc::{
    Alarm, AlarmKind, Command, Key, LeaseId, Machine, MemberId, Put, Response, Revision, WriteError,
};
use lockstep_storage_embedded::{Durability, EmbeddedStore, Options};

fn raise(is_raised: bool) -> Command {
    let alarm = Alarm {
        member: MemberId(3),
        kind: AlarmKind::NoSpace,
    };
    Command::Alarm { alarm, is_raised }
}

fn put(value: Vec<u8>) -> Command {
    Command::Put(Put::new(Key::new("k").unwrap(), value))
}

#[tokio::test]
async fn an_alarm_survives_a_restart_from_the_log_and_from_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let open = || EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let store = open();
    let done = store.propose(raise(true)).await.unwrap();
    assert_eq!(
        (done.index, done.applied.response),
        (1, Ok(Response::Alarm))
    );
    drop(store);
    for restart in 0..2 {
        let store = open();
        let refused = store.propose(put(vec![1])).await.unwrap();
        assert_eq!(
            refused.applied.response,
            Err(WriteError::NoSpace),
            "{restart}"
        );
    }
    let store = open();
    store.propose(raise(false)).await.unwrap();
    drop(store);
    let done = open().propose(put(vec![1])).await.unwrap();
    assert!(done.applied.response.is_ok(), "{done:?}");
}

#[tokio::test]
async fn a_lease_keeps_the_id_that_the_client_chose() {
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let (id, ttl_seconds) = (LeaseId(77), 60);
    let grant = || store.propose(Command::LeaseGrant { id, ttl_seconds });
    let answers = [grant().await.unwrap(), grant().await.unwrap()];
    assert_eq!(
        answers.map(|done| done.applied.response),
        [
            Ok(Response::LeaseGrant { ttl_seconds }),
            Err(WriteError::LeaseExists)
        ]
    );
    assert_eq!(store.applied_index(), 2);
}

#[tokio::test]
async fn commands_that_take_long_are_counted() {
    let applies = async |slow_apply| {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            slow_apply,
            ..Options::default()
        };
        let store = EmbeddedStore::open(folder.path(), &options).unwrap();
        for _ in 0..3 {
            store.propose(put(vec![1])).await.unwrap();
        }
        store.slow_applies()
    };
    assert_eq!(applies(Duration::ZERO).await, 3);
    assert_eq!(applies(Duration::from_secs(3600)).await, 0);
}

#[tokio::test]
async fn a_packed_state_gives_back_what_a_compaction_freed() {
    const VALUE_BYTES: usize = 1 << 20;
    let folder = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    let mut last = None;
    for _ in 0..32 {
        last = Some(store.propose(put(vec![7; VALUE_BYTES])).await.unwrap());
    }
    store.settle().await.unwrap();
    let full = store.state_size().unwrap();
    assert!(full.row_bytes > 32 * VALUE_BYTES as u64, "{full:?}");
    let at = last.unwrap().applied.revision;
    store.propose(Command::Compact { at }).await.unwrap();
    store.settle().await.unwrap();
    let swept = store.state_size().unwrap();
    assert!(swept.row_bytes < 2 * VALUE_BYTES as u64, "{swept:?}");
    store.defragment().await.unwrap();
    let packed = store.state_size().unwrap();
    assert!(
        packed.file_bytes < full.file_bytes / 4,
        "{full:?} {packed:?}"
    );
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &Options::default()).unwrap();
    assert_eq!(store.state_size().unwrap().row_bytes, packed.row_bytes);
}

/// etcd-api.md §8/history-memory.
#[tokio::test]
async fn a_large_compaction_is_swept_in_pieces_and_settles() {
    const PUTS: u64 = 6000;
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        durability: Durability::None,
        ..Options::default()
    };
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    for _ in 0..PUTS {
        store.propose(put(vec![7; 100])).await.unwrap();
    }
    let at = Revision(PUTS + 1);
    store.propose(Command::Compact { at }).await.unwrap();
    store.settle().await.unwrap();
    assert!(store.live().inspect(Machine::is_swept));
    let size = store.state_size().unwrap();
    assert!(size.row_bytes < 1000, "{size:?}");
    drop(store);
    let store = EmbeddedStore::open(folder.path(), &options).unwrap();
    assert_eq!(store.live().revision(), at);
}
