//! Proposer: turns queued writes and expired leases into the commands of one frame.
//!
//! Everything a command decides is in it when it enters the log: lease ids follow from its index here, and an expiry
//! is a revocation. Applying it later takes no clock, flag or random number.

use std::collections::VecDeque;

use lockstep_mvcc::{Command, LeaseId};
use lockstep_storage::WriteFailure;
use tokio::sync::oneshot;

use crate::log::FrameBuilder;
use crate::queue::{Done, Job};

/// Frame size from which no further command is added.
const FRAME_BYTES_ENOUGH: usize = 4 << 20;

/// A command of a frame with its reply channel.
pub(crate) struct Entry {
    pub(crate) index: u64,
    pub(crate) command: Command,
    pub(crate) answer: Option<Answer>,
}

/// Reply channel of a queued write.
pub(crate) type Answer = oneshot::Sender<Result<Done, WriteFailure>>;

/// Collects revocations of expired leases and queued writes into one frame, up to its size limit.
pub(crate) fn propose(
    frame: &mut FrameBuilder,
    first_index: u64,
    jobs: &mut VecDeque<Job>,
    expired: Vec<LeaseId>,
) -> Vec<Entry> {
    frame.begin(first_index);
    let mut entries = Vec::with_capacity(expired.len() + jobs.len());
    for id in expired {
        entries.push(add(frame, |_| Command::LeaseRevoke { id }, None));
    }
    while frame.len() < FRAME_BYTES_ENOUGH
        && let Some(Job { request, answer }) = jobs.pop_front()
    {
        entries.push(add(frame, |index| request.command(index), Some(answer)));
    }
    entries
}

fn add(
    frame: &mut FrameBuilder,
    command: impl FnOnce(u64) -> Command,
    answer: Option<Answer>,
) -> Entry {
    let index = frame.next_index();
    let command = command(index);
    frame.push(|bytes| command.encode(bytes));
    Entry {
        index,
        command,
        answer,
    }
}
