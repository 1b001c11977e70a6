//! A machine of the simulated cluster: its disk, and the process on it.

use std::collections::{BTreeMap, VecDeque};

use lockstep_mvcc::Millis;
use lockstep_raftstore::{FileOp, First, Member, RequestId};

use crate::clients::Asked;
use crate::disk::Disk;

/// A machine.
pub(crate) struct Host {
    pub(crate) disk: Disk,
    pub(crate) first: First,
    pub(crate) process: Option<Process>,
    /// True once its process learnt that it was removed.
    pub(crate) is_removed: bool,
    /// File operations take up to so many milliseconds.
    pub(crate) disk_millis: u64,
}

/// A running process.
pub(crate) struct Process {
    /// Number that no other process has.
    pub(crate) life: usize,
    pub(crate) member: Member,
    pub(crate) paused_until: u64,
    /// Operations that are left of each job.
    pub(crate) jobs: BTreeMap<u64, VecDeque<FileOp>>,
    pub(crate) asked: BTreeMap<RequestId, Asked>,
    started_at: u64,
    /// Speed of its clock, in thousandths.
    rate: u64,
    /// Jumps of its clock.
    pub(crate) ahead: u64,
    /// For planted bugs: ticks for which a confirmed leader goes on to answer reads.
    pub(crate) trusted_ticks: u64,
    requests: u64,
}

impl Process {
    pub(crate) fn new(life: usize, member: Member, now: u64, rate: u64) -> Self {
        Self {
            life,
            member,
            paused_until: 0,
            jobs: BTreeMap::new(),
            asked: BTreeMap::new(),
            started_at: now,
            rate,
            ahead: 0,
            trusted_ticks: 0,
            requests: 0,
        }
    }

    /// Time on the clock of the process.
    pub(crate) fn clock(&self, now: u64) -> Millis {
        Millis((now - self.started_at) * self.rate / 1000 + self.ahead)
    }

    /// Virtual milliseconds of a heartbeat interval of this process.
    pub(crate) fn tick_millis(&self) -> u64 {
        100 * 1000 / self.rate
    }

    pub(crate) fn next_request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }
}
