//! I/O of a write as data: the write emits a [`Need`] and receives a [`Reply`].
//!
//! A write is an `async fn` that awaits nothing but [`Io`]. [`Machine::step`] polls it once: the write either
//! completes or emits one need, and continues with the reply. The compiler thus generates the state machine, and a
//! test can drive a write with a map as its store, without a runtime and without a clock.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use lockstep_mvcc::{GuardedOutcome, GuardedWrite, KeyValue, ReadFailure, Revision, WriteFailure};
use lockstep_object::{ApiError, Object};
use parking_lot::Mutex;

use super::admission::WebhookCall;
use lockstep_catalog::Resource;

/// Every effect that a write can request from its driver. The list is closed: one screen shows all that a write can
/// do.
pub enum Need {
    /// Linearizable read of one object; the key is relative to the resource.
    Read(Arc<Resource>, String),
    /// Conversion of objects by the conversion webhook of their resource.
    Convert {
        /// Custom resource with a conversion webhook.
        resource: Arc<Resource>,
        /// Objects of one version, none of them in the desired one.
        objects: Vec<Object>,
        /// `apiVersion` to convert to.
        desired: String,
    },
    /// Admission webhooks, called in parallel; replies keep the order.
    CallWebhooks(Vec<WebhookCall>),
    /// One transaction with all its conditions. The driver chooses the lease of objects that expire.
    Commit(Arc<Resource>, GuardedWrite),
    /// Waits until the watch cache shows every write acknowledged so far.
    CatchUp,
    /// Waits until the watch cache shows a revision.
    CatchUpTo(Revision),
    /// Exclusive turn among this server's writers that charge the quotas of a namespace.
    TakeQuotaTurn(String),
    /// End of that turn, with the revision that the next writer must observe.
    EndQuotaTurn(Option<Revision>),
    /// Delay before a retry.
    Pause(Duration),
}

/// Result of a [`Need`], variant by variant.
pub enum Reply {
    /// To [`Need::Read`].
    Read(Result<Option<Arc<KeyValue>>, ReadFailure>),
    /// To [`Need::Convert`].
    Converted(Result<Vec<Object>, ApiError>),
    /// To [`Need::CallWebhooks`].
    Called(Vec<Result<Bytes, CallFailure>>),
    /// To [`Need::Commit`].
    Committed(Result<GuardedOutcome, WriteFailure>),
    /// To [`Need::CatchUp`] and [`Need::CatchUpTo`]: false if the store is not available.
    CaughtUp(bool),
    /// To [`Need::TakeQuotaTurn`]: the revision the last writer left.
    QuotaTurn(Revision),
    /// To needs without a result.
    Done,
}

/// A webhook call without a usable HTTP response.
#[derive(Clone, Debug)]
pub struct CallFailure {
    /// Error text, as upstream's client formats it.
    pub reason: String,
    /// Status code for metrics.
    pub code: u16,
}

/// Result of one [`Machine::step`].
pub enum Step<T> {
    /// The write requires the reply to this need to continue.
    Needs(Need),
    /// The write has completed.
    Done(T),
}

/// Slot between a write and its driver. At most one need is outstanding.
#[derive(Clone, Default)]
pub struct Io(Arc<Mutex<Slot>>);

#[derive(Default)]
enum Slot {
    #[default]
    Idle,
    Needs(Need),
    Waiting,
    Replied(Reply),
}

/// A write in progress.
pub struct Machine<'w, T> {
    io: Io,
    write: Pin<Box<dyn Future<Output = T> + Send + 'w>>,
}

impl<'w, T> Machine<'w, T> {
    /// Prepares a write. It must await nothing but `io`.
    pub fn new(io: Io, write: impl Future<Output = T> + Send + 'w) -> Self {
        Self {
            io,
            write: Box::pin(write),
        }
    }

    /// Runs the write up to its next need or its completion. The first step takes no reply, every later one takes the
    /// reply to the previous need.
    pub fn step(&mut self, reply: Option<Reply>) -> Step<T> {
        if let Some(reply) = reply {
            *self.io.0.lock() = Slot::Replied(reply);
        }
        let mut context = Context::from_waker(Waker::noop());
        if let Poll::Ready(done) = self.write.as_mut().poll(&mut context) {
            return Step::Done(done);
        }
        let slot = std::mem::replace(&mut *self.io.0.lock(), Slot::Waiting);
        match slot {
            Slot::Needs(need) => Step::Needs(need),
            // INVARIANT: a write awaits nothing but its `Io`.
            _ => unreachable!("a write waits for something that it did not ask its driver for"),
        }
    }
}

impl Io {
    async fn ask(&self, need: Need) -> Reply {
        *self.0.lock() = Slot::Needs(need);
        poll_fn(|_| {
            let mut slot = self.0.lock();
            match std::mem::take(&mut *slot) {
                Slot::Replied(reply) => Poll::Ready(reply),
                unanswered => {
                    *slot = unanswered;
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Newest stored state of an object.
    pub(super) async fn read(
        &self,
        resource: &Arc<Resource>,
        key: &str,
    ) -> Result<Option<Arc<KeyValue>>, ReadFailure> {
        match self
            .ask(Need::Read(Arc::clone(resource), key.to_owned()))
            .await
        {
            Reply::Read(found) => found,
            _ => mismatch(),
        }
    }

    pub(super) async fn convert(
        &self,
        resource: &Arc<Resource>,
        objects: Vec<Object>,
        desired: &str,
    ) -> Result<Vec<Object>, ApiError> {
        let need = Need::Convert {
            resource: Arc::clone(resource),
            objects,
            desired: desired.to_owned(),
        };
        match self.ask(need).await {
            Reply::Converted(converted) => converted,
            _ => mismatch(),
        }
    }

    pub(super) async fn call_webhooks(
        &self,
        calls: Vec<WebhookCall>,
    ) -> Vec<Result<Bytes, CallFailure>> {
        match self.ask(Need::CallWebhooks(calls)).await {
            Reply::Called(answers) => answers,
            _ => mismatch(),
        }
    }

    pub(super) async fn commit(
        &self,
        resource: &Arc<Resource>,
        write: GuardedWrite,
    ) -> Result<GuardedOutcome, WriteFailure> {
        match self.ask(Need::Commit(Arc::clone(resource), write)).await {
            Reply::Committed(outcome) => outcome,
            _ => mismatch(),
        }
    }

    /// False if the store is not available, so that the cache may be stale.
    pub(super) async fn catch_up(&self) -> bool {
        match self.ask(Need::CatchUp).await {
            Reply::CaughtUp(is_fresh) => is_fresh,
            _ => mismatch(),
        }
    }

    pub(super) async fn catch_up_to(&self, revision: Revision) -> bool {
        match self.ask(Need::CatchUpTo(revision)).await {
            Reply::CaughtUp(is_fresh) => is_fresh,
            _ => mismatch(),
        }
    }

    pub(super) async fn take_quota_turn(&self, namespace: &str) -> Revision {
        match self.ask(Need::TakeQuotaTurn(namespace.to_owned())).await {
            Reply::QuotaTurn(left) => left,
            _ => mismatch(),
        }
    }

    pub(super) async fn end_quota_turn(&self, left: Option<Revision>) {
        match self.ask(Need::EndQuotaTurn(left)).await {
            Reply::Done => {}
            _ => mismatch(),
        }
    }

    pub(super) async fn pause(&self, pause: Duration) {
        match self.ask(Need::Pause(pause)).await {
            Reply::Done => {}
            _ => mismatch(),
        }
    }
}

fn mismatch() -> ! {
    unreachable!("a driver replies to the need that it was given")
}
