//! The thread that writes: one frame, one wait for the disk, for all who wait.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use lockstep_mvcc::{Applied, Command, Effect, KeyValue, LeaseId, Machine, Sweep};
use lockstep_storage::{Live, WriteFailure};
use tokio::sync::oneshot;

use crate::faults::{Faults, Step};
use crate::keeper::Keeper;
use crate::log::{FrameBuilder, Log};
use crate::queue::{Clock, Done, Job, Queue};
use crate::state::{Numbers, Pending, Place, place};

/// The most leases that one frame revokes, so that a pile of them does not stop other writes.
const REVOKES_MAX: usize = 100;

/// How many steps of a sweep one frame waits for, so that a large compaction does not stop writes.
const SWEEPS_MAX: usize = 16;

/// A frame that has grown this large takes no further command.
const FRAME_BYTES_ENOUGH: usize = 4 << 20;

/// Everything the writing thread works with.
pub(crate) struct Writer {
    pub(crate) live: Arc<Live>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) keeper: Arc<Keeper>,
    pub(crate) clock: Arc<Clock>,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    /// From how long on carrying out one command counts as slow, and how many did.
    pub(crate) slow_apply: Duration,
    pub(crate) slow_applies: Arc<AtomicU64>,
}

/// A command in a frame and who waits for it.
struct Entry {
    index: u64,
    command: Command,
    answer: Option<Answer>,
}

type Answer = oneshot::Sender<Result<Done, WriteFailure>>;

impl Writer {
    /// Works until the queue is closed or the disk fails.
    pub(crate) fn run(mut self) {
        let outcome = self.write_all();
        let reason = match &outcome {
            Ok(()) => "the store is closed".to_owned(),
            Err(error) => format!("writing the log failed: {error}"),
        };
        self.queue.fail(&reason);
        self.keeper.close(outcome.is_ok());
    }

    /// Applies a command that was in the log.
    pub(crate) fn replay(&mut self, index: u64, command: Command) {
        let entry = Entry {
            index,
            command,
            answer: None,
        };
        self.apply_entries(vec![entry]);
    }

    /// Lets the state forget rows.
    pub(crate) fn remove_rows(&mut self, rows: Vec<Place>) {
        let mut pending = self.keeper.pending();
        pending
            .pairs
            .extend(rows.into_iter().map(|place| (place, None)));
    }

    fn write_all(&mut self) -> std::io::Result<()> {
        let mut jobs = VecDeque::new();
        let mut frame = FrameBuilder::default();
        loop {
            let is_swept = self.live.inspect(Machine::is_swept);
            let deadline = if is_swept {
                let next = self.live.next_lease_deadline();
                next.and_then(|at| self.clock.instant(at))
            } else {
                self.clock.instant(self.clock.now())
            };
            if self.queue.take(&mut jobs, deadline).is_none() {
                return self.log.close();
            }
            let expired = self.live.expired_leases(self.clock.now(), REVOKES_MAX);
            let entries = collect(&mut frame, self.log.next_index(), &mut jobs, expired);
            if entries.is_empty() {
                if !is_swept {
                    self.keeper.wait_for_room();
                    self.finish(&mut self.keeper.pending(), self.keeper.seen());
                    self.keeper.nudge();
                }
                continue;
            }
            self.keeper.wait_for_room();
            if let Err(error) = self.log.append(&mut frame) {
                tell_uncertain(entries, &error);
                return Err(error);
            }
            let answers = self.apply_entries(entries);
            self.faults.reach(Step::Applied)?;
            for (answer, done) in answers {
                // Who no longer waits does not need the answer.
                drop(answer.send(Ok(done)));
            }
            self.keeper.nudge();
            self.log.release(self.keeper.applied())?;
        }
    }

    /// Applies what is safe, and leaves it for the state.
    fn apply_entries(&mut self, entries: Vec<Entry>) -> Vec<(Answer, Done)> {
        let mut pending = self.keeper.pending();
        let mut last_index = 0;
        let mut answers = Vec::with_capacity(entries.len());
        for Entry {
            index,
            command,
            answer,
        } in entries
        {
            let begun = self.clock.now();
            let applied = self.live.apply(command, begun);
            let took = self.clock.now().0.saturating_sub(begun.0);
            if Duration::from_millis(took) >= self.slow_apply {
                self.slow_applies.fetch_add(1, Ordering::Relaxed);
            }
            self.note(&mut pending, &applied);
            last_index = index;
            answers.extend(answer.map(|answer| (answer, Done { index, applied })));
        }
        self.finish(&mut pending, last_index);
        self.keeper.see(last_index);
        answers
    }

    /// Sweeps a while, and tells up to where the state goes with what is pending.
    fn finish(&self, pending: &mut Pending, last_index: u64) {
        self.sweep(pending);
        pending.numbers = Some(self.live.inspect(|machine| Numbers {
            applied: last_index,
            revision: machine.revision(),
            compacted: machine.compacted(),
        }));
    }

    /// Remembers what a command did for the state.
    fn note(&self, pending: &mut Pending, applied: &Applied) {
        let changed = match applied.effect {
            Effect::None | Effect::Compacted { .. } => None,
            Effect::Changed { revision } => Some(revision),
            Effect::LeaseGranted { id, ttl_seconds } => {
                pending.leases.insert(id, Some(ttl_seconds));
                None
            }
            Effect::LeaseRevoked { id, changed } => {
                pending.leases.insert(id, None);
                changed
            }
            Effect::AlarmChanged { alarm, is_raised } => {
                pending.alarms.insert(alarm, is_raised);
                None
            }
        };
        if let Some(revision) = changed {
            self.live.inspect(|machine| {
                let rows = machine.changes(revision);
                let rows = rows.map(|kv| (place(kv), Some(kv.clone())));
                pending.pairs.extend(rows);
            });
        }
    }

    /// Frees some of what a compaction left, in steps between which readers come in.
    fn sweep(&self, pending: &mut Pending) {
        let mut drop_row = |kv: &KeyValue| {
            pending.pairs.insert(place(kv), None);
        };
        for _ in 0..SWEEPS_MAX {
            if self.live.sweep(&mut drop_row) == Sweep::Done {
                break;
            }
        }
    }
}

/// Puts what waits into one frame, up to its size.
fn collect(
    frame: &mut FrameBuilder,
    first_index: u64,
    jobs: &mut VecDeque<Job>,
    expired: Vec<LeaseId>,
) -> Vec<Entry> {
    frame.begin(first_index);
    let mut entries = Vec::with_capacity(expired.len() + jobs.len());
    for id in expired {
        let index = frame.next_index();
        let command = Command::LeaseRevoke { id };
        let answer = None;
        frame.push(|bytes| command.encode(bytes));
        entries.push(Entry {
            index,
            command,
            answer,
        });
    }
    while frame.len() < FRAME_BYTES_ENOUGH
        && let Some(Job { request, answer }) = jobs.pop_front()
    {
        let index = frame.next_index();
        let command = request.command(index);
        let answer = Some(answer);
        frame.push(|bytes| command.encode(bytes));
        entries.push(Entry {
            index,
            command,
            answer,
        });
    }
    entries
}

fn tell_uncertain(entries: Vec<Entry>, error: &std::io::Error) {
    for answer in entries.into_iter().filter_map(|entry| entry.answer) {
        let reason = format!("writing the log failed: {error}");
        drop(answer.send(Err(WriteFailure::Uncertain { reason })));
    }
}
