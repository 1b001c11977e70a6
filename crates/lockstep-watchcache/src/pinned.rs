//! Snapshots pinned for the next pages of a list.

use std::collections::VecDeque;

use lockstep_storage::Revision;

use crate::Snapshot;

/// Most snapshots that a bucket pins for paginated lists.
pub(crate) const PINNED_MAX: usize = 32;

/// The latest pinned snapshots, oldest first.
#[derive(Default)]
pub(crate) struct PinnedSnapshots {
    snapshots: VecDeque<(Revision, Snapshot)>,
}

impl PinnedSnapshots {
    /// Adds the state at a revision and drops the oldest one beyond the limit.
    pub(crate) fn pin(&mut self, at: Revision, snapshot: &Snapshot) {
        if self.get(at).is_some() {
            return;
        }
        if self.snapshots.len() == PINNED_MAX {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back((at, snapshot.clone()));
    }

    /// The state at exactly this revision.
    pub(crate) fn get(&self, at: Revision) -> Option<Snapshot> {
        let found = self.snapshots.iter().find(|(revision, _)| *revision == at);
        found.map(|(_, snapshot)| snapshot.clone())
    }

    /// Drops the states of revisions before `at`.
    pub(crate) fn drop_before(&mut self, at: Revision) {
        self.snapshots.retain(|(revision, _)| *revision >= at);
    }

    pub(crate) fn clear(&mut self) {
        self.snapshots.clear();
    }
}
