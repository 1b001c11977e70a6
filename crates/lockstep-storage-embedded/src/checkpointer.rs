//! Checkpoint thread: commits applied commands to the state file, so that the log stays short.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::histogram::Histogram;
use crate::log::TIMES_MICROS;
use crate::queue::Clock;
use crate::state::{Pending, State, StateError};

/// Pending versions that trigger a commit before the interval has passed.
const PAIRS_COMMIT_MIN: usize = 10_000;
/// Pending versions at which writers block until the commit under way completes.
const PAIRS_MAX: usize = 200_000;

/// Pending changes of the state file, shared by the writer and the checkpoint thread.
pub(crate) struct Checkpointer {
    pending: Mutex<Pending>,
    control: Mutex<Control>,
    wake: Condvar,
    /// Signals that `pending` has room again.
    room: Condvar,
    /// Time between commits.
    interval: Duration,
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
    pub(crate) fn new(applied: u64, row_bytes: u64, interval: Duration) -> Self {
        Self {
            pending: Mutex::default(),
            control: Mutex::default(),
            wake: Condvar::new(),
            room: Condvar::new(),
            interval,
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

    /// Blocks while too many changes are pending.
    pub(crate) fn wait_for_room(&self) {
        let mut pending = self.pending.lock();
        while pending.pairs.len() >= PAIRS_MAX {
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
                // Commits are impossible from now on: release blocked writers.
                failed(&error);
                return self.discard();
            }
            if let Some(numbers) = pending.numbers {
                self.applied.store(numbers.applied, Ordering::Release);
            }
            self.row_bytes.store(state.row_bytes(), Ordering::Release);
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
        let deadline = Clock::after(self.interval);
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
