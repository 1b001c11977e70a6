//! [`WatchSource`] of a follower.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use lockstep_storage::{WatchError, WatchMessage, WatchSource};
use tokio::sync::Notify;

use super::follower::Follower;

type Turn = Pin<Box<dyn Future<Output = (Follower, Result<WatchMessage, WatchError>)> + Send>>;

/// All work happens while the reader polls: there is no task and no queue.
pub(super) struct Source {
    progress_signal: Arc<ProgressSignal>,
    turn: Turn,
}

impl Source {
    pub(super) fn new(follower: Follower) -> Self {
        Self {
            progress_signal: follower.progress_signal(),
            turn: turn(follower),
        }
    }
}

fn turn(mut follower: Follower) -> Turn {
    Box::pin(async move {
        let message = follower.next().await;
        (follower, message)
    })
}

impl WatchSource for Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>> {
        let Poll::Ready((follower, message)) = self.turn.as_mut().poll(cx) else {
            return Poll::Pending;
        };
        self.turn = turn(follower);
        Poll::Ready(message)
    }

    fn request_progress(&mut self) {
        self.progress_signal.make();
    }
}

/// A pending progress request of the reader.
#[derive(Default)]
pub(super) struct ProgressSignal {
    is_made: AtomicBool,
    made: Notify,
}

impl ProgressSignal {
    fn make(&self) {
        self.is_made.store(true, Ordering::Release);
        self.made.notify_one();
    }

    /// Takes the request; true if there was one.
    pub(super) fn take(&self) -> bool {
        self.is_made.swap(false, Ordering::AcqRel)
    }

    /// Waits for the next request.
    pub(super) async fn made(&self) {
        self.made.notified().await;
    }
}
