//! Messages between members.
//!
//! They are protobuf messages of our own, decoded by prost and turned into those of the Raft library, whose own parser
//! never sees a byte from the network.

mod convert;

use bytes::Bytes;
use prost::Message;

pub(crate) use convert::{configuration, entry_from_raft, entry_to_raft, raft_message, to_raft};

/// A message from one member to another.
#[derive(Clone, PartialEq, Message)]
pub struct Envelope {
    /// The sender's cluster.
    #[prost(fixed64, tag = "1")]
    pub cluster_id: u64,
    /// The sender.
    #[prost(fixed64, tag = "2")]
    pub from: u64,
    /// The receiver.
    #[prost(fixed64, tag = "3")]
    pub to: u64,
    /// The sender's process start, by which messages of an earlier one are known.
    #[prost(uint64, tag = "4")]
    pub boot: u64,
    /// The content.
    #[prost(oneof = "Body", tags = "10, 11, 12, 13, 14")]
    pub body: Option<Body>,
}

/// Content of a message.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Body {
    /// A message of the Raft protocol, other than a snapshot.
    #[prost(message, tag = "10")]
    Raft(RaftMessage),
    /// A piece of a snapshot.
    #[prost(message, tag = "11")]
    Chunk(SnapshotChunk),
    /// The receiver has a piece of a snapshot on its disk.
    #[prost(message, tag = "12")]
    ChunkReceived(ChunkReceived),
    /// The receiver of this message was removed from the cluster.
    #[prost(message, tag = "13")]
    Removed(Removed),
    /// The sender knows no leader; a removed one is told so.
    #[prost(message, tag = "14")]
    Hello(Hello),
}

/// A message of the Raft protocol. The fields are those of the library.
#[derive(Clone, PartialEq, Message)]
pub struct RaftMessage {
    /// Its type, as the library numbers them.
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// The member that it is from, which differs from the envelope's in a forwarded message.
    #[prost(fixed64, tag = "2")]
    pub from: u64,
    /// The term.
    #[prost(uint64, tag = "3")]
    pub term: u64,
    /// Term of the entry at `index`.
    #[prost(uint64, tag = "4")]
    pub log_term: u64,
    /// An index of the log.
    #[prost(uint64, tag = "5")]
    pub index: u64,
    /// Entries.
    #[prost(message, repeated, tag = "6")]
    pub entries: Vec<RaftEntry>,
    /// A commit index.
    #[prost(uint64, tag = "7")]
    pub commit: u64,
    /// Term of the entry at `commit`.
    #[prost(uint64, tag = "8")]
    pub commit_term: u64,
    /// Index of a requested snapshot.
    #[prost(uint64, tag = "9")]
    pub request_snapshot: u64,
    /// True for a refusal.
    #[prost(bool, tag = "10")]
    pub reject: bool,
    /// Hint of a refusal.
    #[prost(uint64, tag = "11")]
    pub reject_hint: u64,
    /// Context of a read or a campaign.
    #[prost(bytes = "bytes", tag = "12")]
    pub context: Bytes,
    /// Priority in an election.
    #[prost(int64, tag = "13")]
    pub priority: i64,
    /// Describes the snapshot of which the pieces arrived.
    #[prost(message, optional, tag = "14")]
    pub snapshot: Option<SnapshotHead>,
}

/// An entry of the log.
#[derive(Clone, PartialEq, Message)]
pub struct RaftEntry {
    /// Its kind, a [`crate::EntryKind`].
    #[prost(int32, tag = "1")]
    pub kind: i32,
    /// Its term.
    #[prost(uint64, tag = "2")]
    pub term: u64,
    /// Its index.
    #[prost(uint64, tag = "3")]
    pub index: u64,
    /// Its proposal.
    #[prost(bytes = "bytes", tag = "4")]
    pub data: Bytes,
}

/// Description of a snapshot.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotHead {
    /// Index of the last entry in it.
    #[prost(uint64, tag = "1")]
    pub index: u64,
    /// Term of that entry.
    #[prost(uint64, tag = "2")]
    pub term: u64,
    /// The membership at that entry.
    #[prost(bytes = "bytes", tag = "3")]
    pub cluster: Bytes,
}

/// A piece of a snapshot.
#[derive(Clone, PartialEq, Message)]
pub struct SnapshotChunk {
    /// Index of the snapshot.
    #[prost(uint64, tag = "1")]
    pub index: u64,
    /// Term of the snapshot.
    #[prost(uint64, tag = "2")]
    pub term: u64,
    /// Where the bytes belong.
    #[prost(uint64, tag = "3")]
    pub offset: u64,
    /// The bytes.
    #[prost(bytes = "bytes", tag = "4")]
    pub bytes: Bytes,
    /// The Raft message for which all this was sent, with the last piece.
    #[prost(message, optional, tag = "5")]
    pub message: Option<RaftMessage>,
}

/// Acknowledges pieces of a snapshot.
#[derive(Clone, PartialEq, Message)]
pub struct ChunkReceived {
    /// Index of the snapshot.
    #[prost(uint64, tag = "1")]
    pub index: u64,
    /// Term of the snapshot.
    #[prost(uint64, tag = "2")]
    pub term: u64,
    /// Bytes that the receiver has.
    #[prost(uint64, tag = "3")]
    pub received: u64,
    /// True if it has all.
    #[prost(bool, tag = "4")]
    pub is_complete: bool,
}

/// Tells a member that it was removed.
#[derive(Clone, PartialEq, Message)]
pub struct Removed {}

/// Greets a peer.
#[derive(Clone, PartialEq, Message)]
pub struct Hello {}
