//! Membership: who is in the cluster, and the rules of changing that.
//!
//! [`Cluster`] is replicated state. [`Cluster::apply`] decides a change that is in the log, alike on every member;
//! [`Cluster::check`] is the same decision before it is proposed, with the rules of strict reconfiguration added.

mod wire;

use std::collections::{BTreeMap, BTreeSet};

use lockstep_mvcc::MemberId;

pub use wire::ClusterDamaged;
pub(crate) use wire::WireChange;

/// Members that ever left are remembered for ever, in 8 bytes each, so that no id comes back.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cluster {
    members: BTreeMap<MemberId, Member>,
    removed: BTreeSet<MemberId>,
}

/// A member.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Member {
    /// URLs at which other members reach it.
    pub peer_urls: Vec<String>,
    /// True if it receives the log and has no vote.
    pub is_learner: bool,
    /// Index of the entry that added or promoted it.
    pub since: u64,
    /// Its own word about itself; `None` until it has started.
    pub publication: Option<Publication>,
}

/// Attributes that a member publishes at its start.
///
/// The versions and gates of the cluster (`cluster-feature-gate.md` §3) join this message: they are stamped with the
/// same `boot` and `seq`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Publication {
    /// Number of the process start.
    pub boot: u64,
    /// Number of the content within a boot.
    pub seq: u64,
    /// The member's name.
    pub name: String,
    /// URLs at which clients reach it.
    pub client_urls: Vec<String>,
}

/// A change of the membership.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MemberChange {
    /// Adds a member, as a learner or with a vote.
    Add {
        /// Its id.
        id: MemberId,
        /// Its peer URLs.
        peer_urls: Vec<String>,
        /// True for a learner.
        is_learner: bool,
    },
    /// Removes a member for ever.
    Remove {
        /// Its id.
        id: MemberId,
    },
    /// Gives a learner a vote.
    Promote {
        /// Its id.
        id: MemberId,
    },
    /// Replaces the peer URLs of a member, and nothing else.
    Update {
        /// Its id.
        id: MemberId,
        /// Its new peer URLs.
        peer_urls: Vec<String>,
    },
    /// A member tells its attributes.
    Publish {
        /// Its id.
        id: MemberId,
        /// Its attributes.
        publication: Publication,
    },
}

impl MemberChange {
    /// The member that changes.
    pub fn id(&self) -> MemberId {
        match self {
            Self::Add { id, .. }
            | Self::Remove { id }
            | Self::Promote { id }
            | Self::Update { id, .. }
            | Self::Publish { id, .. } => *id,
        }
    }

    /// True if the change alters the quorum or who receives the log.
    pub fn is_configuration(&self) -> bool {
        match self {
            Self::Add { .. } | Self::Remove { .. } | Self::Promote { .. } => true,
            Self::Update { .. } | Self::Publish { .. } => false,
        }
    }
}

/// Refusals of a change, with etcd's texts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ClusterError {
    /// No such member.
    #[error("etcdserver: member not found")]
    NotFound,
    /// The member exists, or existed: ids do not come back.
    #[error("etcdserver: member ID already exist")]
    IdExists,
    /// Another member has one of the URLs.
    #[error("etcdserver: Peer URLs already exists")]
    UrlExists,
    /// A promotion of a member with a vote.
    #[error("etcdserver: can only promote a learner member")]
    NotALearner,
    /// A promotion of a learner that is far behind.
    #[error("etcdserver: can only promote a learner member which is in sync with leader")]
    LearnerNotReady,
    /// The limit of learners is reached.
    #[error("etcdserver: too many learner members in cluster")]
    TooManyLearners,
    /// The members that have started would be no quorum.
    #[error("etcdserver: re-configuration failed due to not enough started members")]
    NotEnoughStarted,
    /// The members that answer would be no quorum, or some do not answer.
    #[error("etcdserver: unhealthy cluster")]
    Unhealthy,
    /// The last member with a vote cannot leave.
    #[error("etcdserver: re-configuration failed due to not enough started members")]
    LastVoter,
}

/// Rules of the membership that flags set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClusterLimits {
    /// Maximum number of learners (`--max-learners`).
    pub learners_max: usize,
    /// Refuse changes that could cost the quorum (`--strict-reconfig-check`).
    pub is_strict: bool,
}

impl Default for ClusterLimits {
    fn default() -> Self {
        Self {
            learners_max: 1,
            is_strict: true,
        }
    }
}

impl Cluster {
    /// The cluster as its first members start it. All of them have a vote.
    pub fn first(members: impl IntoIterator<Item = (MemberId, Vec<String>)>) -> Self {
        let members = members.into_iter().map(|(id, peer_urls)| {
            let member = Member {
                peer_urls,
                ..Member::default()
            };
            (id, member)
        });
        Self {
            members: members.collect(),
            removed: BTreeSet::new(),
        }
    }

    /// The members, in the order of their ids.
    pub fn members(&self) -> impl ExactSizeIterator<Item = (MemberId, &Member)> {
        self.members.iter().map(|(id, member)| (*id, member))
    }

    /// A member by its id.
    pub fn member(&self, id: MemberId) -> Option<&Member> {
        self.members.get(&id)
    }

    /// True if a member with this id was removed.
    pub fn is_removed(&self, id: MemberId) -> bool {
        self.removed.contains(&id)
    }

    /// Members with a vote.
    pub fn voters(&self) -> impl Iterator<Item = MemberId> {
        let voters = self.members.iter().filter(|(_, member)| !member.is_learner);
        voters.map(|(id, _)| *id)
    }

    /// Members without a vote.
    pub fn learners(&self) -> impl Iterator<Item = MemberId> {
        let learners = self.members.iter().filter(|(_, member)| member.is_learner);
        learners.map(|(id, _)| *id)
    }

    /// Applies the change in the entry at `index`, or refuses it without an effect. Equal states and changes have
    /// equal outcomes: limits that flags set are no part of it.
    pub fn apply(&mut self, index: u64, change: &MemberChange) -> Result<(), ClusterError> {
        self.allow(change)?;
        match change.clone() {
            MemberChange::Add {
                id,
                peer_urls,
                is_learner,
            } => {
                let member = Member {
                    peer_urls,
                    is_learner,
                    since: index,
                    publication: None,
                };
                self.members.insert(id, member);
            }
            MemberChange::Remove { id } => {
                self.members.remove(&id);
                self.removed.insert(id);
            }
            MemberChange::Promote { id } => {
                if let Some(member) = self.members.get_mut(&id) {
                    member.is_learner = false;
                    member.since = index;
                }
            }
            MemberChange::Update { id, peer_urls } => {
                if let Some(member) = self.members.get_mut(&id) {
                    member.peer_urls = peer_urls;
                }
            }
            MemberChange::Publish { id, publication } => {
                if let Some(member) = self.members.get_mut(&id) {
                    let number = |known: &Publication| (known.boot, known.seq);
                    // An older publication may commit after a newer one.
                    if member.publication.as_ref().map(number) < Some(number(&publication)) {
                        member.publication = Some(publication);
                    }
                }
            }
        }
        Ok(())
    }

    /// The rules that hold whatever the flags are.
    fn allow(&self, change: &MemberChange) -> Result<(), ClusterError> {
        let known = self.members.get(&change.id());
        match change {
            MemberChange::Add { id, peer_urls, .. } => {
                if known.is_some() || self.is_removed(*id) || id.0 == 0 {
                    return Err(ClusterError::IdExists);
                }
                self.allow_urls(*id, peer_urls)
            }
            MemberChange::Remove { id } => {
                let member = known.ok_or(ClusterError::NotFound)?;
                let mut others = self.voters().filter(|voter| voter != id);
                if !member.is_learner && others.next().is_none() {
                    return Err(ClusterError::LastVoter);
                }
                Ok(())
            }
            MemberChange::Promote { .. } => match known {
                None => Err(ClusterError::NotFound),
                Some(member) if !member.is_learner => Err(ClusterError::NotALearner),
                Some(_) => Ok(()),
            },
            MemberChange::Update { id, peer_urls } => {
                known.ok_or(ClusterError::NotFound)?;
                self.allow_urls(*id, peer_urls)
            }
            MemberChange::Publish { .. } => known.map(drop).ok_or(ClusterError::NotFound),
        }
    }

    /// Lets a removed id come back, for tests of the simulator.
    pub(crate) fn forget_removed(&mut self, change: &MemberChange) {
        self.removed.remove(&change.id());
    }

    fn allow_urls(&self, id: MemberId, peer_urls: &[String]) -> Result<(), ClusterError> {
        let mut others = self.members.iter().filter(|(other, _)| **other != id);
        let is_taken = others.any(|(_, member)| {
            let mut urls = member.peer_urls.iter();
            urls.any(|url| peer_urls.contains(url))
        });
        if is_taken {
            return Err(ClusterError::UrlExists);
        }
        Ok(())
    }

    /// Decides a change before it is proposed. `is_active` tells which members the leader hears from.
    pub fn check(
        &self,
        change: &MemberChange,
        limits: ClusterLimits,
        is_active: impl Fn(MemberId) -> bool,
    ) -> Result<(), ClusterError> {
        self.allow(change)?;
        if let MemberChange::Add {
            is_learner: true, ..
        } = change
            && self.learners().count() >= limits.learners_max
        {
            return Err(ClusterError::TooManyLearners);
        }
        if !limits.is_strict {
            return Ok(());
        }
        match change {
            MemberChange::Add {
                is_learner: false, ..
            } => {
                if !self.voters().all(&is_active) {
                    return Err(ClusterError::Unhealthy);
                }
                self.have_quorum(self.voters().count() + 1, self.started())
            }
            MemberChange::Promote { id } => {
                let has_started = usize::from(self.has_started(*id));
                self.have_quorum(self.voters().count() + 1, self.started() + has_started)
            }
            MemberChange::Remove { id } if !self.learners().any(|learner| learner == *id) => {
                let left = self.voters().filter(|voter| voter != id);
                let (all, active): (Vec<_>, Vec<_>) =
                    left.map(|voter| (voter, is_active(voter))).unzip();
                let active = active.into_iter().filter(|active| *active).count();
                if active < all.len() / 2 + 1 {
                    return Err(ClusterError::Unhealthy);
                }
                let gone = usize::from(self.has_started(*id));
                self.have_quorum(all.len(), self.started() - gone)
            }
            _ => Ok(()),
        }
    }

    fn have_quorum(&self, voters: usize, started: usize) -> Result<(), ClusterError> {
        // One member alone may be joined by a second one, as in etcd.
        let is_first_step = self.voters().count() == 1 && self.started() == 1;
        if started < voters / 2 + 1 && !is_first_step {
            return Err(ClusterError::NotEnoughStarted);
        }
        Ok(())
    }

    fn has_started(&self, id: MemberId) -> bool {
        let member = self.members.get(&id);
        member.is_some_and(|member| member.publication.is_some())
    }

    fn started(&self) -> usize {
        self.voters().filter(|id| self.has_started(*id)).count()
    }
}

#[cfg(test)]
mod tests;
