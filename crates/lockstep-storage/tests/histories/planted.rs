//! A store with a bug.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use lockstep_storage::{
    CheckedTxn, Consistency, Event, Filters, GrantedLease, KeyValue, LeaseId, LeaseStatus,
    LeaseTtl, MemoryStore, Op, OpResponse, Previous, PutResponse, Range, RangeResponse,
    ReadFailure, Revision, Store, StoreFuture, Txn, TxnResponse, Unavailable, Watch, WatchError,
    WatchMessage, WatchRequest, WatchSource, WriteFailure,
};

/// What is wrong. Each shows once in a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bug {
    /// None: answers get lost, which is allowed.
    LosesAnswers,
    StaleRead,
    OldContent,
    LosesWrites,
    RepeatsRevisions,
    HalfTransactions,
    IgnoresCompares,
    WritesTwice,
    WritesWhatItRefused,
    DropsEvents,
    DuplicatesEvents,
    ReversesEvents,
    SplitsRevisions,
    ProgressAhead,
    WrongPrevious,
    WrongCreate,
    IgnoresFilters,
    SkipsOnResume,
}

/// The store in memory, and a bug.
pub(crate) struct Planted {
    store: MemoryStore,
    bug: Bug,
    asked: AtomicU64,
    /// An answer to a read of everything, from a while ago.
    old: Mutex<Option<RangeResponse>>,
}

impl Planted {
    pub(crate) fn new(store: MemoryStore, bug: Bug) -> Self {
        Self {
            store,
            bug,
            asked: AtomicU64::new(0),
            old: Mutex::new(None),
        }
    }

    /// Whether the bug shows now: the `nth` time of every ten.
    fn shows(&self, bug: Bug) -> bool {
        self.bug == bug && self.asked.fetch_add(1, Ordering::SeqCst) % 10 == 5
    }

    async fn commit(&self, txn: Txn) -> Result<TxnResponse, WriteFailure> {
        self.store.txn(txn.check(128).expect("well formed")).await
    }

    async fn buggy_txn(&self, txn: CheckedTxn) -> Result<TxnResponse, WriteFailure> {
        let plain = txn.txn().clone();
        let is_unconditional = plain.compares.is_empty();
        if self.shows(Bug::LosesAnswers) {
            if plain.success.len() > 1 {
                drop(self.commit(plain).await);
            }
            let reason = "the answer got lost".to_owned();
            return Err(WriteFailure::Uncertain { reason });
        }
        if self.shows(Bug::WritesTwice) {
            drop(self.commit(plain.clone()).await);
            drop(self.commit(plain).await);
            let reason = "the answer got lost".to_owned();
            return Err(WriteFailure::Uncertain { reason });
        }
        if self.shows(Bug::WritesWhatItRefused) {
            drop(self.commit(plain).await);
            let reason = "nothing was done".to_owned();
            return Err(WriteFailure::Unavailable(Unavailable { reason }));
        }
        if is_unconditional && self.shows(Bug::LosesWrites) {
            let revision = self.store.revision(Consistency::Linearizable).await;
            let revision = revision.expect("it answers").next();
            return Ok(TxnResponse {
                revision,
                succeeded: true,
                responses: vec![put_at(revision)],
            });
        }
        if let [.., Op::Range(_), Op::Put(_)] = plain.success[..]
            && self.shows(Bug::HalfTransactions)
        {
            let mut half = plain;
            half.success.pop();
            let mut answer = self.commit(half).await?;
            answer.responses.push(put_at(answer.revision));
            return Ok(answer);
        }
        if !is_unconditional && self.bug == Bug::IgnoresCompares {
            let all = Txn {
                compares: Vec::new(),
                ..plain
            };
            return self.commit(all).await;
        }
        let mut answer = self.commit(plain).await?;
        if self.shows(Bug::RepeatsRevisions) {
            answer.revision = answer.revision.previous();
        }
        Ok(answer)
    }

    fn buggy_read(&self, found: RangeResponse) -> RangeResponse {
        let mut old = self.old.lock().expect("nobody panics here");
        if self.shows(Bug::StaleRead)
            && let Some(old) = old.clone()
        {
            return old;
        }
        if self.shows(Bug::OldContent)
            && let Some(old) = old.clone()
        {
            let revision = found.revision;
            return RangeResponse { revision, ..old };
        }
        if old.is_none() && found.count > 2 {
            *old = Some(found.clone());
        }
        found
    }
}

/// The answer to a put.
fn put_at(revision: Revision) -> OpResponse {
    let previous = None;
    OpResponse::Put(PutResponse { revision, previous })
}

impl Store for Planted {
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        Box::pin(async move {
            let is_list = range.at.is_none() && range.keys.as_single().is_none();
            let found = self.store.range(range, consistency).await?;
            Ok(if is_list {
                self.buggy_read(found)
            } else {
                found
            })
        })
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        Box::pin(async move {
            if txn.as_read_only().is_some() {
                return self.store.txn(txn).await;
            }
            self.buggy_txn(txn).await
        })
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(async move {
            let mut asked = request.clone();
            match self.bug {
                Bug::IgnoresFilters => asked.selector.filters = Filters::default(),
                Bug::SkipsOnResume => asked.from = request.from.map(Revision::next),
                Bug::WrongPrevious => asked.selector.previous = Previous::Omit,
                _ => {}
            }
            let watch = self.store.watch(asked).await?;
            let started_at = watch.started_at();
            let source = Distorted {
                watch,
                bug: self.bug,
                told: 0,
                next: None,
            };
            Ok(Watch::new(started_at, source))
        })
    }

    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        self.store.revision(consistency)
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.store.compact(at)
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        self.store.size()
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        self.store.grant_lease(ttl)
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        self.store.revoke_lease(id)
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        self.store.keep_lease_alive(id)
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        self.store.lease(id)
    }
}

/// A watch whose messages are not what they were.
struct Distorted {
    watch: Watch,
    bug: Bug,
    told: usize,
    /// A message that comes before the next one.
    next: Option<WatchMessage>,
}

impl WatchSource for Distorted {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>> {
        if let Some(message) = self.next.take() {
            return Poll::Ready(Ok(message));
        }
        self.watch
            .poll_next(cx)
            .map(|message| message.map(|message| self.distort(message)))
    }

    fn request_progress(&mut self) {
        self.watch.request_progress();
    }
}

impl Distorted {
    fn distort(&mut self, message: WatchMessage) -> WatchMessage {
        let WatchMessage::Events {
            mut events,
            progress,
        } = message
        else {
            return message;
        };
        self.told += 1;
        let is_time = self.told % 3 == 1;
        match self.bug {
            Bug::DropsEvents if is_time => {
                events.pop();
                if events.is_empty() {
                    return WatchMessage::Progress { progress };
                }
            }
            Bug::DuplicatesEvents if is_time => events.extend(events.last().cloned()),
            Bug::ReversesEvents => events.reverse(),
            Bug::SplitsRevisions if events.len() > 1 => {
                let rest = events.split_off(events.len() - 1);
                self.next = Some(WatchMessage::Events {
                    events: rest,
                    progress,
                });
                let last = events
                    .last()
                    .map_or(progress, |event| event.kv.mod_revision);
                let progress = last.previous().max(first_of(&events));
                return WatchMessage::Events { events, progress };
            }
            Bug::ProgressAhead if is_time => {
                let message = WatchMessage::Events { events, progress };
                self.next = Some(message);
                return WatchMessage::Progress { progress };
            }
            Bug::WrongCreate if is_time => {
                let event = events.last_mut().expect("never empty");
                let kv = KeyValue {
                    version: event.kv.version + 1,
                    ..(*event.kv).clone()
                };
                if event.kv.is_create() {
                    event.kv = Arc::new(kv);
                }
            }
            _ => {}
        }
        WatchMessage::Events { events, progress }
    }
}

fn first_of(events: &[Event]) -> Revision {
    let first = events.first().map(|event| event.kv.mod_revision);
    first.unwrap_or(Revision::NONE)
}
