//! Watches: requests, messages and errors.

use std::future::poll_fn;
use std::task::{Context, Poll};

use lockstep_mvcc::{Event, Revision, WatchSelector};

use crate::Unavailable;

/// Parameters of a watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchRequest {
    /// Key range and filters.
    pub selector: WatchSelector,
    /// Start revision, which may be in the future; by default the one after the current revision.
    pub from: Option<Revision>,
}

/// One message of a watch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WatchMessage {
    /// Events in order; never empty. All events of one revision are in one message.
    Events {
        /// The events.
        events: Vec<Event>,
        /// Everything up to this revision is delivered.
        progress: Revision,
    },
    /// Everything up to this revision is delivered. Progress never decreases, and is never sent before the revision
    /// preceding the watch's start revision is reached.
    Progress {
        /// The revision.
        progress: Revision,
    },
}

/// Errors that end a watch.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum WatchError {
    /// The history the watch needs is compacted: it started too early or was read too slowly.
    #[error("etcdserver: mvcc: required revision has been compacted")]
    Compacted {
        /// The oldest revision that a watch may start at.
        compacted: Revision,
    },
    /// The store ended the watch.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Message source of a [`Watch`], implemented by each store.
pub trait WatchSource: Send {
    /// Polls for the next message. Must not be called after an error.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>>;

    /// Requests a [`WatchMessage::Progress`] of at least the store's current revision. It is sent once the watch
    /// has started and delivered everything up to there.
    fn request_progress(&mut self);
}

/// A running watch; dropping it cancels it.
pub struct Watch {
    started_at: Revision,
    source: Box<dyn WatchSource>,
    ended: Option<WatchError>,
}

impl Watch {
    /// Wraps a store's message source. `started_at` is the store's revision when the watch was created.
    pub fn new(started_at: Revision, source: impl WatchSource + 'static) -> Self {
        Self {
            started_at,
            source: Box::new(source),
            ended: None,
        }
    }

    /// The store's revision when the watch was created.
    pub fn started_at(&self) -> Revision {
        self.started_at
    }

    /// Waits for the next message. An error is final and returned by every later call. Cancel safe.
    pub async fn next(&mut self) -> Result<WatchMessage, WatchError> {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// Poll form of [`Watch::next`].
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

    /// Requests a progress message of at least the store's current revision.
    pub fn request_progress(&mut self) {
        self.source.request_progress();
    }
}
