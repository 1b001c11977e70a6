//! Watches as readers see them.

use std::future::poll_fn;
use std::task::{Context, Poll};

use lockstep_mvcc::{Event, Revision, WatchSelector};

use crate::Unavailable;

/// What to watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchRequest {
    /// Which changes.
    pub selector: WatchSelector,
    /// The first revision to deliver, which may be in the future; the one after the current state
    /// if none.
    pub from: Option<Revision>,
}

/// One message of a watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WatchMessage {
    /// Changes, in order; never empty. All of one revision are in one message.
    Events {
        /// The changes.
        events: Vec<Event>,
        /// Everything up to this revision is delivered.
        progress: Revision,
    },
    /// Everything up to this revision is delivered. Never less than a progress that was told
    /// before, and never told before the watch has begun: by a store whose next revision is
    /// earlier than the first one asked for.
    Progress {
        /// The revision.
        progress: Revision,
    },
}

/// Why a watch is over.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WatchError {
    /// The history that it needs is gone: it began too early or was read too slowly.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted {
        /// The oldest revision that a watch may start at.
        compacted: Revision,
    },
    /// The store ended it.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Where the messages of a watch come from. A store implements it; readers use [`Watch`].
pub trait WatchSource: Send {
    /// The next message. After an error there is none.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>>;

    /// Asks for a [`WatchMessage::Progress`] with at least the revision that the store has now. It
    /// comes when the watch has delivered that much, and has begun.
    fn request_progress(&mut self);
}

/// A running watch. Dropping it ends it.
pub struct Watch {
    started_at: Revision,
    source: Box<dyn WatchSource>,
    ended: Option<WatchError>,
}

impl Watch {
    /// Wraps what a store made. `started_at` is the revision of the store at that moment.
    pub fn new(started_at: Revision, source: impl WatchSource + 'static) -> Self {
        Self {
            started_at,
            source: Box::new(source),
            ended: None,
        }
    }

    /// The revision of the store when the watch was made.
    pub fn started_at(&self) -> Revision {
        self.started_at
    }

    /// The next message. Once it was an error, it is the same error for ever. Nothing is lost if
    /// the future is dropped.
    pub async fn next(&mut self) -> Result<WatchMessage, WatchError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`Watch::next`] for those who poll.
    pub fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>> {
        if let Some(error) = &self.ended {
            return Poll::Ready(Err(error.clone()));
        }
        let polled = self.source.poll_next(cx);
        if let Poll::Ready(Err(error)) = &polled {
            self.ended = Some(error.clone());
        }
        polled
    }

    /// Asks for a progress message that tells at least the revision that the store has now.
    pub fn request_progress(&mut self) {
        self.source.request_progress();
    }
}
