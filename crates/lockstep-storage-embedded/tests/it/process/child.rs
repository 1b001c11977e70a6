//! The child process that is killed.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::{
    Consistency, DeleteRange, Key, KeyRange, LeaseId, LeaseTtl, Op, Put, PutLease, Range, Revision,
    Store, Txn,
};
use lockstep_storage_embedded::{EmbeddedStore, Faults, Options, Step};
use tokio::task::JoinSet;

/// Environment variable with the directory; makes this program a child.
pub(crate) const FOLDER: &str = "LOCKSTEP_TEST_CRASH_FOLDER";
/// Arguments that start this test program as a child.
pub(crate) const ARGUMENTS: [&str; 5] = [
    "--exact",
    "process::child::writes_until_it_dies",
    "--nocapture",
    "--test-threads",
    "1",
];
/// Environment variable with the failpoint and its occurrence.
pub(super) const STEP: &str = "LOCKSTEP_TEST_CRASH_STEP";
/// Prefix of lines for the parent; the first one follows the name of the test.
pub(crate) const MARK: &str = "@@ ";

pub(super) const WRITERS: u64 = 4;
/// A TTL long enough that no lease expires.
pub(super) const TTL_SECONDS: i64 = 1_000_000;

/// The value of a writer's keys after its nth write; `None` if the nth write is a delete.
pub(super) fn value(nth: u64) -> Option<Vec<u8>> {
    let length = usize::try_from(nth * 31 % 300).unwrap();
    (nth % 5 != 4).then(|| format!("{nth}-{}", "v".repeat(length)).into_bytes())
}

/// Does nothing unless started by the parent.
#[test]
fn writes_until_it_dies() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let options = Options {
        segment_bytes: 4096,
        state_interval: Duration::from_millis(2),
        faults: faults(),
        ..Options::default()
    };
    let store = EmbeddedStore::open(Path::new(&folder), &options);
    let store = Arc::new(store.unwrap_or_else(|error| {
        tell(&format!("refused {error}"));
        panic!("{error}");
    }));
    tell(&format!("opened {}", store.live().revision()));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            writers.spawn(write(store.clone(), writer));
        }
        writers.join_all().await;
    });
}

fn faults() -> Faults {
    let Ok(wanted) = std::env::var(STEP) else {
        return Faults::default();
    };
    let (name, nth) = wanted.split_once(' ').unwrap();
    let mut steps = Step::ALL.into_iter();
    let step = steps.find(|step| format!("{step:?}") == name).unwrap();
    Faults::dies_at(step, nth.parse().unwrap()).aborting()
}

/// Writes one line with a single system call, so that it arrives completely or not at all.
fn tell(line: &str) {
    let line = format!("{MARK}{line}\n");
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

pub(super) fn key(writer: u64, name: &str) -> Key {
    Key::new(format!("{writer}/{name}")).unwrap()
}

/// Writes for ever: transactions of three keys, with occasional compactions, lease grants and revocations.
async fn write(store: Arc<EmbeddedStore>, writer: u64) {
    let mut nth = last_write(&*store, writer).await;
    loop {
        nth += 1;
        tell(&format!("write? {writer} {nth}"));
        let revision = store.txn(txn(writer, nth).check(8).unwrap()).await;
        let revision = revision.unwrap().revision;
        tell(&format!("write! {writer} {nth} {revision}"));
        if nth % 7 == writer {
            let at = Revision(revision.0.saturating_sub(20));
            tell(&format!("compact? {writer} {at}"));
            // Another writer may have compacted a later revision.
            if store.compact(at).await.is_ok() {
                tell(&format!("compact! {writer} {at}"));
            } else {
                tell(&format!("compact- {writer} {at}"));
            }
        }
        if nth % 6 == 1 {
            tell(&format!("grant? {writer} 0"));
            let id = store.grant_lease(LeaseTtl(TTL_SECONDS)).await.unwrap().id;
            tell(&format!("grant! {writer} {id}"));
            if nth % 12 == 1 {
                leave_on(&*store, writer, id).await;
                tell(&format!("revoke? {writer} {id}"));
                store.revoke_lease(id).await.unwrap();
                tell(&format!("revoke! {writer} {id}"));
            }
        }
    }
}

async fn last_write(store: &dyn Store, writer: u64) -> u64 {
    let range = Range::new(KeyRange::single(key(writer, "nth")));
    let found = store.range(range, Consistency::Linearizable).await.unwrap();
    let found = found.kvs.first();
    found.map_or(0, |kv| String::from_utf8_lossy(&kv.value).parse().unwrap())
}

fn txn(writer: u64, nth: u64) -> Txn {
    let mut success = vec![Op::Put(Put::new(key(writer, "nth"), nth.to_string()))];
    success.extend(["a", "b"].map(|name| match value(nth) {
        Some(value) => Op::Put(Put::new(key(writer, name), value)),
        None => Op::DeleteRange(DeleteRange::new(KeyRange::single(key(writer, name)))),
    }));
    Txn {
        success,
        ..Txn::default()
    }
}

/// Attaches a key to a lease.
async fn leave_on(store: &dyn Store, writer: u64, lease: LeaseId) {
    let put = Put {
        lease: PutLease::Set(lease),
        ..Put::new(key(writer, "leased"), "v")
    };
    let txn = Txn {
        success: vec![Op::Put(put)],
        ..Txn::default()
    };
    store.txn(txn.check(1).unwrap()).await.unwrap();
}
