//! Writers that continue through faults, and a check of the history against their acknowledgements.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_storage::{
    Key, KeyRange, Limits, Op, Put, Revision, Store, Txn, Watch, WatchMessage, WatchRequest,
    WatchSelector, WriteFailure,
};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{interval, timeout};

const WRITERS: usize = 4;
/// Shortest time between two attempts of a writer.
const RETRY_PAUSE: Duration = Duration::from_millis(5);
const TIMEOUT: Duration = Duration::from_secs(30);
/// Value of the marker that ends a load.
const END: &str = "end";

/// A change: its revision and its unique value.
pub(crate) type Change = (Revision, String);

/// Running writers.
pub(crate) struct Load {
    writers: JoinSet<Acknowledgements>,
    stop: watch::Sender<bool>,
    acknowledged: watch::Receiver<usize>,
}

/// Acknowledgements of one writer.
#[derive(Default)]
pub(crate) struct Acknowledgements {
    /// Value by revision.
    pub(crate) done: Vec<Change>,
    /// Values of writes with unknown outcome.
    pub(crate) doubtful: Vec<String>,
}

impl Load {
    pub(crate) fn start(store: &Arc<impl Store>) -> Self {
        let (stop, stopped) = watch::channel(false);
        let (count, acknowledged) = watch::channel(0);
        let count = Arc::new(count);
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let (store, count, stopped) = (store.clone(), count.clone(), stopped.clone());
            writers.spawn(async move {
                let mut acknowledgements = Acknowledgements::default();
                for nth in 0.. {
                    if *stopped.borrow() {
                        break;
                    }
                    write(&*store, format!("{writer}-{nth}"), &mut acknowledgements).await;
                    count.send_modify(|count| *count += 1);
                }
                acknowledgements
            });
        }
        Self {
            writers,
            stop,
            acknowledged,
        }
    }

    /// Waits until so many more writes have an outcome.
    pub(crate) async fn outcomes(&mut self, more: usize) {
        let target = *self.acknowledged.borrow() + more;
        let reached = self.acknowledged.wait_for(|count| *count >= target);
        let reached = timeout(TIMEOUT, reached).await;
        reached.expect("writers go on").unwrap();
    }

    pub(crate) async fn stop(self) -> Vec<Acknowledgements> {
        self.stop.send(true).unwrap();
        timeout(TIMEOUT, self.writers.join_all())
            .await
            .expect("writers come to an end")
    }
}

/// Writes one value, repeating it while it is known not to be written.
async fn write(store: &dyn Store, value: String, acknowledgements: &mut Acknowledgements) {
    let mut retries = interval(RETRY_PAUSE);
    loop {
        retries.tick().await;
        match store
            .txn(put(&format!("load/{value}"), value.clone()))
            .await
        {
            Ok(answer) => return acknowledgements.done.push((answer.revision, value)),
            Err(WriteFailure::Uncertain { .. }) => return acknowledgements.doubtful.push(value),
            Err(WriteFailure::Unavailable(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

pub(crate) fn put(key: &str, value: impl Into<Bytes>) -> lockstep_storage::CheckedTxn {
    let put = Put::new(Key::new(key.to_owned()).unwrap(), value);
    let txn = Txn {
        success: vec![Op::Put(put)],
        ..Txn::default()
    };
    txn.check(Limits::default().txn_ops_max).unwrap()
}

/// Watches the keys of the load.
pub(crate) async fn follow(store: &dyn Store, from: Revision) -> Watch {
    let selector = WatchSelector::new(KeyRange::prefix("load/"));
    let from = Some(from);
    store.watch(WatchRequest { selector, from }).await.unwrap()
}

/// Reads a watch up to the end marker.
pub(crate) async fn changes(mut watch: Watch) -> Vec<Change> {
    let mut changes = Vec::new();
    loop {
        let message = timeout(TIMEOUT, watch.next()).await;
        let message = message.expect("the watch goes on").unwrap();
        let WatchMessage::Events { events, .. } = message else {
            continue;
        };
        for event in events {
            let value = String::from_utf8(event.kv.value.to_vec()).unwrap();
            if value == END {
                return changes;
            }
            changes.push((event.kv.mod_revision, value));
        }
    }
}

/// Writes the end marker.
pub(crate) async fn mark_end(store: &dyn Store) {
    store.txn(put("load/end", END)).await.unwrap();
}

/// No acknowledged write is lost or duplicated, and every change belongs to a writer.
pub(crate) fn check_history(acknowledgements: &[Acknowledgements], history: &[Change]) {
    let revisions: Vec<_> = history.iter().map(|(revision, _)| *revision).collect();
    assert!(revisions.is_sorted(), "in order: {revisions:?}");
    let mut left: BTreeMap<_, _> = history
        .iter()
        .map(|(revision, value)| (value.clone(), *revision))
        .collect();
    assert_eq!(left.len(), history.len(), "each value is there once");
    for (revision, value) in acknowledgements
        .iter()
        .flat_map(|acknowledgements| &acknowledgements.done)
    {
        assert_eq!(left.remove(value), Some(*revision), "{value}");
    }
    for value in acknowledgements
        .iter()
        .flat_map(|acknowledgements| &acknowledgements.doubtful)
    {
        left.remove(value);
    }
    assert_eq!(left, BTreeMap::new());
}
