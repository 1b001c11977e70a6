//! An id that was removed never comes back.

use std::collections::BTreeSet;

use lockstep_mvcc::MemberId;
use lockstep_raftstore::Cluster;

use super::Broken;

/// Ids that were members once, and those that were removed.
#[derive(Default)]
pub(crate) struct Membership {
    members: BTreeSet<MemberId>,
    removed: BTreeSet<MemberId>,
    /// Index of the newest membership that was looked at.
    newest: u64,
}

impl Membership {
    pub(crate) fn see(&mut self, index: u64, cluster: &Cluster) -> Result<(), Broken> {
        if index <= self.newest {
            return Ok(());
        }
        self.newest = index;
        let members: BTreeSet<_> = cluster.members().map(|(id, _)| id).collect();
        if let Some(MemberId(back)) = members.intersection(&self.removed).next() {
            return Err(format!(
                "the id {back:x} of a removed member is back at {index}"
            ));
        }
        self.removed
            .extend(self.members.difference(&members).copied());
        self.members = members;
        Ok(())
    }
}
