//! [`State`]: all that a cluster replicates, as one deterministic state machine.
//!
//! ```text
//! magic     8 bytes   "lockrepl"
//! format    u32       1
//! length    u32       of the head
//! head                protobuf: position, membership, newest proposals
//! checksum  u32       CRC-32C of everything before
//! machine             canonical bytes of the MVCC machine, with their own checksum
//! ```
//!
//! Numbers are little-endian. A checkpoint and a snapshot for another member are these bytes.

use std::collections::BTreeMap;

use lockstep_mvcc::{Applied, Command, Machine, MemberId, StateHash};
use prost::Message;
use sha2::{Digest, Sha256};

use crate::cluster::{Cluster, ClusterError, MemberChange};
use crate::entry::{Content, Position, ProposalId};
use crate::node::{Committed, Omission, Omissions};

const MAGIC: &[u8; 8] = b"lockrepl";
const FORMAT: u32 = 1;
const HEAD_AT: usize = 16;
/// Maximum number of changes that one step of a compaction visits.
const SWEEP_STEP: usize = 256;

/// The replicated state after an entry of the log.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// The last applied entry.
    pub position: Position,
    /// Keys, leases and alarms.
    pub machine: Machine,
    /// The membership.
    pub cluster: Cluster,
    /// Boot and number of the newest applied proposal of each member. A proposal that the network brought twice, or
    /// late, is none of these and is not applied.
    proposals: BTreeMap<MemberId, (u64, u64)>,
}

/// Outcome of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The entry that begins a term.
    Nothing,
    /// Outcome of a command.
    Command(Applied),
    /// Outcome of a change of the membership.
    Members(Result<(), ClusterError>),
    /// A newer proposal of its member was applied before. It has no effect, now and later.
    Superseded,
}

/// Errors of reading a state.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum StateDamaged {
    /// The bytes are cut or changed.
    #[error("the state is damaged: {what}")]
    Damaged {
        /// Description.
        what: String,
    },
    /// A newer version wrote it.
    #[error("state format {found} is unknown, this program reads format {FORMAT}")]
    UnknownFormat {
        /// Its format.
        found: u32,
    },
}

#[derive(Clone, PartialEq, Message)]
struct Head {
    #[prost(uint64, tag = "1")]
    index: u64,
    #[prost(uint64, tag = "2")]
    term: u64,
    #[prost(bytes = "vec", tag = "3")]
    cluster: Vec<u8>,
    #[prost(message, repeated, tag = "4")]
    proposals: Vec<Newest>,
}

#[derive(Clone, PartialEq, Message)]
struct Newest {
    #[prost(fixed64, tag = "1")]
    member: u64,
    #[prost(uint64, tag = "2")]
    boot: u64,
    #[prost(uint64, tag = "3")]
    seq: u64,
}

impl State {
    /// The state with which a cluster begins.
    pub fn first(cluster: Cluster) -> Self {
        Self {
            cluster,
            ..Self::default()
        }
    }

    /// Applies a committed entry, the next one. Equal states and entries have equal outcomes on every member: there is
    /// no clock, flag or size behind it.
    pub fn apply(&mut self, committed: &Committed, omissions: &Omissions) -> Outcome {
        self.position = committed.position;
        match &committed.content {
            Content::Empty => Outcome::Nothing,
            Content::Command(id, command) => {
                let is_new = self.is_new(*id);
                if !is_new && !omissions.has(Omission::ProposalIds) {
                    return Outcome::Superseded;
                }
                Outcome::Command(self.command(command.clone()))
            }
            Content::Members(_, change) => {
                if omissions.has(Omission::RemovedIds) {
                    self.cluster.forget_removed(change);
                }
                let changed = self.cluster.apply(committed.position.index, change);
                if let (Ok(()), MemberChange::Remove { id }) = (changed, change) {
                    self.proposals.remove(id);
                }
                Outcome::Members(changed)
            }
        }
    }

    fn command(&mut self, command: Command) -> Applied {
        let applied = self.machine.apply(command);
        self.machine.sweep(SWEEP_STEP);
        applied
    }

    fn is_new(&mut self, id: ProposalId) -> bool {
        // A removed member proposes nothing any more, so nothing has to be remembered of it.
        if self.cluster.is_removed(id.member) {
            return false;
        }
        let number = (id.boot, id.seq);
        let newest = self.proposals.entry(id.member).or_default();
        let is_new = number > *newest;
        if is_new {
            *newest = number;
        }
        is_new
    }

    /// Writes the bytes of the state to `sink` in chunks.
    pub fn encode_to(&self, mut sink: impl FnMut(&[u8])) {
        let proposals = self.proposals.iter();
        let head = Head {
            index: self.position.index,
            term: self.position.term,
            cluster: self.cluster.encode(),
            proposals: proposals
                .map(|(member, (boot, seq))| Newest {
                    member: member.0,
                    boot: *boot,
                    seq: *seq,
                })
                .collect(),
        };
        let head = head.encode_to_vec();
        let length = u32::try_from(head.len()).expect("a membership is smaller than 4 GiB");
        let mut bytes = Vec::with_capacity(HEAD_AT + head.len() + 4);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&head);
        let checksum = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        sink(&bytes);
        self.machine.encode_to(sink);
    }

    /// The bytes of the state.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_to(|piece| bytes.extend_from_slice(piece));
        bytes
    }

    /// Decodes [`State::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, StateDamaged> {
        let damaged = |what: &str| StateDamaged::Damaged {
            what: what.to_owned(),
        };
        let cut = || damaged("it is cut");
        let rest = bytes.strip_prefix(MAGIC).ok_or_else(cut)?;
        let (format, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let found = u32::from_le_bytes(*format);
        if found != FORMAT {
            return Err(StateDamaged::UnknownFormat { found });
        }
        let (length, rest) = rest.split_first_chunk().ok_or_else(cut)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| cut())?;
        let (head, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        let (checksum, machine) = rest.split_first_chunk().ok_or_else(cut)?;
        if crc32c::crc32c(&bytes[..HEAD_AT + length]) != u32::from_le_bytes(*checksum) {
            return Err(damaged("the checksum of its head does not match"));
        }
        let head = Head::decode(head).map_err(|error| damaged(&error.to_string()))?;
        let cluster = Cluster::decode(&head.cluster).map_err(|it| damaged(&it.to_string()))?;
        let proposals = head.proposals.into_iter();
        Ok(Self {
            position: Position {
                index: head.index,
                term: head.term,
            },
            machine: Machine::decode(machine).map_err(|it| damaged(&it.to_string()))?,
            cluster,
            proposals: proposals
                .map(|newest| (MemberId(newest.member), (newest.boot, newest.seq)))
                .collect(),
        })
    }

    /// A digest of all of the state. Members that applied the same entries have the same.
    pub fn hash(&self) -> StateHash {
        let mut hasher = Sha256::new();
        self.encode_to(|piece| hasher.update(piece));
        StateHash(hasher.finalize().into())
    }
}
