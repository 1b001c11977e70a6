//! The replicated store: the MVCC machine behind a Raft log, as one member without IO.
//!
//! ```text
//! Member   files, state and node of one member; Input in, Output out
//! ├ Node   consensus: Raft, membership, reads, snapshots; Event in, Effect out
//! ├ State  machine and membership after an entry; the same entries give the same bytes
//! └ log    segments with term and index
//! ```
//!
//! Nothing here waits, reads a clock or touches a file: ticks, messages, completed disk operations and requests come
//! in, messages, operations and answers go out. The same inputs give the same outputs, so `lockstep-sim` runs whole
//! clusters from one seed.
//!
//! Safety rests on these rules:
//!
//! - a vote, and an entry that a message acknowledges, are safe on disk before the message leaves;
//! - a linearizable read is confirmed by a quorum after it arrived;
//! - a proposal is applied at most once, also if the network brings it twice: its member, boot and number are
//!   replicated state;
//! - one member at a time joins, leaves or gets a vote, and an id that was removed never comes back;
//! - a snapshot counts once all of it is on disk and was checked.
//!
//! Bytes from other members are decoded by prost into messages of this crate; the Raft library parses none.

mod cluster;
mod entry;
mod files;
mod ids;
mod log;
mod member;
mod node;
pub mod peer;
mod state;

pub use cluster::{
    Cluster, ClusterDamaged, ClusterError, ClusterLimits, Member as ClusterMember, MemberChange,
    Publication,
};
pub use entry::{Content, EntryKind, HardState, LogEntry, Position, ProposalId, UnknownContent};
pub use files::FileOp;
pub use ids::{ClusterId, cluster_id, member_id};
pub use log::{Identity, LogDamaged};
pub use member::{Contents, First, Input, Member, MemberOptions, OpenError, Output, ReadPurpose};
pub use node::{
    Committed, Effect, Event, Node, Omission, Omissions, Options, Persist, Refusal, RequestId,
    Role, Start, StartError, StopReason,
};
pub use peer::Envelope;
pub use state::{Outcome, State, StateDamaged};
