//! Options of a node, and where it starts.

use std::collections::BTreeSet;

use lockstep_mvcc::MemberId;

use crate::cluster::{Cluster, ClusterLimits};
use crate::entry::{HardState, LogEntry, Position};
use crate::ids::ClusterId;

/// Options of a node.
#[derive(Clone, Debug)]
pub struct Options {
    /// The member.
    pub id: MemberId,
    /// The cluster.
    pub cluster_id: ClusterId,
    /// Number of this process start. The caller counts them on disk.
    pub boot: u64,
    /// Seed of election timeouts; it should differ between members.
    pub seed: u64,
    /// Members that it was told of at its start, in addition to those of its state.
    pub known: Vec<MemberId>,
    /// Ticks without a leader before an election; the actual number is up to twice as large.
    pub election_ticks: usize,
    /// Ticks after which a request is given up.
    pub request_ticks: u64,
    /// Rules of the membership.
    pub limits: ClusterLimits,
    /// Entries after which a checkpoint is written (`--snapshot-count`).
    pub checkpoint_entries: u64,
    /// Entries that stay in the log behind a checkpoint, for members that are a little behind
    /// (`--snapshot-catchup-entries`).
    pub catch_up_entries: u64,
    /// Bytes of the log in memory from which a checkpoint is due and nothing is kept behind it.
    pub log_bytes_enough: usize,
    /// Size of a piece of a snapshot on its way to another member.
    pub chunk_bytes: usize,
    /// Entries that may be committed and not applied before proposals are refused.
    pub apply_lag_max: u64,
    /// Safety rules left out, for tests of the simulator. Empty otherwise.
    pub omissions: Omissions,
}

impl Options {
    /// Options with etcd's defaults.
    pub fn new(id: MemberId, cluster_id: ClusterId, boot: u64, seed: u64) -> Self {
        Self {
            id,
            cluster_id,
            boot,
            seed,
            known: Vec::new(),
            election_ticks: 10,
            request_ticks: 70,
            limits: ClusterLimits::default(),
            checkpoint_entries: 10_000,
            catch_up_entries: 5_000,
            log_bytes_enough: 64 << 20,
            chunk_bytes: 256 << 10,
            apply_lag_max: 5_000,
            omissions: Omissions::default(),
        }
    }
}

/// A safety rule that a test can leave out, to see that the simulator notices.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Omission {
    /// Ids of removed members are refused.
    RemovedIds,
    /// An answer of an earlier round of reads is not used for a later one.
    ReadRounds,
    /// A proposal that arrives twice is applied once.
    ProposalIds,
}

/// Rules that are left out; none unless a test says so.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Omissions(BTreeSet<Omission>);

impl Omissions {
    /// Leaves out one rule.
    pub fn only(omission: Omission) -> Self {
        Self(BTreeSet::from([omission]))
    }

    pub(crate) fn has(&self, omission: Omission) -> bool {
        self.0.contains(&omission)
    }
}

/// State of a node on disk.
#[derive(Clone, Debug)]
pub struct Start {
    /// The newest term, vote and commit index.
    pub hard_state: HardState,
    /// The last entry in the newest checkpoint.
    pub checkpoint: Position,
    /// The membership at that entry.
    pub cluster: Cluster,
    /// The entry before the first of `entries`, not after the checkpoint.
    pub base: Position,
    /// The log after `base`.
    pub entries: Vec<LogEntry>,
}

/// Errors of starting a node.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The log does not reach from the checkpoint to what was committed.
    #[error("the log ends at {last}, before index {needed}, which was committed")]
    LogTooShort {
        /// The last index of the log.
        last: u64,
        /// The index that must be there.
        needed: u64,
    },
    /// The options contradict each other.
    #[error(transparent)]
    Raft(#[from] raft::Error),
}
