//! Newest part of the log in memory, from which the Raft library reads.

use std::cell::Cell;

use bytes::Bytes;
use lockstep_mvcc::MemberId;
use raft::prelude::{Entry, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError, util};

use crate::cluster::Cluster;
use crate::entry::{HardState, LogEntry, Position};
use crate::peer::{configuration, entry_to_raft};

/// A checkpoint of the state on disk, which can be sent to other members.
#[derive(Clone, Debug)]
pub(super) struct Checkpoint {
    pub(super) position: Position,
    pub(super) cluster: Cluster,
    /// The bytes of `cluster`.
    pub(super) bytes: Bytes,
}

impl Checkpoint {
    pub(super) fn new(position: Position, cluster: Cluster) -> Self {
        let bytes = cluster.encode().into();
        Self {
            position,
            cluster,
            bytes,
        }
    }
}

/// Entries after `base`, without a gap.
pub(super) struct LogWindow {
    /// The entry before the first one here; it may be compacted.
    base: Position,
    entries: Vec<Entry>,
    /// Sum of the bytes of the proposals.
    bytes: usize,
    checkpoint: Checkpoint,
    hard_state: HardState,
    /// True if a newer snapshot than the checkpoint is needed.
    wants_checkpoint: Cell<bool>,
}

impl LogWindow {
    pub(super) fn new(
        base: Position,
        entries: Vec<LogEntry>,
        checkpoint: Checkpoint,
        hard_state: HardState,
    ) -> Self {
        let bytes = entries.iter().map(|entry| entry.data.len()).sum();
        Self {
            base,
            entries: entries.into_iter().map(entry_to_raft).collect(),
            bytes,
            checkpoint,
            hard_state,
            wants_checkpoint: Cell::new(false),
        }
    }

    pub(super) fn last(&self) -> Position {
        let last = self.entries.last().map(|entry| Position {
            index: entry.index,
            term: entry.term,
        });
        last.unwrap_or(self.base)
    }

    /// The entry before the first one here.
    pub(super) fn base(&self) -> Position {
        self.base
    }

    pub(super) fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Bytes of the proposals here.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn wants_checkpoint(&self) -> bool {
        self.wants_checkpoint.get()
    }

    /// Appends entries, which replace those at their indexes and after.
    pub(super) fn append(&mut self, entries: &[Entry]) {
        let Some(first) = entries.first() else {
            return;
        };
        let keep = first.index.checked_sub(self.base.index + 1);
        let keep = keep.and_then(|keep| usize::try_from(keep).ok());
        let keep = keep.expect("the library replaces no compacted entry");
        assert!(keep <= self.entries.len(), "the library leaves no gap");
        self.bytes -= bytes_of(&self.entries[keep..]);
        self.bytes += bytes_of(entries);
        self.entries.truncate(keep);
        self.entries.extend_from_slice(entries);
    }

    /// Starts over after a snapshot.
    pub(super) fn install(&mut self, checkpoint: Checkpoint) {
        self.base = checkpoint.position;
        self.entries.clear();
        self.bytes = 0;
        self.checkpoint = checkpoint;
    }

    /// Records a newer checkpoint, and drops entries up to an index that it covers.
    pub(super) fn compact(&mut self, checkpoint: Checkpoint, up_to: u64) {
        let up_to = up_to.min(checkpoint.position.index);
        if checkpoint.position > self.checkpoint.position {
            self.checkpoint = checkpoint;
            self.wants_checkpoint.set(false);
        }
        let Some(term) = self.term_at(up_to) else {
            return;
        };
        let dropped = usize::try_from(up_to - self.base.index).unwrap_or_default();
        self.bytes -= bytes_of(&self.entries[..dropped]);
        self.entries.drain(..dropped);
        self.base = Position { index: up_to, term };
    }

    /// Term of the entry at an index, if it is here or just before.
    pub(super) fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.base.index {
            return Some(self.base.term);
        }
        let place = index.checked_sub(self.base.index + 1)?;
        let entry = self.entries.get(usize::try_from(place).ok()?)?;
        Some(entry.term)
    }
}

fn bytes_of(entries: &[Entry]) -> usize {
    entries.iter().map(|entry| entry.data.len()).sum()
}

impl Storage for LogWindow {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let mut hard_state = raft::prelude::HardState::default();
        hard_state.term = self.hard_state.term;
        hard_state.vote = self.hard_state.vote;
        hard_state.commit = self.hard_state.commit;
        let conf_state = configuration(&self.checkpoint.cluster);
        Ok(RaftState::new(hard_state, conf_state))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low <= self.base.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        let place = |index: u64| usize::try_from(index - self.base.index - 1).ok();
        let found = place(low).zip(place(high));
        let found = found.and_then(|(low, high)| self.entries.get(low..high));
        let found = found.ok_or(Error::Store(StorageError::Unavailable))?;
        let mut entries = found.to_vec();
        util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        if index < self.base.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        let term = self.term_at(index);
        term.ok_or(Error::Store(StorageError::Unavailable))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.base.index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last().index)
    }

    fn snapshot(&self, request_index: u64, to: u64) -> raft::Result<Snapshot> {
        let Checkpoint {
            position,
            cluster,
            bytes,
        } = &self.checkpoint;
        // A member refuses a snapshot in which it is no member: it was added after that.
        let is_member = cluster.member(MemberId(to)).is_some();
        if position.index < request_index || position.index < self.base.index || !is_member {
            self.wants_checkpoint.set(true);
            let error = StorageError::SnapshotTemporarilyUnavailable;
            return Err(Error::Store(error));
        }
        let mut snapshot = Snapshot::default();
        let metadata = snapshot.mut_metadata();
        metadata.index = position.index;
        metadata.term = position.term;
        metadata.set_conf_state(configuration(cluster));
        snapshot.data = bytes.clone();
        Ok(snapshot)
    }
}
