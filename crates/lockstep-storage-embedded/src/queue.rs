//! Commands on their way to the writer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lockstep_mvcc::{Applied, CheckedTxn, Command, LeaseId, Millis, Revision};
use lockstep_storage::{Unavailable, WriteFailure};
use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, oneshot};

/// How many writers may wait. More of them wait to be let in.
const WAITING_MAX: usize = 4096;

/// A write that waits.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) answer: oneshot::Sender<Result<Done, WriteFailure>>,
}

/// What is asked of the writer.
pub(crate) enum Request {
    /// Exactly this.
    Command(Command),
    Txn(CheckedTxn),
    Compact {
        at: Revision,
    },
    /// The lease gets the index of its command as its id: no other lease ever had it.
    Grant {
        ttl_seconds: i64,
    },
    Revoke {
        id: LeaseId,
    },
}

impl Request {
    /// The command that goes into the log at an index.
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

/// A command that is safe and applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Done {
    /// Its place among all commands.
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

    /// Hands a request to the writer and waits for its outcome.
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

    /// Takes everything that waits; if there is nothing to do, waits until there is or `deadline`
    /// has come. None once the queue is closed and empty.
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

    /// Refuses new writes. Those that wait are taken first.
    pub(crate) fn close(&self, reason: &str) {
        self.jobs
            .lock()
            .closed
            .get_or_insert_with(|| reason.to_owned());
        self.wake.notify_one();
    }

    /// Refuses new writes and those that wait.
    pub(crate) fn fail(&self, reason: &str) {
        self.close(reason);
        for job in std::mem::take(&mut self.jobs.lock().waiting) {
            // The writer may have gone away, which is its own answer.
            drop(job.answer.send(Err(stopped(reason))));
        }
    }
}

fn stopped(reason: &str) -> WriteFailure {
    let reason = reason.to_owned();
    WriteFailure::Unavailable(Unavailable { reason })
}

/// The clock of leases: it never jumps, and starts anew with the process.
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

    /// When the clock shows `at`; none if it never will.
    pub(crate) fn instant(&self, at: Millis) -> Option<Instant> {
        self.0.checked_add(Duration::from_millis(at.0))
    }

    /// How long `work` took, beside its outcome.
    pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
        let start = Self::read();
        let outcome = work();
        (outcome, Self::read().duration_since(start))
    }

    pub(crate) fn after(duration: Duration) -> Instant {
        Self::read() + duration
    }
}
