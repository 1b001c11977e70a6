//! Jobs of a member's disk: one at a time in each lane.

use std::collections::VecDeque;

use lockstep_mvcc::MemberId;

use crate::cluster::Cluster;
use crate::entry::Position;
use crate::files::FileOp;

/// Something that happens once a job is done.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Done {
    /// The member may begin.
    Opened,
    /// Everything up to a ticket is safe.
    Persisted { ticket: u64 },
    /// A snapshot is safe and replaces the state.
    Installed { ticket: u64 },
    /// A checkpoint is safe.
    Checkpoint(Position, Box<Cluster>),
    /// A piece of a snapshot is safe.
    Piece {
        from: MemberId,
        position: Position,
        received: u64,
        is_last: bool,
    },
    /// Nothing.
    Released,
}

/// Jobs that follow each other.
#[derive(Default)]
pub(super) struct Lane {
    waiting: VecDeque<(Vec<FileOp>, Done)>,
    running: Option<(u64, Done)>,
}

impl Lane {
    pub(super) fn push(&mut self, ops: Vec<FileOp>, done: Done) {
        self.waiting.push_back((ops, done));
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_none() && self.waiting.is_empty()
    }

    /// The next job to start, if none is running.
    pub(super) fn start(&mut self, next_job: &mut u64) -> Option<(u64, Vec<FileOp>)> {
        if self.running.is_some() {
            return None;
        }
        let (ops, done) = self.waiting.pop_front()?;
        *next_job += 1;
        self.running = Some((*next_job, done));
        Some((*next_job, ops))
    }

    pub(super) fn finish(&mut self, job: u64) -> Option<Done> {
        let (_, done) = self.running.take_if(|(running, _)| *running == job)?;
        Some(done)
    }
}
