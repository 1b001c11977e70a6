//! Clients that ask at random and write down what they are told.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use lockstep_mvcc::{
    Compare, Comparison, DeleteRange, Key, KeyRange, Limits, Op, OpResponse, Predicate, Put, Range,
    RangeResponse, Revision, Txn,
};

use super::{Asked, Dice, Outcome, Request, Ticks};
use crate::contract::subject::patient;
use crate::{Consistency, Store, WriteFailure};

/// Few keys, so that clients meet.
const KEYS: u64 = 5;
/// How far behind the newest revision a compaction stays, so that watchers mostly keep up.
const COMPACTION_LAG: u64 = 60;

/// Everything under the clients' prefix.
pub(super) fn all_keys() -> KeyRange {
    KeyRange::prefix("histories/")
}

pub(super) fn key(nth: u64) -> Key {
    Key::new(format!("histories/{nth}")).expect("not empty")
}

/// One client.
pub(super) struct Client {
    name: usize,
    store: (usize, Arc<dyn Store>),
    ticks: Ticks,
    dice: Dice,
    /// Whether it gives up on some of its writes.
    pub(super) abandons: bool,
    start: Revision,
    /// The newest revision that it was told.
    seen: Revision,
    /// When the keys were last changed, as far as it knows.
    changed: BTreeMap<Bytes, Revision>,
    written: u64,
}

impl Client {
    pub(super) fn new(
        name: usize,
        store: (usize, Arc<dyn Store>),
        ticks: Ticks,
        dice: Dice,
        start: Revision,
    ) -> Self {
        Self {
            name,
            store,
            ticks,
            dice,
            abandons: false,
            start,
            seen: start,
            changed: BTreeMap::new(),
            written: 0,
        }
    }

    pub(super) async fn run(mut self, requests: usize) -> Vec<Asked> {
        let mut asked = Vec::with_capacity(requests);
        for _ in 0..requests {
            let request = self.choose();
            asked.push(self.ask(request).await);
            if self.dice.once_in(3) {
                tokio::task::yield_now().await;
            }
        }
        asked
    }

    /// A write that nobody gives up on.
    pub(super) async fn put_last(&mut self) -> Asked {
        let put = self.put(key(KEYS));
        self.ask(Request::Txn(only(vec![put]))).await
    }

    fn choose(&mut self) -> Request {
        let (a, b) = (self.dice.below(KEYS), self.dice.below(KEYS - 1));
        // Another one than `a`.
        let b = (a + 1 + b) % KEYS;
        let read = |nth| Op::Range(Range::new(KeyRange::single(key(nth))));
        match self.dice.below(20) {
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
            _ if self.dice.once_in(4) && self.seen.0 > self.start.0 + COMPACTION_LAG => {
                Request::Compact(Revision(self.seen.0 - COMPACTION_LAG))
            }
            _ => range(all_keys(), Consistency::Serializable),
        }
    }

    /// A put of a value that nobody else writes.
    fn put(&mut self, key: Key) -> Op {
        self.written += 1;
        Op::Put(Put::new(key, format!("{}-{}", self.name, self.written)))
    }

    /// Writes if nothing changed since this client looked; otherwise looks.
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
        let back = self.dice.below(self.seen.0 - self.start.0 + 1);
        let past = Range {
            at: Some(Revision(self.seen.0 - back)),
            ..Range::new(all_keys())
        };
        Request::Range(past, Consistency::Linearizable)
    }

    async fn ask(&mut self, request: Request) -> Asked {
        let store = self.store.1.clone();
        let at = self.ticks.next();
        let outcome = match &request {
            Request::Txn(txn) => {
                let checked = txn.clone().check(Limits::default().txn_ops_max);
                let checked = checked.expect("the clients' transactions are well formed");
                let is_write = checked.as_read_only().is_none();
                let mut answer = pin!(store.txn(checked));
                if self.abandons && is_write && self.dice.once_in(25) {
                    abandoned(answer.as_mut()).await
                } else {
                    written(patient(answer).await)
                }
            }
            Request::Range(range, consistency) => {
                match patient(store.range(range.clone(), *consistency)).await {
                    Ok(found) => Outcome::Range(found),
                    Err(_) => Outcome::Refused,
                }
            }
            Request::Compact(revision) => match patient(store.compact(*revision)).await {
                Ok(()) => Outcome::Done,
                Err(WriteFailure::Uncertain { .. }) => Outcome::Uncertain,
                Err(_) => Outcome::Refused,
            },
        };
        self.learn(&request, &outcome);
        let is_answer = !matches!(outcome, Outcome::Uncertain);
        let answered_at = is_answer.then(|| self.ticks.next());
        Asked {
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
            Outcome::Refused | Outcome::Uncertain | Outcome::Done => {}
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

/// Asks, and waits for no answer.
async fn abandoned(mut answer: std::pin::Pin<&mut impl Future<Output = Written>>) -> Outcome {
    let polled = std::future::poll_fn(|cx| Poll::Ready(answer.as_mut().poll(cx))).await;
    match polled {
        Poll::Ready(answer) => written(answer),
        Poll::Pending => Outcome::Uncertain,
    }
}
