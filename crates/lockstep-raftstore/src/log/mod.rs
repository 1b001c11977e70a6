//! The replicated log on disk: segments with terms, votes and commit indexes.
//!
//! [`Log`] turns writes into operations on files and performs none. One frame at a time may be unsynced, so an
//! unreadable frame is the last one, torn by a crash, or damaged. Each start begins a segment of its own, whose header
//! says where the log ended, so that the rest of a torn frame is never read again. Entries are never overwritten: one
//! that replaces others comes later in the log.

mod recover;
mod segment;

use std::collections::VecDeque;

use crate::entry::{HardState, Position};
use crate::files::FileOp;
use crate::ids::ClusterId;
use crate::node::Persist;
use lockstep_mvcc::MemberId;

pub use recover::LogDamaged;
pub(crate) use recover::{Checkpointed, Recovered, recover};
use segment::{HEADER_BYTES, Header, Origin};

/// Identity of a member on its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The cluster.
    pub cluster_id: ClusterId,
    /// The member.
    pub id: MemberId,
}

/// A log that can be appended to.
pub(crate) struct Log {
    header: Header,
    /// Where the next frame goes.
    offset: u64,
    segment_bytes: u64,
    last: Position,
    hard_state: HardState,
    /// All segments, oldest first: sequence, and the index before its first entry.
    segments: VecDeque<(u64, u64)>,
}

impl Log {
    /// Continues a log in a segment of its own. Its salt is chosen at random by the caller.
    pub(crate) fn resume(
        identity: Identity,
        boot: u64,
        salt: u64,
        segment_bytes: u64,
        found: &Recovered,
    ) -> (Self, Vec<FileOp>) {
        let header = Header {
            origin: if found.is_replaced {
                Origin::Installed
            } else {
                Origin::Started
            },
            sequence: found.next_sequence,
            salt,
            cluster: identity.cluster_id.0,
            member: identity.id.0,
            boot,
            before: found.last(),
            hard_state: found.hard_state,
        };
        let mut segments: VecDeque<_> = found.segments.iter().copied().collect();
        segments.push_back((header.sequence, header.before.index));
        // Data of a killed process may be readable without being safe; the header below vouches for it.
        let mut ops = Vec::new();
        if let Some((newest, _)) = found.segments.last() {
            let name = segment::name(*newest);
            ops.push(FileOp::Sync { name });
            ops.push(FileOp::SyncNames);
        }
        ops.extend(found.leftovers.iter().copied().map(remove));
        ops.extend(create(&header));
        let log = Self {
            header,
            offset: HEADER_BYTES as u64,
            segment_bytes,
            last: found.last(),
            hard_state: found.hard_state,
            segments,
        };
        (log, ops)
    }

    /// Appends writes in one frame with one sync. None of them installs a snapshot.
    pub(crate) fn append(&mut self, writes: &[Persist]) -> Vec<FileOp> {
        let mut ops = Vec::new();
        if self.offset >= self.segment_bytes {
            ops.extend(self.begin(Origin::Continued, self.last));
        }
        for write in writes {
            self.hard_state = write.hard_state.unwrap_or(self.hard_state);
            let last = write.entries.last().map(|entry| entry.position);
            self.last = last.unwrap_or(self.last);
        }
        let bytes = self.header.frame(writes);
        let name = segment::name(self.header.sequence);
        let (offset, length) = (self.offset, bytes.len() as u64);
        self.offset += length;
        ops.push(FileOp::Write {
            name: name.clone(),
            offset,
            bytes,
        });
        ops.push(FileOp::Sync { name });
        ops
    }

    /// Lets go of everything before a snapshot that is safe on disk.
    pub(crate) fn install(&mut self, position: Position, hard_state: HardState) -> Vec<FileOp> {
        self.hard_state = hard_state;
        self.last = position;
        self.begin(Origin::Installed, position)
    }

    /// Removes segments that have only entries up to an index.
    pub(crate) fn release(&mut self, index: u64) -> Vec<FileOp> {
        let mut ops = Vec::new();
        while let (Some((sequence, _)), Some((_, before))) =
            (self.segments.front(), self.segments.get(1))
            && *before <= index
        {
            ops.push(remove(*sequence));
            self.segments.pop_front();
        }
        ops
    }

    fn begin(&mut self, origin: Origin, before: Position) -> Vec<FileOp> {
        self.header = Header {
            origin,
            sequence: self.header.sequence + 1,
            salt: self.header.salt.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.offset,
            before,
            hard_state: self.hard_state,
            ..self.header
        };
        self.offset = HEADER_BYTES as u64;
        self.segments
            .push_back((self.header.sequence, before.index));
        create(&self.header)
    }
}

fn create(header: &Header) -> Vec<FileOp> {
    let name = segment::name(header.sequence);
    vec![
        FileOp::Create { name: name.clone() },
        FileOp::Write {
            name: name.clone(),
            offset: 0,
            bytes: header.encode(),
        },
        FileOp::Sync { name },
        FileOp::SyncNames,
    ]
}

fn remove(sequence: u64) -> FileOp {
    FileOp::Remove {
        name: segment::name(sequence),
    }
}

#[cfg(test)]
mod tests;
