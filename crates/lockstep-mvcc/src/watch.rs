//! Reading the history for watchers.

use std::sync::Arc;

use crate::history::Change;
use crate::{KeyRange, KeyValue, Machine, Previous, Revision};

/// Selection of events for a watcher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchSelector {
    /// The keys.
    pub keys: KeyRange,
    /// Excluded event kinds.
    pub filters: Filters,
    /// Whether events contain the previous version.
    pub previous: Previous,
}

impl WatchSelector {
    /// All events of a range, without previous versions.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            filters: Filters::default(),
            previous: Previous::Omit,
        }
    }

    /// True if the watcher receives the event that created `kv`.
    pub fn matches(&self, kv: &KeyValue) -> bool {
        let filtered = match EventKind::of(kv) {
            EventKind::Put => self.filters.no_put,
            EventKind::Delete => self.filters.no_delete,
        };
        !filtered && self.keys.contains(&kv.key)
    }
}

/// Event kinds to exclude.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    /// Excludes puts.
    pub no_put: bool,
    /// Excludes deletes.
    pub no_delete: bool,
}

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A key was written.
    Put,
    /// A key was deleted.
    Delete,
}

impl EventKind {
    /// The kind of the event that created `kv`.
    pub fn of(kv: &KeyValue) -> Self {
        if kv.is_tombstone() {
            Self::Delete
        } else {
            Self::Put
        }
    }
}

/// A change of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// The new version; a tombstone for a delete.
    pub kv: Arc<KeyValue>,
    /// The previous version, if requested, present and not compacted.
    pub previous: Option<Arc<KeyValue>>,
}

impl Event {
    /// Size of its keys and values in bytes.
    fn bytes(&self) -> usize {
        let versions = std::iter::once(&self.kv).chain(&self.previous);
        versions.map(|kv| kv.key.len() + kv.value.len()).sum()
    }

    /// Put or delete.
    pub fn kind(&self) -> EventKind {
        EventKind::of(&self.kv)
    }
}

/// Limits of one read of the history. A limit is exceeded only to complete a revision, because the events of one
/// revision are delivered together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Maximum number of events to return.
    pub events_max: usize,
    /// Maximum number of changes to visit.
    pub changes_max: usize,
    /// Maximum bytes of keys and values to return.
    pub bytes_max: usize,
}

/// Events in revision order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// The events; those of one revision are always in one batch.
    pub events: Vec<Event>,
    /// The revision to continue from; `next - 1` is the watcher's progress.
    pub next: Revision,
}

/// The history that a watcher needs is compacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("etcdserver: mvcc: required revision has been compacted")]
pub struct WatchCompacted {
    /// The oldest revision that a watch may start at.
    pub compacted: Revision,
}

impl Machine {
    /// Events from a revision on.
    ///
    /// A start in the future gives no events and is returned as [`Batch::next`]. A start at the compacted revision
    /// gives all events of that revision; an earlier one fails.
    pub fn events(
        &self,
        selector: &WatchSelector,
        from: Revision,
        budget: Budget,
    ) -> Result<Batch, WatchCompacted> {
        if from < self.compacted {
            let compacted = self.compacted;
            return Err(WatchCompacted { compacted });
        }
        let mut batch = Batch {
            events: Vec::new(),
            next: self.revision.next().max(from),
        };
        let mut last = Revision::NONE;
        let mut bytes = 0;
        for (looked_at, change) in self.history.since(from).enumerate() {
            let revision = change.kv.mod_revision;
            let is_full = looked_at >= budget.changes_max
                || batch.events.len() >= budget.events_max
                || bytes >= budget.bytes_max;
            if is_full && revision != last && looked_at > 0 {
                batch.next = revision;
                break;
            }
            last = revision;
            if selector.matches(&change.kv) {
                let event = self.event(selector, change);
                bytes += event.bytes();
                batch.events.push(event);
            }
        }
        Ok(batch)
    }

    fn event(&self, selector: &WatchSelector, change: &Change) -> Event {
        let is_kept = change.kv.mod_revision > self.compacted;
        let wanted = selector.previous == Previous::Return && is_kept;
        Event {
            kv: change.kv.clone(),
            previous: change.previous.clone().filter(|_| wanted),
        }
    }
}
