//! Snapshots that lists go on with.

use std::collections::VecDeque;

use lockstep_storage::Revision;

use super::Snapshot;

/// How many snapshots a bucket keeps for lists that are read page by page.
pub(super) const KEPT_MAX: usize = 32;

/// The latest snapshots that somebody may come back for, oldest first.
#[derive(Default)]
pub(super) struct Kept {
    snapshots: VecDeque<(Revision, Snapshot)>,
}

impl Kept {
    /// Remembers the state at a revision.
    pub(super) fn keep(&mut self, at: Revision, snapshot: &Snapshot) {
        if self.get(at).is_some() {
            return;
        }
        if self.snapshots.len() == KEPT_MAX {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back((at, snapshot.clone()));
    }

    /// The state at exactly this revision.
    pub(super) fn get(&self, at: Revision) -> Option<Snapshot> {
        let found = self.snapshots.iter().find(|(revision, _)| *revision == at);
        found.map(|(_, snapshot)| snapshot.clone())
    }

    pub(super) fn clear(&mut self) {
        self.snapshots.clear();
    }
}
