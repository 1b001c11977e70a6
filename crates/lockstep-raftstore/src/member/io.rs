//! Inputs and outputs of a member.

use bytes::Bytes;
use lockstep_mvcc::{Command, LeaseId, MemberId, Millis};

use crate::cluster::MemberChange;
use crate::entry::Position;
use crate::files::FileOp;
use crate::node::{Refusal, RequestId, Role, StopReason};
use crate::peer::Envelope;
use crate::state::Outcome;

/// Input of a member.
#[derive(Clone, Debug)]
pub enum Input {
    /// A heartbeat interval has passed; the time is that of leases and never goes back.
    Tick {
        /// The time.
        now: Millis,
    },
    /// A message from another member.
    Message(Envelope),
    /// The operations of [`Output::Files`] are done.
    FilesDone {
        /// Their job.
        job: u64,
    },
    /// Bytes of a file: the outcome of [`Output::ReadFile`].
    FileRead {
        /// Its purpose.
        purpose: ReadPurpose,
        /// The bytes; `None` if there is no such file.
        bytes: Option<Bytes>,
        /// True if the file ends with them.
        is_last: bool,
    },
    /// A command.
    Propose {
        /// Name of the request.
        request: RequestId,
        /// The command.
        command: Command,
    },
    /// A change of the membership.
    Change {
        /// Name of the request.
        request: RequestId,
        /// The change.
        change: MemberChange,
    },
    /// A linearizable read.
    Read {
        /// Name of the request.
        request: RequestId,
    },
    /// Renews a lease; only the leader can.
    KeepAlive {
        /// Name of the request.
        request: RequestId,
        /// The lease.
        lease: LeaseId,
    },
    /// Give the leadership to another member.
    Transfer {
        /// Name of the request.
        request: RequestId,
        /// The member.
        to: MemberId,
    },
}

/// Output of a member, in the order in which it has to be acted on.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    /// Send a message. It may be lost.
    Send(Envelope),
    /// Perform operations on files, in order; then [`Input::FilesDone`]. Jobs of one lane come one after the other.
    Files {
        /// Name of the job.
        job: u64,
        /// The operations.
        ops: Vec<FileOp>,
    },
    /// Read from a file; then [`Input::FileRead`].
    ReadFile {
        /// The file.
        name: String,
        /// Where to begin.
        offset: u64,
        /// Maximum number of bytes.
        bytes_max: usize,
        /// Its purpose.
        purpose: ReadPurpose,
    },
    /// A proposal or a change was applied; the state is the one after it.
    Applied {
        /// Its request.
        request: RequestId,
        /// Its place.
        position: Position,
        /// Its outcome.
        outcome: Outcome,
    },
    /// A linearizable read may look at the state, now or later.
    ReadReady {
        /// Its request.
        request: RequestId,
    },
    /// A lease was renewed; `None` if it does not exist or has expired.
    KeptAlive {
        /// Its request.
        request: RequestId,
        /// Its TTL in seconds.
        ttl_seconds: Option<i64>,
    },
    /// A request that succeeded without an outcome.
    Done {
        /// Its request.
        request: RequestId,
    },
    /// A request that failed.
    Refused {
        /// Its request.
        request: RequestId,
        /// The reason.
        refusal: Refusal,
    },
    /// The role or the leader has changed.
    Role(Role),
    /// The state is another one: applied further, or replaced by a snapshot. Watchers read on.
    StateChanged,
    /// A snapshot of another member replaced the state.
    Installed,
    /// The member must stop.
    Stop(StopReason),
}

/// Purpose of reading a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReadPurpose {
    /// A piece of a checkpoint for another member.
    Piece {
        /// The member.
        to: MemberId,
        /// The checkpoint.
        position: Position,
        /// Where it begins.
        offset: u64,
    },
    /// A received snapshot, to check it.
    Snapshot {
        /// Its sender.
        from: MemberId,
        /// The snapshot.
        position: Position,
    },
}
