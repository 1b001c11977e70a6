//! Checkpoint thread: commits applied commands to the state file, so that the log stays short.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::condition::{Condition, Outage, Part};
use crate::histogram::Histogram;
use crate::log::TIMES_MICROS;
use crate::queue::Clock;
use crate::state::{Pending, State, StateError};

/// Pending versions that trigger a commit before the interval has passed.
const PAIRS_COMMIT_MIN: usize = 10_000;
/// Pending versions at which writers block until the commit under way completes.
const PAIRS_MAX: usize = 200_000;

/// Times between the commits of a checkpointer.
pub(crate) struct Intervals {
    /// Between two commits.
    pub(crate) commit: Duration,
    /// After a commit that failed.
    pub(crate) retry: Duration,
}

/// Pending changes of the state file, shared by the writer and the checkpoint thread.
pub(crate) struct Checkpointer {
    pending: Mutex<Pending>,
    control: Mutex<Control>,
    wake: Condvar,
    /// Signals that `pending` has room again.
    room: Condvar,
    condition: Arc<Condition>,
    intervals: Intervals,
    /// Index of the last command in the state file.
    applied: AtomicU64,
    /// Index of the last applied command.
    seen: AtomicU64,
    /// Bytes of all rows.
    row_bytes: AtomicU64,
    /// Durations of commits.
    pub(crate) commit_times: Histogram,
}

#[derive(Default)]
struct Control {
    nudged: bool,
    /// Requests for an immediate commit.
    waiting: Vec<CommitRequest>,
    closed: Option<Closing>,
}

/// A request for an immediate commit.
pub(crate) struct CommitRequest {
    pub(crate) defragment: Defragment,
    pub(crate) done: oneshot::Sender<Result<(), String>>,
}

/// Whether the commit is followed by a defragmentation of the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Defragment {
    No,
    Yes,
}

#[derive(Clone, Copy)]
enum Closing {
    InOrder,
    AtOnce,
}

impl Checkpointer {
    pub(crate) fn new(
        condition: Arc<Condition>,
        applied: u64,
        row_bytes: u64,
        intervals: Intervals,
    ) -> Self {
        Self {
            pending: Mutex::default(),
            control: Mutex::default(),
            wake: Condvar::new(),
            room: Condvar::new(),
            condition,
            intervals,
            applied: AtomicU64::new(applied),
            seen: AtomicU64::new(applied),
            row_bytes: AtomicU64::new(row_bytes),
            commit_times: Histogram::new(TIMES_MICROS),
        }
    }

    /// The index of the last command that was applied.
    pub(crate) fn seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    pub(crate) fn see(&self, index: u64) {
        self.seen.store(index, Ordering::Release);
    }

    /// The bytes of all rows in the state.
    pub(crate) fn row_bytes(&self) -> u64 {
        self.row_bytes.load(Ordering::Acquire)
    }

    /// Requests a commit of all pending changes without delay. Dropped if the store is closed.
    pub(crate) fn request_commit(&self, commit_request: CommitRequest) {
        let mut control = self.control.lock();
        if control.closed.is_none() {
            control.waiting.push(commit_request);
            self.wake.notify_one();
        }
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    pub(crate) fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }

    /// Blocks while too many changes are pending. During an outage it does not, since room may never come: one more
    /// frame goes beyond the limit.
    pub(crate) fn wait_for_room(&self) {
        let mut pending = self.pending.lock();
        while pending.pairs.len() >= PAIRS_MAX && self.condition.outage().is_none() {
            self.room.wait(&mut pending);
        }
    }

    /// Signals pending changes. Wakes the thread only for the first change or once enough are pending: a wakeup for
    /// every write would cost more than the write.
    pub(crate) fn notify_pending(&self) {
        let is_enough = self.pending.lock().pairs.len() >= PAIRS_COMMIT_MIN;
        let was_nudged = std::mem::replace(&mut self.control.lock().nudged, true);
        if is_enough || !was_nudged {
            self.wake.notify_one();
        }
    }

    /// Stops the thread after a last commit. After a log failure, pending changes may be ahead of the durable log
    /// and are discarded.
    pub(crate) fn close(&self, in_order: bool) {
        let closing = if in_order {
            Closing::InOrder
        } else {
            Closing::AtOnce
        };
        self.control.lock().closed.get_or_insert(closing);
        self.wake.notify_one();
    }

    /// Runs until the writer is closed. Calls `failed` if a commit fails.
    pub(crate) fn run(&self, mut state: State, failed: impl FnOnce(&StateError)) {
        loop {
            let (closing, commit_requests) = self.wait();
            if matches!(closing, Some(Closing::AtOnce)) {
                return;
            }
            let pending = std::mem::take(&mut *self.pending.lock());
            self.room.notify_one();
            let (committed, took) = Clock::timed(|| state.commit(&pending));
            self.commit_times.observe(took);
            if let Err(error) = committed {
                let is_last = closing.is_some();
                for CommitRequest { done, .. } in commit_requests {
                    drop(done.send(Err(error.to_string())));
                }
                if is_last {
                    return;
                }
                self.condition.fail(Part::State, Outage::of_state(&error));
                if !state.may_retry(&error) {
                    // Commits are impossible from now on: release blocked writers.
                    failed(&error);
                    return self.discard();
                }
                self.put_back(pending);
                self.wait_for_retry();
                continue;
            }
            self.condition.recover(Part::State);
            if let Some(numbers) = pending.numbers {
                self.applied.store(numbers.applied, Ordering::Release);
            }
            self.row_bytes.store(state.row_bytes(), Ordering::Release);
            if pending.is_swept && state.is_sparse() && closing.is_none() {
                // An error shows again at the next commit, which opens the file again.
                drop(state.defragment());
            }
            for CommitRequest { defragment, done } in commit_requests {
                let outcome = match defragment {
                    Defragment::No => Ok(()),
                    Defragment::Yes => state.defragment().map_err(|error| error.to_string()),
                };
                // The caller is gone; drop the reply.
                drop(done.send(outcome));
            }
            if closing.is_some() {
                return;
            }
        }
    }

    /// Returns changes whose commit failed. Later changes of the same rows supersede them.
    fn put_back(&self, failed: Pending) {
        let mut pending = self.pending.lock();
        let later = std::mem::replace(&mut *pending, failed);
        pending.add(later);
        self.room.notify_one();
    }

    /// Waits for the time of the next attempt, or until the writer is closed.
    fn wait_for_retry(&self) {
        let retry = Clock::after(self.intervals.retry);
        let mut control = self.control.lock();
        control.nudged = true;
        while control.closed.is_none() && !self.wake.wait_until(&mut control, retry).timed_out() {}
    }

    /// Discards pending changes, so that the writer never blocks on them.
    fn discard(&self) {
        let mut control = self.control.lock();
        while control.closed.is_none() {
            *self.pending.lock() = Pending::default();
            self.room.notify_one();
            control.waiting.clear();
            self.wake.wait(&mut control);
        }
    }

    /// Waits for pending changes, then for the interval to pass.
    fn wait(&self) -> (Option<Closing>, Vec<CommitRequest>) {
        let mut control = self.control.lock();
        while !control.nudged && control.may_wait() {
            self.wake.wait(&mut control);
        }
        let deadline = Clock::after(self.intervals.commit);
        while control.may_wait() && self.pending.lock().pairs.len() < PAIRS_COMMIT_MIN {
            if self.wake.wait_until(&mut control, deadline).timed_out() {
                break;
            }
        }
        control.nudged = false;
        (control.closed, std::mem::take(&mut control.waiting))
    }
}

impl Control {
    /// True if the commit may wait for more changes.
    fn may_wait(&self) -> bool {
        self.closed.is_none() && self.waiting.is_empty()
    }
}
