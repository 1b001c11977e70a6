//! Clients that send random requests and record the responses.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use lockstep_mvcc::{
    Compare, Comparison, DeleteRange, Key, KeyRange, Limits, Op, OpResponse, Predicate, Put, Range,
    RangeResponse, Revision, Txn,
};

use super::{Outcome, RecordedRequest, Request, Rng, Ticks};
use crate::contract::subject::within_timeout;
use crate::{Consistency, Store, WriteFailure};

/// Few keys, so that requests of different clients conflict.
const KEYS: u64 = 5;
/// Distance between a compaction and the newest revision, so that most watchers survive it.
const COMPACTION_LAG: u64 = 60;

/// Everything under the clients' prefix.
pub(super) fn all_keys() -> KeyRange {
    KeyRange::prefix("histories/")
}

pub(super) fn key(nth: u64) -> Key {
    Key::new(format!("histories/{nth}")).expect("not empty")
}

/// A client that issues one request at a time.
pub(super) struct Client {
    name: usize,
    store: (usize, Arc<dyn Store>),
    ticks: Ticks,
    rng: Rng,
    /// True if the client drops the futures of some of its writes.
    pub(super) abandons: bool,
    start: Revision,
    /// The newest revision in any response so far.
    seen: Revision,
    /// Last known mod revision of each key.
    changed: BTreeMap<Bytes, Revision>,
    written: u64,
}

impl Client {
    pub(super) fn new(
        name: usize,
        store: (usize, Arc<dyn Store>),
        ticks: Ticks,
        rng: Rng,
        start: Revision,
    ) -> Self {
        Self {
            name,
            store,
            ticks,
            rng,
            abandons: false,
            start,
            seen: start,
            changed: BTreeMap::new(),
            written: 0,
        }
    }

    pub(super) async fn run(mut self, requests: usize) -> Vec<RecordedRequest> {
        let mut recorded = Vec::with_capacity(requests);
        for _ in 0..requests {
            let request = self.choose();
            recorded.push(self.ask(request).await);
            if self.rng.one_in(3) {
                tokio::task::yield_now().await;
            }
        }
        recorded
    }

    /// Writes a key that no other request touches, without abandoning it.
    pub(super) async fn put_last(&mut self) -> RecordedRequest {
        let put = self.put(key(KEYS));
        self.ask(Request::Txn(only(vec![put]))).await
    }

    fn choose(&mut self) -> Request {
        let (a, b) = (self.rng.below(KEYS), self.rng.below(KEYS - 1));
        // Never equal to `a`.
        let b = (a + 1 + b) % KEYS;
        let read = |nth| Op::Range(Range::new(KeyRange::single(key(nth))));
        match self.rng.below(20) {
            0..=3 => Request::Txn(only(vec![self.put(key(a))])),
            4 => Request::Txn(only(vec![delete(key(a))])),
            5..=8 => Request::Txn(self.compare_and_put(a)),
            9 | 10 => Request::Txn(only(vec![self.put(key(a)), read(a), self.put(key(b))])),
            11 => Request::Txn(only(vec![self.put(key(a)), delete(key(b))])),
            12 => Request::Txn(only(vec![read(a), read(b)])),
            13..=15 => range(KeyRange::single(key(a)), Consistency::Linearizable),
            16 => range(KeyRange::single(key(a)), Consistency::Serializable),
            17 => range(all_keys(), Consistency::Linearizable),
            18 => self.read_the_past(),
            _ if self.rng.one_in(4) && self.seen.0 > self.start.0 + COMPACTION_LAG => {
                Request::Compact(Revision(self.seen.0 - COMPACTION_LAG))
            }
            _ => range(all_keys(), Consistency::Serializable),
        }
    }

    /// A put of a value unique in the history.
    fn put(&mut self, key: Key) -> Op {
        self.written += 1;
        Op::Put(Put::new(key, format!("{}-{}", self.name, self.written)))
    }

    /// Writes if the key is unchanged since this client's last read, otherwise reads it.
    fn compare_and_put(&mut self, nth: u64) -> Txn {
        let keys = KeyRange::single(key(nth));
        let seen = self.changed.get(key(nth).bytes()).copied();
        let seen = seen.unwrap_or(Revision::NONE).0;
        let at = i64::try_from(seen).expect("revisions are small");
        Txn {
            compares: vec![Compare {
                keys: keys.clone(),
                comparison: Comparison::Equal,
                predicate: Predicate::ModRevision(at),
            }],
            success: vec![self.put(key(nth))],
            failure: vec![Op::Range(Range::new(keys))],
        }
    }

    fn read_the_past(&mut self) -> Request {
        let back = self.rng.below(self.seen.0 - self.start.0 + 1);
        let past = Range {
            at: Some(Revision(self.seen.0 - back)),
            ..Range::new(all_keys())
        };
        Request::Range(past, Consistency::Linearizable)
    }

    async fn ask(&mut self, request: Request) -> RecordedRequest {
        let store = self.store.1.clone();
        let at = self.ticks.next();
        let outcome = match &request {
            Request::Txn(txn) => {
                let checked = txn.clone().check(Limits::default().txn_ops_max);
                let checked = checked.expect("the clients' transactions are well formed");
                let is_write = checked.as_read_only().is_none();
                let mut answer = pin!(store.txn(checked));
                if self.abandons && is_write && self.rng.one_in(25) {
                    abandoned(answer.as_mut()).await
                } else {
                    written(within_timeout(answer).await)
                }
            }
            Request::Range(range, consistency) => {
                match within_timeout(store.range(range.clone(), *consistency)).await {
                    Ok(found) => Outcome::Range(found),
                    Err(_) => Outcome::Refused,
                }
            }
            Request::Compact(revision) => match within_timeout(store.compact(*revision)).await {
                Ok(()) => Outcome::Done,
                Err(WriteFailure::Uncertain { .. }) => Outcome::Uncertain,
                Err(_) => Outcome::Refused,
            },
            Request::Grant(_) | Request::Revoke(_) => unreachable!("these clients have no leases"),
        };
        self.learn(&request, &outcome);
        let is_answer = !matches!(outcome, Outcome::Uncertain);
        let answered_at = is_answer.then(|| self.ticks.next());
        RecordedRequest {
            store: self.store.0,
            at,
            answered_at,
            request,
            outcome,
        }
    }

    fn learn(&mut self, request: &Request, outcome: &Outcome) {
        match outcome {
            Outcome::Range(found) => {
                self.seen = self.seen.max(found.revision);
                if !matches!(request, Request::Range(Range { at: Some(_), .. }, _)) {
                    self.learn_from(found);
                }
            }
            Outcome::Txn(answer) => {
                self.seen = self.seen.max(answer.revision);
                for response in &answer.responses {
                    if let OpResponse::Range(found) = response {
                        self.learn_from(found);
                    }
                }
            }
            Outcome::Refused | Outcome::Uncertain | Outcome::Done | Outcome::Revoked(_) => {}
        }
    }

    fn learn_from(&mut self, found: &RangeResponse) {
        let changed = found.kvs.iter().map(|kv| (kv.key.clone(), kv.mod_revision));
        self.changed.extend(changed);
    }
}

fn only(success: Vec<Op>) -> Txn {
    Txn {
        success,
        ..Txn::default()
    }
}

fn delete(key: Key) -> Op {
    Op::DeleteRange(DeleteRange::new(KeyRange::single(key)))
}

fn range(keys: KeyRange, consistency: Consistency) -> Request {
    Request::Range(Range::new(keys), consistency)
}

type Written = Result<lockstep_mvcc::TxnResponse, WriteFailure>;

fn written(answer: Written) -> Outcome {
    match answer {
        Ok(answer) => Outcome::Txn(answer),
        Err(WriteFailure::Uncertain { .. }) => Outcome::Uncertain,
        Err(_) => Outcome::Refused,
    }
}

/// Polls a write once and drops it, which leaves its outcome uncertain.
async fn abandoned(mut answer: std::pin::Pin<&mut impl Future<Output = Written>>) -> Outcome {
    let polled = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
    match polled {
        Poll::Ready(answer) => written(answer),
        Poll::Pending => Outcome::Uncertain,
    }
}
