//! The thread that keeps the state near the end of the log.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::histogram::Histogram;
use crate::log::TIMES_MICROS;
use crate::queue::Clock;
use crate::state::{Pending, State, StateError};

/// How many versions gather at most before they are committed.
const PAIRS_ENOUGH: usize = 10_000;
/// How many versions may gather while a commit is under way before writers wait for it.
const PAIRS_MAX: usize = 200_000;

/// What the writer leaves for the state.
pub(crate) struct Keeper {
    pending: Mutex<Pending>,
    control: Mutex<Control>,
    wake: Condvar,
    /// There is room in `pending`.
    room: Condvar,
    /// How long effects gather before they are committed.
    interval: Duration,
    /// The index of the last command that is in the state.
    applied: AtomicU64,
    /// The index of the last command that was applied.
    seen: AtomicU64,
    /// The bytes of all rows.
    row_bytes: AtomicU64,
    /// How long each commit took.
    pub(crate) commit_times: Histogram,
}

#[derive(Default)]
struct Control {
    nudged: bool,
    /// Who waits for a commit, or for the file to be packed and committed.
    waiting: Vec<Errand>,
    closed: Option<Closing>,
}

/// What somebody waits for.
pub(crate) struct Errand {
    pub(crate) pack: Pack,
    pub(crate) done: oneshot::Sender<Result<(), String>>,
}

/// Whether the file is also packed, so that it gives unused space back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pack {
    No,
    Yes,
}

#[derive(Clone, Copy)]
enum Closing {
    InOrder,
    AtOnce,
}

impl Keeper {
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

    /// Asks for a commit of everything that is pending now, without delay. After the end of the
    /// store the errand is dropped.
    pub(crate) fn run_errand(&self, errand: Errand) {
        let mut control = self.control.lock();
        if control.closed.is_none() {
            control.waiting.push(errand);
            self.wake.notify_one();
        }
    }

    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    pub(crate) fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }

    /// Waits while there is too much for one commit.
    pub(crate) fn wait_for_room(&self) {
        let mut pending = self.pending.lock();
        while pending.pairs.len() >= PAIRS_MAX {
            self.room.wait(&mut pending);
        }
    }

    /// There is something to commit. Wakes the keeper only if it does not know yet, or if it has
    /// waited for more and there is enough: waking it for every write would cost more than the
    /// write.
    pub(crate) fn nudge(&self) {
        let is_enough = self.pending.lock().pairs.len() >= PAIRS_ENOUGH;
        let was_nudged = std::mem::replace(&mut self.control.lock().nudged, true);
        if is_enough || !was_nudged {
            self.wake.notify_one();
        }
    }

    /// Nothing more comes. After a failure of the log, what is pending may be more than the log
    /// has, and is left alone.
    pub(crate) fn close(&self, in_order: bool) {
        let closing = if in_order {
            Closing::InOrder
        } else {
            Closing::AtOnce
        };
        self.control.lock().closed.get_or_insert(closing);
        self.wake.notify_one();
    }

    /// Commits until the writer is done. `failed` is told when that is no longer possible.
    pub(crate) fn run(&self, mut state: State, failed: impl FnOnce(&StateError)) {
        loop {
            let (closing, errands) = self.wait();
            if matches!(closing, Some(Closing::AtOnce)) {
                return;
            }
            let pending = std::mem::take(&mut *self.pending.lock());
            self.room.notify_one();
            let (committed, took) = Clock::timed(|| state.commit(&pending));
            self.commit_times.observe(took);
            if let Err(error) = committed {
                // Nothing is committed any more, so nothing has to wait for it either.
                failed(&error);
                return self.discard();
            }
            if let Some(numbers) = pending.numbers {
                self.applied.store(numbers.applied, Ordering::Release);
            }
            self.row_bytes.store(state.row_bytes(), Ordering::Release);
            for Errand { pack, done } in errands {
                let outcome = match pack {
                    Pack::No => Ok(()),
                    Pack::Yes => state.pack().map_err(|error| error.to_string()),
                };
                // Who no longer waits does not need the answer.
                drop(done.send(outcome));
            }
            if closing.is_some() {
                return;
            }
        }
    }

    /// Lets the writer come to its end.
    fn discard(&self) {
        let mut control = self.control.lock();
        while control.closed.is_none() {
            *self.pending.lock() = Pending::default();
            self.room.notify_one();
            control.waiting.clear();
            self.wake.wait(&mut control);
        }
    }

    /// Waits for work, and then for more of it.
    fn wait(&self) -> (Option<Closing>, Vec<Errand>) {
        let mut control = self.control.lock();
        while !control.nudged && control.is_patient() {
            self.wake.wait(&mut control);
        }
        let deadline = Clock::after(self.interval);
        while control.is_patient() && self.pending.lock().pairs.len() < PAIRS_ENOUGH {
            if self.wake.wait_until(&mut control, deadline).timed_out() {
                break;
            }
        }
        control.nudged = false;
        (control.closed, std::mem::take(&mut control.waiting))
    }
}

impl Control {
    /// Whether more may gather before the next commit.
    fn is_patient(&self) -> bool {
        self.closed.is_none() && self.waiting.is_empty()
    }
}
