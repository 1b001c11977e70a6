//! Events and effects of a node.

use bytes::Bytes;
use lockstep_mvcc::{Command, MemberId};

use crate::cluster::{Cluster, ClusterError, MemberChange};
use crate::entry::{Content, HardState, LogEntry, Position, UnknownContent};
use crate::peer::{Envelope, RaftMessage};

/// Name that the owner of a node gives to a request, to know its answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RequestId(pub u64);

/// An event of a node.
#[derive(Clone, Debug)]
pub enum Event {
    /// A heartbeat interval has passed.
    Tick,
    /// A message from another member.
    Message(Envelope),
    /// The outcome of [`Effect::Persist`] is safe on disk, and so is everything of smaller tickets.
    Persisted {
        /// Its ticket.
        ticket: u64,
    },
    /// Entries up to an index are applied.
    Applied {
        /// The index.
        index: u64,
    },
    /// A checkpoint is safe on disk: the outcome of [`Effect::Checkpoint`].
    CheckpointWritten {
        /// The last entry in it.
        position: Position,
        /// The membership at that entry.
        cluster: Cluster,
    },
    /// Bytes of a checkpoint: the outcome of [`Effect::ReadChunk`].
    ChunkRead {
        /// The member that gets them.
        to: MemberId,
        /// The checkpoint.
        position: Position,
        /// Where they begin.
        offset: u64,
        /// The bytes; `None` if the checkpoint is gone.
        bytes: Option<Bytes>,
        /// True if nothing follows.
        is_last: bool,
    },
    /// A piece of a snapshot is safe on disk: the outcome of [`Effect::WriteChunk`].
    ChunkWritten {
        /// The sender.
        from: MemberId,
        /// The snapshot.
        position: Position,
        /// Bytes of it that are there.
        received: u64,
        /// True if it was complete and is not what its sender wrote.
        is_damaged: bool,
    },
    /// A command of a client.
    Propose {
        /// Its name.
        request: RequestId,
        /// The command. Everything it decides is in it.
        command: Command,
    },
    /// A change of the membership.
    Change {
        /// Its name.
        request: RequestId,
        /// The change.
        change: MemberChange,
    },
    /// A linearizable read, which may look at the state once it is confirmed.
    Read {
        /// Its name.
        request: RequestId,
    },
    /// Give the leadership to a voter.
    Transfer {
        /// Its name.
        request: RequestId,
        /// The voter.
        to: MemberId,
    },
}

impl Event {
    /// True if it is a request that needs an answer.
    pub(super) fn is_request(&self) -> bool {
        matches!(
            self,
            Self::Propose { .. } | Self::Change { .. } | Self::Read { .. } | Self::Transfer { .. }
        )
    }
}

/// Something that a node wants done.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Send a message. It may be lost.
    Send(Envelope),
    /// Write to the log and make it safe, in the order of tickets; then [`Event::Persisted`].
    Persist(Persist),
    /// Apply committed entries, in order; then [`Event::Applied`].
    Apply(Vec<Committed>),
    /// Write the applied state to disk; then [`Event::CheckpointWritten`].
    Checkpoint,
    /// Read a piece of a checkpoint; then [`Event::ChunkRead`].
    ReadChunk {
        /// The member that gets it.
        to: MemberId,
        /// The checkpoint.
        position: Position,
        /// Where it begins.
        offset: u64,
        /// Maximum number of bytes.
        bytes_max: usize,
    },
    /// Write a piece of a received snapshot and make it safe; then [`Event::ChunkWritten`].
    WriteChunk {
        /// The sender.
        from: MemberId,
        /// The snapshot.
        position: Position,
        /// Where the piece belongs; 0 starts the file over.
        offset: u64,
        /// The piece.
        bytes: Bytes,
        /// True if the snapshot is complete with it.
        is_last: bool,
    },
    /// Entries up to an index, and checkpoints before another one, are needed no more.
    Release {
        /// The index up to which the log may be cut.
        log: u64,
        /// The oldest checkpoint that is still needed.
        checkpoint: u64,
    },
    /// A confirmed read: the state may be read now.
    ReadReady(Vec<RequestId>),
    /// A request that was done or refused without an entry of its own.
    Answer(RequestId, Result<(), Refusal>),
    /// The role or the leader has changed.
    Role(Role),
    /// The member must stop; it does nothing any more.
    Stop(StopReason),
}

/// A write to the log.
#[derive(Clone, PartialEq, Debug)]
pub struct Persist {
    /// Its number.
    pub ticket: u64,
    /// A complete snapshot that replaces the state and the log, before anything else of this write.
    pub install: Option<Position>,
    /// New term, vote and commit index.
    pub hard_state: Option<HardState>,
    /// Entries; they replace those at their indexes and after.
    pub entries: Vec<LogEntry>,
}

/// A committed entry.
#[derive(Clone, PartialEq, Debug)]
pub struct Committed {
    /// Its place.
    pub position: Position,
    /// Its content.
    pub content: Content,
    /// The request of this member that it answers.
    pub request: Option<RequestId>,
}

/// Role of a member, as it believes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Role {
    /// The term.
    pub term: u64,
    /// The leader, if one is known.
    pub leader: Option<MemberId>,
    /// True if it leads.
    pub is_leader: bool,
}

/// Reasons why a request has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refusal {
    /// No leader is known. Nothing was written.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// Only the leader can do it. Nothing was written.
    #[error("etcdserver: not leader")]
    NotLeader,
    /// The named member cannot lead now.
    #[error("etcdserver: bad leader transferee")]
    BadTransferee,
    /// Too much is committed and not applied. Nothing was written.
    #[error("etcdserver: too many requests")]
    TooManyRequests,
    /// Another change of members is under way. Nothing was written.
    #[error("etcdserver: unhealthy cluster")]
    ChangePending,
    /// The change is against the rules. Nothing was written.
    #[error(transparent)]
    Cluster(ClusterError),
    /// There was no answer in time. A write may be applied once, now or later.
    #[error("etcdserver: request timed out")]
    TimedOut,
    /// A newer proposal of this member was applied first, so that this one never will be.
    #[error("etcdserver: request timed out, possibly due to previous leader failure")]
    Superseded,
    /// The member stops. A write may be applied once, now or later.
    #[error("etcdserver: server stopped")]
    Stopped,
}

impl Refusal {
    /// True if a write that was refused so may still be applied.
    pub fn is_uncertain(self) -> bool {
        matches!(self, Self::TimedOut | Self::Stopped)
    }
}

/// Reasons to stop a member.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StopReason {
    /// It is not in the cluster any more.
    #[error("the member was removed from the cluster")]
    Removed,
    /// An entry cannot be applied by this version.
    #[error(transparent)]
    UnknownContent(#[from] UnknownContent),
    /// The leader knows that this member had entries which its log does not have: its disk lost them.
    #[error("the log ends at index {last}, and index {known} was safe on this disk")]
    EntriesLost {
        /// The last index of the log.
        last: u64,
        /// The index that the member acknowledged.
        known: u64,
    },
}

/// A message that completes a snapshot.
pub(super) type Completion = Option<RaftMessage>;
