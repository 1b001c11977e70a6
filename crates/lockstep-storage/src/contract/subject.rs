//! A store under test, with shorthands for the operations of the rules.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_mvcc::{
    CheckedTxn, Compare, Comparison, DeleteRange, Event, Key, KeyRange, KeyValue, LeaseId, Limits,
    Op, OpResponse, Predicate, Put, PutLease, Range, RangeResponse, Revision, Txn, TxnResponse,
    WatchSelector,
};

use crate::{Consistency, ReadFailure, Store, Watch, WatchMessage, WatchRequest, WriteFailure};

/// Timeout of everything a rule waits for.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A store under test and the keys that a rule may use.
#[derive(Clone)]
pub struct Subject {
    store: Arc<dyn Store>,
    prefix: String,
}

impl Subject {
    /// A subject that may use every key.
    pub fn new(store: Arc<dyn Store>) -> Self {
        let prefix = String::new();
        Self { store, prefix }
    }

    pub(super) fn under(self, name: &str) -> Self {
        let prefix = format!("{}/{name}/", self.prefix);
        Self { prefix, ..self }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(super) fn key(&self, name: &str) -> Key {
        Key::new(format!("{}{name}", self.prefix)).expect("a key with a prefix is not empty")
    }

    pub(super) fn single(&self, name: &str) -> KeyRange {
        KeyRange::single(self.key(name))
    }

    /// Every key of the rule.
    pub(super) fn all(&self) -> KeyRange {
        KeyRange::prefix(self.prefix.clone())
    }

    /// The key without the rule's prefix.
    pub(super) fn name(&self, key: &Bytes) -> String {
        let name = key.strip_prefix(self.prefix.as_bytes());
        String::from_utf8_lossy(name.expect("a key of this rule")).into_owned()
    }

    pub(super) fn names(&self, answer: &RangeResponse) -> Vec<String> {
        answer.kvs.iter().map(|kv| self.name(&kv.key)).collect()
    }

    pub(super) fn pairs(&self, answer: &RangeResponse) -> Vec<String> {
        answer.kvs.iter().map(|kv| self.pair(kv)).collect()
    }

    pub(super) fn pair(&self, kv: &KeyValue) -> String {
        format!(
            "{}={}",
            self.name(&kv.key),
            String::from_utf8_lossy(&kv.value)
        )
    }

    pub(super) fn put_op(&self, name: &str, value: &str) -> Op {
        Op::Put(Put::new(self.key(name), value.to_owned()))
    }

    pub(super) fn delete_op(&self, name: &str) -> Op {
        Op::DeleteRange(DeleteRange::new(self.single(name)))
    }

    pub(super) fn get_op(&self, name: &str) -> Op {
        Op::Range(Range::new(self.single(name)))
    }

    pub(super) fn mod_is(&self, name: &str, revision: Revision) -> Compare {
        let revision = i64::try_from(revision.0).expect("revisions are small");
        self.compare(name, Comparison::Equal, Predicate::ModRevision(revision))
    }

    pub(super) fn compare(
        &self,
        name: &str,
        comparison: Comparison,
        predicate: Predicate,
    ) -> Compare {
        Compare {
            keys: self.single(name),
            comparison,
            predicate,
        }
    }

    pub(super) async fn range(&self, range: Range) -> Result<RangeResponse, ReadFailure> {
        self.store.range(range, Consistency::Linearizable).await
    }

    pub(super) async fn read(&self, range: Range) -> RangeResponse {
        self.range(range).await.expect("the revision is kept")
    }

    pub(super) async fn list(&self) -> Vec<String> {
        self.pairs(&self.read(Range::new(self.all())).await)
    }

    pub(super) async fn get(&self, name: &str) -> Option<Arc<KeyValue>> {
        let answer = self.read(Range::new(self.single(name))).await;
        answer.kvs.into_iter().next()
    }

    pub(super) async fn try_txn(&self, txn: Txn) -> Result<TxnResponse, WriteFailure> {
        self.store.txn(checked(txn)).await
    }

    pub(super) async fn txn(&self, txn: Txn) -> TxnResponse {
        self.try_txn(txn)
            .await
            .expect("the transaction is possible")
    }

    /// Runs operations in a transaction without compares.
    pub(super) async fn run(&self, ops: Vec<Op>) -> TxnResponse {
        let txn = Txn {
            success: ops,
            ..Txn::default()
        };
        self.txn(txn).await
    }

    pub(super) async fn put(&self, name: &str, value: &str) -> Revision {
        self.run(vec![self.put_op(name, value)]).await.revision
    }

    pub(super) async fn put_leased(&self, name: &str, lease: LeaseId) -> Revision {
        let put = Put {
            lease: PutLease::Set(lease),
            ..Put::new(self.key(name), "leased")
        };
        self.run(vec![Op::Put(put)]).await.revision
    }

    pub(super) async fn delete(&self, name: &str) -> Revision {
        self.run(vec![self.delete_op(name)]).await.revision
    }

    pub(super) async fn compact(&self, at: Revision) {
        let compacted = self.store.compact(at).await;
        compacted.expect("the revision can be compacted");
    }

    pub(super) async fn size(&self) -> u64 {
        self.store.size().await.expect("the store tells its size")
    }

    pub(super) async fn watch(&self, selector: WatchSelector, from: Option<Revision>) -> Watch {
        let request = WatchRequest { selector, from };
        let watch = self.store.watch(request).await;
        watch.expect("a watch can be made")
    }

    pub(super) async fn watch_all(&self, from: Option<Revision>) -> Watch {
        self.watch(WatchSelector::new(self.all()), from).await
    }

    /// Reads messages until `count` events arrived.
    pub(super) async fn events(&self, watch: &mut Watch, count: usize) -> Vec<Event> {
        let mut events = Vec::new();
        while events.len() < count {
            match within_timeout(watch.next())
                .await
                .expect("the watch goes on")
            {
                WatchMessage::Events { events: some, .. } => events.extend(some),
                WatchMessage::Progress { .. } => {}
            }
        }
        events
    }

    /// Formats events: `+a=1` for a put, `-a` for a delete.
    pub(super) fn shown(&self, events: &[Event]) -> Vec<String> {
        let show = |event: &Event| {
            if event.kv.is_tombstone() {
                format!("-{}", self.name(&event.kv.key))
            } else {
                format!("+{}", self.pair(&event.kv))
            }
        };
        events.iter().map(show).collect()
    }
}

/// The range responses of a transaction, in order.
pub(super) fn reads(answer: TxnResponse) -> Vec<RangeResponse> {
    let reads = answer.responses.into_iter();
    reads
        .filter_map(|response| match response {
            OpResponse::Range(range) => Some(range),
            OpResponse::Put(_) | OpResponse::DeleteRange(_) | OpResponse::Txn(_) => None,
        })
        .collect()
}

pub(super) fn checked(txn: Txn) -> CheckedTxn {
    let checked = txn.check(Limits::default().txn_ops_max);
    checked.expect("the rule's transaction is well formed")
}

/// Awaits a future with [`TIMEOUT`].
pub(super) async fn within_timeout<T>(future: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(TIMEOUT, future).await;
    waited.expect("what the rule waits for happens")
}
