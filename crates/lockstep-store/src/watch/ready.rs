//! Ready list of a stream's watchers.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

use parking_lot::Mutex;

/// Queue of watchers with events, so that idle watchers cost nothing.
#[derive(Default)]
pub(super) struct ReadyList(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    queue: VecDeque<i64>,
    stream: Option<Waker>,
}

impl ReadyList {
    /// Sets the waker of the stream.
    pub(super) fn register(&self, cx: &Context<'_>) {
        let mut inner = self.0.lock();
        if !inner
            .stream
            .as_ref()
            .is_some_and(|waker| waker.will_wake(cx.waker()))
        {
            inner.stream = Some(cx.waker().clone());
        }
    }

    /// The watcher that has been queued longest.
    pub(super) fn pop(&self) -> Option<i64> {
        self.0.lock().queue.pop_front()
    }

    fn push(&self, id: i64) {
        let mut inner = self.0.lock();
        inner.queue.push_back(id);
        let stream = inner.stream.take();
        drop(inner);
        if let Some(stream) = stream {
            stream.wake();
        }
    }
}

/// Waker that queues one watcher at most once.
pub(super) struct WatcherWake {
    id: i64,
    list: Arc<ReadyList>,
    is_queued: AtomicBool,
}

impl WatcherWake {
    pub(super) fn new(id: i64, list: Arc<ReadyList>) -> Arc<Self> {
        let is_queued = AtomicBool::new(false);
        Arc::new(Self {
            id,
            list,
            is_queued,
        })
    }

    /// Allows the watcher to be queued again.
    pub(super) fn is_taken(&self) {
        self.is_queued.store(false, Ordering::Release);
    }

    pub(super) fn queue(&self) {
        if !self.is_queued.swap(true, Ordering::AcqRel) {
            self.list.push(self.id);
        }
    }
}

impl Wake for WatcherWake {
    fn wake(self: Arc<Self>) {
        self.queue();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.queue();
    }
}
