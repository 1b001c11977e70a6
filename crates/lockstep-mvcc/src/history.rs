//! Retained changes in revision order.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{KeyRange, KeyValue, Revision};

/// One change of one key.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The new version; a tombstone for a delete.
    pub(crate) kv: Arc<KeyValue>,
    /// The previous version, unless it is compacted or the key did not exist.
    pub(crate) previous: Option<Arc<KeyValue>>,
}

impl Change {
    fn revision(&self) -> Revision {
        self.kv.mod_revision
    }
}

/// Changes ascending by revision and sub-revision.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    changes: VecDeque<Change>,
}

impl History {
    pub(crate) fn push(&mut self, change: Change) {
        self.changes.push_back(change);
    }

    /// The changes from a revision on.
    pub(crate) fn since(&self, from: Revision) -> impl ExactSizeIterator<Item = &Change> {
        self.changes.range(self.first_of(from)..)
    }

    /// True if there are changes after a revision.
    pub(crate) fn is_newer_than(&self, revision: Revision) -> bool {
        self.changes
            .back()
            .is_some_and(|newest| newest.revision() > revision)
    }

    /// Difference between the number of keys in a range now and at a revision.
    pub(crate) fn growth_since(&self, at: Revision, keys: &KeyRange) -> isize {
        let inside = self
            .since(at.next())
            .filter(|change| keys.contains(&change.kv.key));
        inside
            .map(|change| {
                isize::from(change.kv.is_create()) - isize::from(change.kv.is_tombstone())
            })
            .sum()
    }

    /// Removes the oldest change if it is older than `before`.
    pub(crate) fn pop_before(&mut self, before: Revision) -> Option<Change> {
        let oldest = self.changes.front()?;
        if oldest.revision() >= before {
            return None;
        }
        self.changes.pop_front()
    }

    /// Mutable changes of one revision.
    pub(crate) fn of_mut(&mut self, revision: Revision) -> impl Iterator<Item = &mut Change> {
        let (first, end) = (self.first_of(revision), self.first_of(revision.next()));
        self.changes.range_mut(first..end)
    }

    /// Releases capacity after a large sweep.
    pub(crate) fn shrink(&mut self) {
        const SLACK: usize = 4;
        if self.changes.capacity() > SLACK * self.changes.len() {
            self.changes.shrink_to(2 * self.changes.len());
        }
    }

    /// Galloping search from the end: lookups are nearly always near the newest revision, and the middle of a long
    /// history is not in the CPU cache.
    fn first_of(&self, revision: Revision) -> usize {
        let is_older = |at: usize| self.changes[at].revision() < revision;
        let mut end = self.changes.len();
        let mut step = 1;
        let mut start = loop {
            let Some(probe) = end.checked_sub(step) else {
                break 0;
            };
            if is_older(probe) {
                break probe + 1;
            }
            end = probe;
            step *= 2;
        };
        while start < end {
            let middle = start.midpoint(end);
            if is_older(middle) {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        start
    }
}
