//! Message stream of one watcher.

use std::sync::Arc;
use std::task::{Context, Poll};

use lockstep_mvcc::{Budget, WatchSelector};

use super::Live;
use super::watchers::WatcherId;
use crate::{WatchError, WatchMessage, WatchSource};

/// Limits of one poll: the size of a message, and the history scanned before the locks are released.
const BUDGET: Budget = Budget {
    events_max: 1000,
    changes_max: 10_000,
    bytes_max: 1 << 20,
};

pub(super) struct LiveSource {
    live: Arc<Live>,
    id: WatcherId,
    selector: WatchSelector,
}

impl LiveSource {
    pub(super) fn new(live: Arc<Live>, id: WatcherId, selector: WatchSelector) -> Self {
        Self { live, id, selector }
    }
}

impl WatchSource for LiveSource {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>> {
        let state = self.live.state.read();
        let machine = &state.machine;
        let mut watchers = self.live.watchers.lock();
        let watcher = watchers
            .get(self.id)
            .expect("a watcher is there until its source is dropped");
        if let Some(from) = watcher.pending {
            let batch = match machine.events(&self.selector, from, BUDGET) {
                Ok(batch) => batch,
                Err(error) => {
                    let compacted = error.compacted;
                    return Poll::Ready(Err(WatchError::Compacted { compacted }));
                }
            };
            let progress = batch.next.previous();
            watcher.pending = (progress < machine.revision()).then_some(batch.next);
            if !batch.events.is_empty() {
                let events = batch.events;
                return Poll::Ready(Ok(WatchMessage::Events { events, progress }));
            }
        }
        if watcher.pending.is_some() {
            // Many changes without a match: release the locks before scanning on.
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let progress = machine.revision();
        if watcher.progress_requested && watcher.may_report_progress(progress) {
            watcher.progress_requested = false;
            return Poll::Ready(Ok(WatchMessage::Progress { progress }));
        }
        let outdated = watcher.waker.replace(cx.waker().clone());
        if watcher.progress_requested {
            watchers.wake_when_started(self.id);
        }
        drop((watchers, state));
        drop(outdated);
        Poll::Pending
    }

    fn request_progress(&mut self) {
        let waiting = self.live.watchers.lock().get(self.id).and_then(|watcher| {
            watcher.progress_requested = true;
            watcher.waker.take()
        });
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl Drop for LiveSource {
    fn drop(&mut self) {
        let removed = self.live.watchers.lock().remove(self.id);
        drop(removed);
    }
}
