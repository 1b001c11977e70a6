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
    /// Whether messages that are too large may be cut.
    pub(super) fragment: bool,
    pub(super) notice: Notice,
}

/// Telling progress from time to time.
#[derive(Default)]
pub(super) struct Notice {
    /// Whether the client wants it.
    pub(super) is_wanted: bool,
    /// Whether anything was sent since it was last due.
    pub(super) was_busy: bool,
    /// Whether it is due.
    pub(super) is_due: bool,
}

impl Notice {
    /// An interval has passed: whether the client has to be told.
    pub(super) fn falls_due(&mut self) -> bool {
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

    /// The next message. After one, the watcher is looked at again, in its turn.
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

/// A manual progress request under way: every watcher has to tell its progress.
pub(super) struct Survey {
    pub(super) waiting: std::collections::BTreeSet<i64>,
    /// The smallest progress told so far.
    pub(super) progress: Option<Revision>,
    /// Whether the client asked again meanwhile.
    pub(super) again: bool,
}

impl Survey {
    pub(super) fn told(&mut self, id: i64, progress: Revision) {
        if self.waiting.remove(&id) {
            let before = self.progress.unwrap_or(progress);
            self.progress = Some(before.min(progress));
        }
    }
}

/// Cuts events into messages of at most `bytes_max`, one event at least.
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
