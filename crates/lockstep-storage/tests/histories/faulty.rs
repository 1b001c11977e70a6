//! A store with an injected fault, to test the checker.

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

/// Injected faults; each occurs only in some of the calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// Not a violation: a lost response leaves the outcome uncertain.
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

/// The in-memory store with one fault.
pub(crate) struct FaultyStore {
    store: MemoryStore,
    fault: Fault,
    calls: AtomicU64,
    /// An earlier response to a read of all keys.
    old: Mutex<Option<RangeResponse>>,
}

impl FaultyStore {
    pub(crate) fn new(store: MemoryStore, fault: Fault) -> Self {
        Self {
            store,
            fault,
            calls: AtomicU64::new(0),
            old: Mutex::new(None),
        }
    }

    /// True if the fault occurs in this call: once in ten.
    fn occurs(&self, fault: Fault) -> bool {
        self.fault == fault && self.calls.fetch_add(1, Ordering::SeqCst) % 10 == 5
    }

    async fn commit(&self, txn: Txn) -> Result<TxnResponse, WriteFailure> {
        self.store.txn(txn.check(128).expect("well formed")).await
    }

    async fn faulty_txn(&self, txn: CheckedTxn) -> Result<TxnResponse, WriteFailure> {
        let plain = txn.txn().clone();
        let is_unconditional = plain.compares.is_empty();
        if self.occurs(Fault::LosesAnswers) {
            if plain.success.len() > 1 {
                drop(self.commit(plain).await);
            }
            let reason = "the response was lost".to_owned();
            return Err(WriteFailure::Uncertain { reason });
        }
        if self.occurs(Fault::WritesTwice) {
            drop(self.commit(plain.clone()).await);
            drop(self.commit(plain).await);
            let reason = "the response was lost".to_owned();
            return Err(WriteFailure::Uncertain { reason });
        }
        if self.occurs(Fault::WritesWhatItRefused) {
            drop(self.commit(plain).await);
            let reason = "nothing was done".to_owned();
            return Err(WriteFailure::Unavailable(Unavailable { reason }));
        }
        if is_unconditional && self.occurs(Fault::LosesWrites) {
            let revision = self.store.revision(Consistency::Linearizable).await;
            let revision = revision.expect("it answers").next();
            return Ok(TxnResponse {
                revision,
                succeeded: true,
                responses: vec![put_at(revision)],
            });
        }
        if let [.., Op::Range(_), Op::Put(_)] = plain.success[..]
            && self.occurs(Fault::HalfTransactions)
        {
            let mut half = plain;
            half.success.pop();
            let mut answer = self.commit(half).await?;
            answer.responses.push(put_at(answer.revision));
            return Ok(answer);
        }
        if !is_unconditional && self.fault == Fault::IgnoresCompares {
            let all = Txn {
                compares: Vec::new(),
                ..plain
            };
            return self.commit(all).await;
        }
        let mut answer = self.commit(plain).await?;
        if self.occurs(Fault::RepeatsRevisions) {
            answer.revision = answer.revision.previous();
        }
        Ok(answer)
    }

    fn faulty_read(&self, found: RangeResponse) -> RangeResponse {
        let mut old = self.old.lock().expect("no panic while locked");
        if self.occurs(Fault::StaleRead)
            && let Some(old) = old.clone()
        {
            return old;
        }
        if self.occurs(Fault::OldContent)
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

/// Response to a put.
fn put_at(revision: Revision) -> OpResponse {
    let previous = None;
    OpResponse::Put(PutResponse { revision, previous })
}

impl Store for FaultyStore {
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        Box::pin(async move {
            let is_list = range.at.is_none() && range.keys.as_single().is_none();
            let found = self.store.range(range, consistency).await?;
            Ok(if is_list {
                self.faulty_read(found)
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
            self.faulty_txn(txn).await
        })
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(async move {
            let mut asked = request.clone();
            match self.fault {
                Fault::IgnoresFilters => asked.selector.filters = Filters::default(),
                Fault::SkipsOnResume => asked.from = request.from.map(Revision::next),
                Fault::WrongPrevious => asked.selector.previous = Previous::Omit,
                _ => {}
            }
            let watch = self.store.watch(asked).await?;
            let started_at = watch.started_at();
            let source = FaultyWatch {
                watch,
                fault: self.fault,
                messages: 0,
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

/// A watch that alters its messages.
struct FaultyWatch {
    watch: Watch,
    fault: Fault,
    messages: usize,
    /// Delivered before the next message.
    next: Option<WatchMessage>,
}

impl WatchSource for FaultyWatch {
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

impl FaultyWatch {
    fn distort(&mut self, message: WatchMessage) -> WatchMessage {
        let WatchMessage::Events {
            mut events,
            progress,
        } = message
        else {
            return message;
        };
        self.messages += 1;
        let occurs_now = self.messages % 3 == 1;
        match self.fault {
            Fault::DropsEvents if occurs_now => {
                events.pop();
                if events.is_empty() {
                    return WatchMessage::Progress { progress };
                }
            }
            Fault::DuplicatesEvents if occurs_now => events.extend(events.last().cloned()),
            Fault::ReversesEvents => events.reverse(),
            Fault::SplitsRevisions if events.len() > 1 => {
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
            Fault::ProgressAhead if occurs_now => {
                let message = WatchMessage::Events { events, progress };
                self.next = Some(message);
                return WatchMessage::Progress { progress };
            }
            Fault::WrongCreate if occurs_now => {
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
