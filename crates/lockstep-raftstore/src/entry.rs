//! Entries of the replicated log, and the proposals in them.

use bytes::Bytes;
use lockstep_mvcc::{Command, MemberId};
use prost::Message;

use crate::cluster::{MemberChange, WireChange};

/// A place in the log. Two logs that share one are equal up to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Position {
    /// Index of the entry, from 1.
    pub index: u64,
    /// Term in which it was proposed.
    pub term: u64,
}

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogEntry {
    /// Its place.
    pub position: Position,
    /// Its kind.
    pub kind: EntryKind,
    /// An encoded proposal; empty for the entry that begins a term.
    pub data: Bytes,
}

/// Kind of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
pub enum EntryKind {
    /// Anything that leaves the quorum as it is.
    Normal = 0,
    /// A change of the members.
    Configuration = 1,
}

/// Term, vote and commit index, which a member must not forget.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HardState {
    /// The newest term that the member knows.
    pub term: u64,
    /// The member it voted for in that term; 0 for none.
    pub vote: u64,
    /// An index that was committed.
    pub commit: u64,
}

/// Identity of a proposal. `boot` and `seq` grow, so that a proposal that arrives twice is applied once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct ProposalId {
    /// The proposer.
    pub member: MemberId,
    /// Its process start.
    pub boot: u64,
    /// Number within the boot.
    pub seq: u64,
}

/// Content of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// The entry that begins a term.
    Empty,
    /// A command for the machine.
    Command(ProposalId, Command),
    /// A change of the membership.
    Members(ProposalId, MemberChange),
}

#[derive(Clone, PartialEq, Message)]
struct WireProposal {
    #[prost(fixed64, tag = "1")]
    member: u64,
    #[prost(uint64, tag = "2")]
    boot: u64,
    #[prost(uint64, tag = "3")]
    seq: u64,
    #[prost(oneof = "WireContent", tags = "4, 5")]
    content: Option<WireContent>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum WireContent {
    #[prost(bytes = "bytes", tag = "4")]
    Command(Bytes),
    #[prost(message, tag = "5")]
    Members(WireChange),
}

/// The message that Raft wraps around a change of members: read here, so that its own parser sees no byte of ours.
#[derive(Clone, PartialEq, Message)]
struct WireConfiguration {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int32, tag = "2")]
    kind: i32,
    #[prost(uint64, tag = "3")]
    node_id: u64,
    #[prost(bytes = "bytes", tag = "4")]
    context: Bytes,
}

/// Encodes a proposal of a command.
pub(crate) fn encode_command(id: ProposalId, command: &Command) -> Bytes {
    let mut bytes = Vec::new();
    command.encode(&mut bytes);
    encode(id, WireContent::Command(bytes.into()))
}

/// Encodes a proposal of a membership change.
pub(crate) fn encode_change(id: ProposalId, change: MemberChange) -> Bytes {
    encode(id, WireContent::Members(change.into()))
}

fn encode(id: ProposalId, content: WireContent) -> Bytes {
    let wire = WireProposal {
        member: id.member.0,
        boot: id.boot,
        seq: id.seq,
        content: Some(content),
    };
    wire.encode_to_vec().into()
}

/// Content that this program cannot read: it was damaged, or written by a newer version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("entry {index} cannot be read by this version")]
pub struct UnknownContent {
    /// The index of the entry.
    pub index: u64,
}

impl LogEntry {
    /// Decodes the content.
    pub fn content(&self) -> Result<Content, UnknownContent> {
        let unknown = UnknownContent {
            index: self.position.index,
        };
        if self.data.is_empty() {
            return Ok(Content::Empty);
        }
        let bytes = match self.kind {
            EntryKind::Normal => self.data.clone(),
            EntryKind::Configuration => {
                let wrapped = WireConfiguration::decode(self.data.clone());
                wrapped.map_err(|_| unknown)?.context
            }
        };
        let wire = WireProposal::decode(bytes).map_err(|_| unknown)?;
        let id = ProposalId {
            member: MemberId(wire.member),
            boot: wire.boot,
            seq: wire.seq,
        };
        match wire.content {
            Some(WireContent::Command(bytes)) => {
                let command = Command::decode(&bytes).map_err(|_| unknown)?;
                Ok(Content::Command(id, command))
            }
            Some(WireContent::Members(change)) => {
                let change = change.change().ok_or(unknown)?;
                Ok(Content::Members(id, change))
            }
            None => Err(unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use lockstep_mvcc::{Key, Put};

    use super::*;
    use crate::cluster::Publication;

    fn entry(data: Bytes) -> LogEntry {
        LogEntry {
            position: Position { index: 7, term: 2 },
            kind: EntryKind::Normal,
            data,
        }
    }

    const ID: ProposalId = ProposalId {
        member: MemberId(9),
        boot: 3,
        seq: 4,
    };

    #[test]
    fn a_proposal_comes_back_from_its_entry() {
        let key = Key::new("k").expect("not empty");
        let command = Command::Put(Put::new(key, "v"));
        let data = encode_command(ID, &command);
        assert_eq!(entry(data).content(), Ok(Content::Command(ID, command)));
        let urls = vec!["http://a".to_owned()];
        let (id, peer_urls) = (MemberId(5), urls.clone());
        let publication = Publication {
            boot: 1,
            seq: 2,
            name: "n".to_owned(),
            client_urls: urls,
        };
        for change in [
            MemberChange::Add {
                id,
                peer_urls: peer_urls.clone(),
                is_learner: true,
            },
            MemberChange::Add {
                id,
                peer_urls: peer_urls.clone(),
                is_learner: false,
            },
            MemberChange::Remove { id },
            MemberChange::Promote { id },
            MemberChange::Update { id, peer_urls },
            MemberChange::Publish { id, publication },
        ] {
            let data = encode_change(ID, change.clone());
            assert_eq!(entry(data).content(), Ok(Content::Members(ID, change)));
        }
        assert_eq!(entry(Bytes::new()).content(), Ok(Content::Empty));
    }

    #[test]
    fn an_entry_of_a_newer_version_is_an_error_and_no_panic() {
        let unknown = Err(UnknownContent { index: 7 });
        for bytes in [&b"\xff\xff"[..], &[0x32, 0], &[0x22, 1, b'?']] {
            assert_eq!(entry(Bytes::from_static(bytes)).content(), unknown);
        }
    }
}
