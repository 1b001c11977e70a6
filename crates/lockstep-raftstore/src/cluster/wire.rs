//! Bytes of the membership, in the log, in snapshots and between members.

use lockstep_mvcc::MemberId;
use prost::Message;

use super::{Cluster, Member, MemberChange, Publication};

/// The bytes are not a membership.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the membership cannot be read: {what}")]
pub struct ClusterDamaged {
    what: &'static str,
}

#[derive(Clone, PartialEq, Message)]
struct WireCluster {
    #[prost(message, repeated, tag = "1")]
    members: Vec<WireMember>,
    #[prost(fixed64, repeated, tag = "2")]
    removed: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct WireMember {
    #[prost(fixed64, tag = "1")]
    id: u64,
    #[prost(string, repeated, tag = "2")]
    peer_urls: Vec<String>,
    #[prost(bool, tag = "3")]
    is_learner: bool,
    #[prost(uint64, tag = "4")]
    since: u64,
    #[prost(message, optional, tag = "5")]
    publication: Option<WirePublication>,
}

#[derive(Clone, PartialEq, Message)]
struct WirePublication {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, repeated, tag = "2")]
    client_urls: Vec<String>,
    // 3 and 10 belong to proposed gates and their version, 13 to the server's version.
    #[prost(uint64, tag = "11")]
    boot: u64,
    #[prost(uint64, tag = "12")]
    seq: u64,
}

/// A change in the log.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct WireChange {
    #[prost(fixed64, tag = "1")]
    id: u64,
    #[prost(enumeration = "ChangeKind", tag = "2")]
    kind: i32,
    #[prost(string, repeated, tag = "3")]
    peer_urls: Vec<String>,
    #[prost(message, optional, tag = "4")]
    publication: Option<WirePublication>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
enum ChangeKind {
    Unknown = 0,
    AddVoter = 1,
    AddLearner = 2,
    Remove = 3,
    Promote = 4,
    Update = 5,
    Publish = 6,
}

impl Cluster {
    /// The canonical bytes: equal memberships have equal ones.
    pub fn encode(&self) -> Vec<u8> {
        let members = self.members().map(|(id, member)| WireMember {
            id: id.0,
            peer_urls: member.peer_urls.clone(),
            is_learner: member.is_learner,
            since: member.since,
            publication: member.publication.clone().map(Into::into),
        });
        let wire = WireCluster {
            members: members.collect(),
            removed: self.removed.iter().map(|id| id.0).collect(),
        };
        wire.encode_to_vec()
    }

    /// Decodes [`Cluster::encode`].
    pub fn decode(bytes: &[u8]) -> Result<Self, ClusterDamaged> {
        let what = "it is not in its format";
        let wire = WireCluster::decode(bytes).map_err(|_| ClusterDamaged { what })?;
        let members = wire.members.into_iter().map(|member| {
            let id = MemberId(member.id);
            let member = Member {
                peer_urls: member.peer_urls,
                is_learner: member.is_learner,
                since: member.since,
                publication: member.publication.map(Into::into),
            };
            (id, member)
        });
        let cluster = Self {
            members: members.collect(),
            removed: wire.removed.into_iter().map(MemberId).collect(),
        };
        if cluster.voters().next().is_none() {
            let what = "no member has a vote";
            return Err(ClusterDamaged { what });
        }
        Ok(cluster)
    }
}

impl From<Publication> for WirePublication {
    fn from(publication: Publication) -> Self {
        Self {
            name: publication.name,
            client_urls: publication.client_urls,
            boot: publication.boot,
            seq: publication.seq,
        }
    }
}

impl From<WirePublication> for Publication {
    fn from(wire: WirePublication) -> Self {
        Self {
            boot: wire.boot,
            seq: wire.seq,
            name: wire.name,
            client_urls: wire.client_urls,
        }
    }
}

impl From<MemberChange> for WireChange {
    fn from(change: MemberChange) -> Self {
        let id = change.id().0;
        let (kind, peer_urls, publication) = match change {
            MemberChange::Add {
                peer_urls,
                is_learner,
                ..
            } => {
                let kind = if is_learner {
                    ChangeKind::AddLearner
                } else {
                    ChangeKind::AddVoter
                };
                (kind, peer_urls, None)
            }
            MemberChange::Remove { .. } => (ChangeKind::Remove, Vec::new(), None),
            MemberChange::Promote { .. } => (ChangeKind::Promote, Vec::new(), None),
            MemberChange::Update { peer_urls, .. } => (ChangeKind::Update, peer_urls, None),
            MemberChange::Publish { publication, .. } => {
                (ChangeKind::Publish, Vec::new(), Some(publication.into()))
            }
        };
        Self {
            id,
            kind: kind.into(),
            peer_urls,
            publication,
        }
    }
}

impl WireChange {
    /// The change; `None` if this program does not know its kind.
    pub(crate) fn change(self) -> Option<MemberChange> {
        let id = MemberId(self.id);
        let kind = self.kind();
        let Self {
            peer_urls,
            publication,
            ..
        } = self;
        Some(match kind {
            ChangeKind::Unknown => return None,
            ChangeKind::AddVoter | ChangeKind::AddLearner => MemberChange::Add {
                id,
                peer_urls,
                is_learner: kind == ChangeKind::AddLearner,
            },
            ChangeKind::Remove => MemberChange::Remove { id },
            ChangeKind::Promote => MemberChange::Promote { id },
            ChangeKind::Update => MemberChange::Update { id, peer_urls },
            ChangeKind::Publish => MemberChange::Publish {
                id,
                publication: publication?.into(),
            },
        })
    }
}
