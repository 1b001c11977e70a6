//! One watcher of a stream.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use lockstep_mvcc::{Event, Revision};
use lockstep_storage::{Watch, WatchError, WatchMessage};

use super::codec::event_len;
use super::ready::{ReadyList, WatcherWake};

pub(super) struct Watcher {
    watch: Watch,
    wake: Arc<WatcherWake>,
    waker: Waker,
    /// True if large responses may be fragmented.
    pub(super) fragment: bool,
    pub(super) notice: Notice,
}

/// Progress notification state.
#[derive(Default)]
pub(super) struct Notice {
    /// True if the client enabled progress notifications.
    pub(super) is_wanted: bool,
    /// True if events were sent since the last interval.
    pub(super) was_busy: bool,
    /// True if a notification is due.
    pub(super) is_due: bool,
}

impl Notice {
    /// Handles the end of an interval; returns true if a notification is due.
    pub(super) fn interval_passed(&mut self) -> bool {
        self.is_due |= self.is_wanted && !std::mem::take(&mut self.was_busy);
        self.is_due
    }
}

impl Watcher {
    pub(super) fn new(
        id: i64,
        watch: Watch,
        list: &Arc<ReadyList>,
        fragment: bool,
        wants_progress: bool,
    ) -> Self {
        let wake = WatcherWake::new(id, list.clone());
        wake.queue();
        Self {
            watch,
            waker: Waker::from(wake.clone()),
            wake,
            fragment,
            notice: Notice {
                is_wanted: wants_progress,
                ..Notice::default()
            },
        }
    }

    /// Polls for the next message. After one, the watcher is queued again.
    pub(super) fn poll(&mut self) -> Poll<Result<WatchMessage, WatchError>> {
        self.wake.is_taken();
        let polled = self.watch.poll_next(&mut Context::from_waker(&self.waker));
        if polled.is_ready() {
            self.wake.queue();
        }
        polled
    }

    pub(super) fn request_progress(&mut self) {
        self.watch.request_progress();
        self.wake.queue();
    }
}

/// A manual progress request in progress, which waits for every watcher.
pub(super) struct ProgressRequest {
    pub(super) waiting: std::collections::BTreeSet<i64>,
    /// The smallest progress reported so far.
    pub(super) progress: Option<Revision>,
    /// True if the client sent another request meanwhile.
    pub(super) again: bool,
}

impl ProgressRequest {
    pub(super) fn told(&mut self, id: i64, progress: Revision) {
        if self.waiting.remove(&id) {
            let before = self.progress.unwrap_or(progress);
            self.progress = Some(before.min(progress));
        }
    }
}

/// Splits events into messages of at most `bytes_max`, at least one event each.
pub(super) fn fragments(events: Vec<Event>, bytes_max: usize) -> Vec<Vec<Event>> {
    let mut fragments = Vec::new();
    let (mut fragment, mut bytes) = (Vec::new(), 0);
    for event in events {
        let length = event_len(&event);
        if bytes + length > bytes_max && !fragment.is_empty() {
            fragments.push(std::mem::take(&mut fragment));
            bytes = 0;
        }
        bytes += length;
        fragment.push(event);
    }
    fragments.push(fragment);
    fragments
}

#[cfg(test)]
mod tests {
    use lockstep_mvcc::KeyValue;

    use super::*;

    #[test]
    fn fragments_keep_the_order_and_the_limit() {
        // etcd-api.md §3, atomicity.
        let event = |value: usize| Event {
            kv: Arc::new(KeyValue {
                key: "k".into(),
                value: vec![0; value].into(),
                version: 1,
                ..KeyValue::default()
            }),
            previous: None,
        };
        let sizes = |bytes_max| -> Vec<Vec<usize>> {
            let events = [10, 20, 500, 5].map(event).into();
            fragments(events, bytes_max)
                .iter()
                .map(|events| events.iter().map(|event| event.kv.value.len()).collect())
                .collect()
        };
        assert_eq!(sizes(100), [vec![10, 20], vec![500], vec![5]]);
        assert_eq!(sizes(10_000), [vec![10, 20, 500, 5]]);
        assert_eq!(sizes(0), [vec![10], vec![20], vec![500], vec![5]]);
    }
}
