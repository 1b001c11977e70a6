//! Bugs to plant: each breaks one rule, and the simulator has to notice.
//!
//! Most are made by the shell that the simulator is; the few that need a rule inside a member to be left out use
//! [`Omission`].

use lockstep_raftstore::{Omission, Omissions};

/// A bug.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Bug {
    /// The log is said to be safe on disk before it is.
    AnswerBeforeFsync,
    /// The directory is never synced.
    NamesNotSynced,
    /// A member that believes to lead answers linearizable reads without asking anybody.
    ReadWithoutQuorum,
    /// A leader answers reads for an election timeout of its own ticks after a quorum confirmed it. A pause has no
    /// ticks.
    StaleReadAfterPause,
    /// A read takes the answer of an earlier round.
    LateReadAnswer,
    /// A follower takes entries without comparing the term of the one before.
    SkipTermCheck,
    /// The newest entries of a checkpoint are applied again after a restart.
    ApplyTwiceAfterRestart,
    /// A proposal that the network brings twice is applied twice.
    ApplyDuplicates,
    /// A restart forgets for whom the member voted.
    ForgetVote,
    /// A restart forgets the newest term.
    ForgetTerm,
    /// Checkpoints have no leases.
    SnapshotWithoutLeases,
    /// The id of a removed member is given to another one.
    ReuseMemberId,
    /// A watch that is resumed begins one revision too late.
    WatchSkipsOnResume,
}

impl Bug {
    /// Every bug.
    pub const ALL: &[Self] = &[
        Self::AnswerBeforeFsync,
        Self::NamesNotSynced,
        Self::ReadWithoutQuorum,
        Self::StaleReadAfterPause,
        Self::LateReadAnswer,
        Self::SkipTermCheck,
        Self::ApplyTwiceAfterRestart,
        Self::ApplyDuplicates,
        Self::ForgetVote,
        Self::ForgetTerm,
        Self::SnapshotWithoutLeases,
        Self::ReuseMemberId,
        Self::WatchSkipsOnResume,
    ];

    /// The rule that members leave out with this bug.
    pub(crate) fn omissions(self) -> Omissions {
        match self {
            Self::LateReadAnswer => Omissions::only(Omission::ReadRounds),
            Self::ApplyDuplicates | Self::ApplyTwiceAfterRestart => {
                Omissions::only(Omission::ProposalIds)
            }
            Self::ReuseMemberId => Omissions::only(Omission::RemovedIds),
            Self::AnswerBeforeFsync
            | Self::NamesNotSynced
            | Self::ReadWithoutQuorum
            | Self::StaleReadAfterPause
            | Self::SkipTermCheck
            | Self::ForgetVote
            | Self::ForgetTerm
            | Self::SnapshotWithoutLeases
            | Self::WatchSkipsOnResume => Omissions::default(),
        }
    }
}
