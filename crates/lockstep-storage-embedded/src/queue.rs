//! Queue of writes for the writer thread.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lockstep_mvcc::{Applied, CheckedTxn, Command, LeaseId, Millis, Revision};
use lockstep_storage::{Unavailable, WriteFailure};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot};

/// Queue capacity; further writers wait for a slot.
const WAITING_MAX: usize = 4096;

/// A queued write.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) answer: oneshot::Sender<Result<Done, WriteFailure>>,
}

/// A write request.
pub(crate) enum Request {
    /// A command proposed as is.
    Command(Command),
    Txn(CheckedTxn),
    Compact {
        at: Revision,
    },
    /// The lease id is the index of the grant command, which is unique.
    Grant {
        ttl_seconds: i64,
    },
    Revoke {
        id: LeaseId,
    },
}

impl Request {
    /// The command to log at an index.
    pub(crate) fn command(self, index: u64) -> Command {
        match self {
            Self::Command(command) => command,
            Self::Txn(txn) => Command::Txn(txn),
            Self::Compact { at } => Command::Compact { at },
            Self::Grant { ttl_seconds } => {
                let id = i64::try_from(index).expect("indexes are counted one by one");
                let id = LeaseId(id);
                Command::LeaseGrant { id, ttl_seconds }
            }
            Self::Revoke { id } => Command::LeaseRevoke { id },
        }
    }
}

/// A durable and applied command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// Its log index.
    pub index: u64,
    /// Its outcome.
    pub applied: Applied,
}

/// The queue between many tasks and one thread.
pub(crate) struct Queue {
    jobs: Mutex<Jobs>,
    wake: Condvar,
    room: Semaphore,
}

#[derive(Default)]
struct Jobs {
    waiting: Vec<Job>,
    closed: Option<String>,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self {
            jobs: Mutex::default(),
            wake: Condvar::new(),
            room: Semaphore::new(WAITING_MAX),
        }
    }

    /// Queues a request and waits for its outcome.
    pub(crate) async fn send(&self, request: Request) -> Result<Done, WriteFailure> {
        let _room = self
            .room
            .acquire()
            .await
            .map_err(|_| stopped("the store is closed"))?;
        let (answer, outcome) = oneshot::channel();
        {
            let mut jobs = self.jobs.lock();
            if let Some(reason) = &jobs.closed {
                return Err(stopped(reason));
            }
            jobs.waiting.push(Job { request, answer });
        }
        self.wake.notify_one();
        let reason = "the store stopped before it answered".to_owned();
        let outcome = outcome.await;
        outcome.unwrap_or(Err(WriteFailure::Uncertain { reason }))
    }

    /// Takes all queued jobs; blocks until there is one or `deadline` has passed. `None` once the queue is closed
    /// and empty.
    pub(crate) fn take(&self, into: &mut VecDeque<Job>, deadline: Option<Instant>) -> Option<()> {
        let mut jobs = self.jobs.lock();
        while jobs.waiting.is_empty() && into.is_empty() {
            if jobs.closed.is_some() {
                return None;
            }
            match deadline {
                Some(deadline) => {
                    if self.wake.wait_until(&mut jobs, deadline).timed_out() {
                        break;
                    }
                }
                None => self.wake.wait(&mut jobs),
            }
        }
        into.extend(jobs.waiting.drain(..));
        Some(())
    }

    /// Rejects new writes. Queued ones are still processed.
    pub(crate) fn close(&self, reason: &str) {
        self.jobs
            .lock()
            .closed
            .get_or_insert_with(|| reason.to_owned());
        self.wake.notify_one();
    }

    /// Rejects new and queued writes.
    pub(crate) fn fail(&self, reason: &str) {
        self.close(reason);
        for job in std::mem::take(&mut self.jobs.lock().waiting) {
            // The caller is gone; drop the reply.
            drop(job.answer.send(Err(stopped(reason))));
        }
    }
}

fn stopped(reason: &str) -> WriteFailure {
    let reason = reason.to_owned();
    WriteFailure::Unavailable(Unavailable { reason })
}

/// Monotonic clock of leases; starts at zero with the process.
pub(crate) struct Clock(Instant);

impl Clock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the store is the shell that hands the machine its time"
    )]
    fn read() -> Instant {
        Instant::now()
    }

    pub(crate) fn start() -> Self {
        Self(Self::read())
    }

    pub(crate) fn now(&self) -> Millis {
        let elapsed = Self::read().duration_since(self.0).as_millis();
        Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    /// The instant at which the clock shows `at`; `None` if out of range.
    pub(crate) fn instant(&self, at: Millis) -> Option<Instant> {
        self.0.checked_add(Duration::from_millis(at.0))
    }

    /// Measures the duration of `work`.
    pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
        let start = Self::read();
        let outcome = work();
        (outcome, Self::read().duration_since(start))
    }

    /// True once `at` is reached.
    pub(crate) fn is_past(at: Instant) -> bool {
        Self::read() >= at
    }

    pub(crate) fn after(duration: Duration) -> Instant {
        Self::read() + duration
    }
}
