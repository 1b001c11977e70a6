//! Writer thread with group commit: one frame and one fsync for all queued writes.
//!
//! It is the shell around the proposer, the log and the applier: the one that waits, and the one that reads the clock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lockstep_mvcc::Command;
use lockstep_storage::WriteFailure;

use crate::applier::Applier;
use crate::condition::{Condition, Outage, Part};
use crate::faults::{Faults, Step, is_stopped};
use crate::log::{AppendError, FrameBuilder, Log};
use crate::proposer::{Answer, Entry, propose};
use crate::queue::{Clock, Done, Job, Queue};

/// Maximum lease revocations in one frame, so that mass expiry does not block other writes.
const REVOKES_MAX: usize = 100;

/// The writer thread's state.
pub(crate) struct Writer {
    pub(crate) queue: Arc<Queue>,
    pub(crate) applier: Applier,
    pub(crate) clock: Arc<Clock>,
    pub(crate) log: Log,
    pub(crate) faults: Faults,
    pub(crate) condition: Arc<Condition>,
    /// Failure of the log, if the last frame failed.
    pub(crate) log_failure: Option<LogFailure>,
    /// Time between attempts to write again after a failure.
    pub(crate) retry_interval: Duration,
    /// Threshold and count of slow commands.
    pub(crate) slow_apply: Duration,
    pub(crate) slow_applies: Arc<AtomicU64>,
}

/// A failed log, and when to try it again.
pub(crate) struct LogFailure {
    remedy: Remedy,
    retry: Instant,
}

/// Way to append again after a failure.
#[derive(Clone, Copy)]
enum Remedy {
    /// Write at the same place.
    Overwrite,
    /// Start another segment, once the state has all commands.
    StartOver,
}

impl Writer {
    /// Runs until the queue is closed, or a test stops the store.
    pub(crate) fn run(mut self) {
        let outcome = self.write_all();
        let reason = match &outcome {
            Ok(()) => "the store is closed".to_owned(),
            Err(error) => format!("writing the log failed: {error}"),
        };
        self.queue.fail(&reason);
        self.applier.checkpointer.close(outcome.is_ok());
    }

    /// Refuses queued writes during an outage, and tries to end it. True if there is an outage.
    fn refuse_during_outage(&mut self, jobs: &mut VecDeque<Job>) -> std::io::Result<bool> {
        let Some(outage) = self.condition.outage() else {
            return Ok(false);
        };
        for job in jobs.drain(..) {
            // The caller is gone; drop the reply.
            drop(job.answer.send(Err(outage.refusal())));
        }
        let failure = self.log_failure.as_ref();
        if let Some(LogFailure { remedy, retry }) = failure
            && Clock::is_past(*retry)
        {
            self.retry(*remedy)?;
        }
        Ok(true)
    }

    fn retry(&mut self, remedy: Remedy) -> std::io::Result<()> {
        match remedy {
            Remedy::Overwrite => {
                let mut frame = FrameBuilder::default();
                frame.begin(self.log.next_index());
                if let Err(error) = self.log.append(&mut frame) {
                    self.log_failed(error)?;
                    return Ok(());
                }
            }
            Remedy::StartOver => {
                let has_all = self.applier.checkpointer.applied() + 1 == self.log.next_index();
                let started_over = has_all.then(|| self.log.start_over());
                match started_over {
                    Some(Ok(())) => {}
                    Some(Err(error)) => {
                        self.log_failed(AppendError::NotSynced(error))?;
                        return Ok(());
                    }
                    None => {
                        self.postpone(remedy);
                        return Ok(());
                    }
                }
            }
        }
        self.log_failure = None;
        self.condition.recover(Part::Log);
        Ok(())
    }

    /// Starts or continues an outage. Fails if a test stopped the store.
    fn log_failed(&mut self, error: AppendError) -> std::io::Result<WriteFailure> {
        let (remedy, error) = match error {
            AppendError::Stopped(error) => return Err(error),
            AppendError::NotWritten(error) => (Remedy::Overwrite, error),
            AppendError::NotSynced(error) if is_stopped(&error) => return Err(error),
            AppendError::NotSynced(error) => (Remedy::StartOver, error),
        };
        let outage = Outage::of_log(&error);
        let failure = match remedy {
            Remedy::Overwrite => outage.refusal(),
            Remedy::StartOver => outage.uncertainty(),
        };
        self.condition.fail(Part::Log, outage);
        self.postpone(remedy);
        Ok(failure)
    }

    fn postpone(&mut self, remedy: Remedy) {
        let retry = Clock::after(self.retry_interval);
        self.log_failure = Some(LogFailure { remedy, retry });
    }

    /// Applies a command from the log during startup.
    pub(crate) fn replay(&mut self, index: u64, command: Command) {
        let entry = Entry {
            index,
            command,
            answer: None,
        };
        self.apply_entries(vec![entry]);
    }

    fn write_all(&mut self) -> std::io::Result<()> {
        let mut jobs = VecDeque::new();
        let mut frame = FrameBuilder::default();
        loop {
            let is_swept = self.applier.is_swept();
            let deadline = if self.condition.outage().is_some() {
                Some(Clock::after(self.retry_interval))
            } else if is_swept {
                let next = self.applier.live.next_lease_deadline();
                next.and_then(|at| self.clock.instant(at))
            } else {
                self.clock.instant(self.clock.now())
            };
            if self.queue.take(&mut jobs, deadline).is_none() {
                return self.close();
            }
            if self.refuse_during_outage(&mut jobs)? {
                continue;
            }
            let expired = self
                .applier
                .live
                .expired_leases(self.clock.now(), REVOKES_MAX);
            let entries = propose(&mut frame, self.log.next_index(), &mut jobs, expired);
            if entries.is_empty() {
                if !is_swept {
                    self.applier.checkpointer.wait_for_room();
                    let checkpointer = &self.applier.checkpointer;
                    self.applier
                        .finish(&mut checkpointer.pending(), checkpointer.seen());
                    checkpointer.notify_pending();
                }
                continue;
            }
            self.applier.checkpointer.wait_for_room();
            if let Err(error) = self.log.append(&mut frame) {
                self.frame_failed(entries, error)?;
                continue;
            }
            let answers = self.apply_entries(entries);
            self.faults.reach(Step::Applied)?;
            for (answer, done) in answers {
                // The caller is gone; drop the reply.
                drop(answer.send(Ok(done)));
            }
            self.applier.checkpointer.notify_pending();
            self.log.release(self.applier.checkpointer.applied());
        }
    }

    /// Closes the log in order, unless it cannot be written.
    fn close(&mut self) -> std::io::Result<()> {
        if self.log_failure.is_some() {
            return Ok(());
        }
        match self.log.close() {
            Ok(()) => Ok(()),
            Err(error) => self.log_failed(error).map(drop),
        }
    }

    /// Reports the failure of a frame to the clients of its commands.
    fn frame_failed(&mut self, entries: Vec<Entry>, error: AppendError) -> std::io::Result<()> {
        let told = Outage::of_log(error.source()).uncertainty();
        let outcome = self.log_failed(error);
        let told = outcome.as_ref().unwrap_or(&told);
        for answer in entries.into_iter().filter_map(|entry| entry.answer) {
            // The caller is gone; drop the reply.
            drop(answer.send(Err(told.clone())));
        }
        outcome.map(drop)
    }

    /// Applies durable commands, and records their changes for the state.
    fn apply_entries(&mut self, entries: Vec<Entry>) -> Vec<(Answer, Done)> {
        let mut pending = self.applier.checkpointer.pending();
        let mut last_index = 0;
        let mut answers = Vec::with_capacity(entries.len());
        for Entry {
            index,
            command,
            answer,
        } in entries
        {
            let begun = self.clock.now();
            let applied = self.applier.apply(&mut pending, command, begun);
            let took = self.clock.now().0.saturating_sub(begun.0);
            if Duration::from_millis(took) >= self.slow_apply {
                self.slow_applies.fetch_add(1, Ordering::Relaxed);
            }
            last_index = index;
            answers.extend(answer.map(|answer| (answer, Done { index, applied })));
        }
        self.applier.finish(&mut pending, last_index);
        self.applier.checkpointer.see(last_index);
        answers
    }
}
