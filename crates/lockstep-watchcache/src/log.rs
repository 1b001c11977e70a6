//! The log of a bucket: its latest changes, numbered.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::Revision;
use tokio::time::Instant;

use crate::{Change, Scope};

/// Changes that are kept regardless of age and size.
pub(crate) const CHANGES_MIN: usize = 100;
/// Most changes that are kept, regardless of age.
pub(crate) const CHANGES_MAX: usize = 102_400;
/// Most bytes that a log with more than [`CHANGES_MIN`] changes keeps in memory.
pub(crate) const WEIGHT_MAX: usize = 64 << 20;
/// Age up to which a change is kept unless a size limit is reached.
pub(crate) const AGE_MIN: Duration = Duration::from_secs(75);

/// Position of a change in the log: consecutive numbers from 0.
pub(crate) type Place = u64;

/// The latest changes.
#[derive(Default)]
pub(crate) struct Log {
    /// Position of the oldest change in the log.
    first: Place,
    changes: VecDeque<Arc<Change>>,
    weight: usize,
    /// Revision after which the log holds every change.
    complete_after: Revision,
}

impl Log {
    /// Creates an empty log that is complete after a revision.
    pub(crate) fn after(revision: Revision, first: Place) -> Self {
        Self {
            first,
            complete_after: revision,
            ..Self::default()
        }
    }

    /// Position of the next change.
    pub(crate) fn end(&self) -> Place {
        self.first + self.changes.len() as Place
    }

    /// Revision after which the log holds every change.
    pub(crate) fn complete_after(&self) -> Revision {
        self.complete_after
    }

    /// True if [`Log::trim`] has something to drop.
    pub(crate) fn is_trimmable(&self, now: Instant) -> bool {
        let is_old = |oldest: &Arc<Change>| is_old(oldest, now);
        self.changes.len() > CHANGES_MIN && self.changes.front().is_some_and(is_old)
    }

    /// True if every change is too old to be kept for its age.
    pub(crate) fn is_past(&self, now: Instant) -> bool {
        self.changes.back().is_none_or(|newest| is_old(newest, now))
    }

    /// Position of the first change after a revision; `None` if the log may have dropped it.
    pub(crate) fn after_revision(&self, revision: Revision) -> Option<Place> {
        if revision < self.complete_after {
            return None;
        }
        let before = self.changes.partition_point(|c| c.revision <= revision);
        Some(self.first + before as Place)
    }

    /// Reads at most `changes_max` changes of a scope from a position on; returns the position to continue from.
    pub(crate) fn read(
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

    /// Appends a change. Revisions must not decrease.
    pub(crate) fn push(&mut self, change: Arc<Change>) {
        self.weight += change.weight();
        self.changes.push_back(change);
    }

    /// The changes from a position on.
    pub(crate) fn since(&self, from: Place) -> impl Iterator<Item = &Arc<Change>> {
        let skipped = usize::try_from(from.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.changes.iter().skip(skipped)
    }

    /// Drops the oldest changes beyond the limits and passes each to `forgotten`.
    pub(crate) fn trim(&mut self, now: Instant, mut forgotten: impl FnMut(Place, &Change)) {
        while let Some(oldest) = self.changes.front() {
            let is_spare = self.changes.len() > CHANGES_MIN;
            let is_much = self.changes.len() > CHANGES_MAX || self.weight > WEIGHT_MAX;
            if !is_spare || !(is_old(oldest, now) || is_much) {
                break;
            }
            forgotten(self.first, oldest);
            self.weight -= oldest.weight();
            self.complete_after = oldest.revision;
            self.changes.pop_front();
            self.first += 1;
        }
        self.shrink();
    }

    /// Releases capacity after a burst of changes.
    fn shrink(&mut self) {
        const SLACK: usize = 4;
        if self.changes.capacity() > SLACK * self.changes.len().max(CHANGES_MIN) {
            self.changes.shrink_to(2 * self.changes.len());
        }
    }
}

fn is_old(change: &Change, now: Instant) -> bool {
    now.saturating_duration_since(change.heard) > AGE_MIN
}
