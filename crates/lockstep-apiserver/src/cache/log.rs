//! The latest changes of a bucket, numbered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::Revision;
use tokio::time::Instant;

use super::{Change, Scope};

/// Changes that are kept however old they are.
pub(super) const CHANGES_MIN: usize = 100;
/// Changes that are kept however young the oldest is.
pub(super) const CHANGES_MAX: usize = 102_400;
/// Bytes of objects that a log keeps alive, beyond the fewest changes.
pub(super) const WEIGHT_MAX: usize = 64 << 20;
/// How long a change is kept if nothing else limits it.
pub(super) const AGE_MIN: Duration = Duration::from_secs(75);

/// A number for each change of a bucket, from 0, without a gap.
pub(super) type Place = u64;

/// The latest changes.
#[derive(Default)]
pub(super) struct Log {
    /// The place of the first change that is kept.
    first: Place,
    changes: VecDeque<Arc<Change>>,
    weight: usize,
    /// Every change after this revision is kept.
    complete_after: Revision,
}

impl Log {
    /// An empty log that knows every change after a revision.
    pub(super) fn after(revision: Revision, first: Place) -> Self {
        Self {
            first,
            complete_after: revision,
            ..Self::default()
        }
    }

    /// The place of the next change.
    pub(super) fn end(&self) -> Place {
        self.first + self.changes.len() as Place
    }

    /// The place of the first change after a revision; none if it may be forgotten.
    pub(super) fn after_revision(&self, revision: Revision) -> Option<Place> {
        if revision < self.complete_after {
            return None;
        }
        let before = self.changes.partition_point(|c| c.revision <= revision);
        Some(self.first + before as Place)
    }

    /// Changes of a scope from a place on, at most so many, and the place to read on from.
    pub(super) fn read(
        &self,
        from: Place,
        scope: &Scope,
        changes_max: usize,
    ) -> (Vec<Arc<Change>>, Place) {
        let mut found = Vec::new();
        let from = from.max(self.first);
        for (place, change) in (from..).zip(self.since(from)) {
            if found.len() == changes_max {
                return (found, place);
            }
            if scope.contains(&change.key) {
                found.push(change.clone());
            }
        }
        (found, self.end())
    }

    /// Adds a change; revisions never fall.
    pub(super) fn push(&mut self, change: Arc<Change>) {
        self.weight += change.weight();
        self.changes.push_back(change);
    }

    /// The changes from a place on.
    pub(super) fn since(&self, from: Place) -> impl Iterator<Item = &Arc<Change>> {
        let skipped = usize::try_from(from.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.changes.iter().skip(skipped)
    }

    /// Forgets what is beyond the limits, and tells what that is.
    pub(super) fn trim(&mut self, now: Instant, mut forgotten: impl FnMut(Place, &Change)) {
        while let Some(oldest) = self.changes.front() {
            let is_spare = self.changes.len() > CHANGES_MIN;
            let is_old = now.saturating_duration_since(oldest.heard) > AGE_MIN;
            let is_much = self.changes.len() > CHANGES_MAX || self.weight > WEIGHT_MAX;
            if !is_spare || !(is_old || is_much) {
                return;
            }
            forgotten(self.first, oldest);
            self.weight -= oldest.weight();
            self.complete_after = oldest.revision;
            self.changes.pop_front();
            self.first += 1;
        }
    }
}
