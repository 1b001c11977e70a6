//! Reading the history as a watcher does.

use std::sync::Arc;

use crate::history::Change;
use crate::{KeyRange, KeyValue, Machine, Previous, Revision};

/// What a watcher wants to see.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchSelector {
    /// Which keys.
    pub keys: KeyRange,
    /// Which kinds of events not.
    pub filters: Filters,
    /// Whether events bring the version before.
    pub previous: Previous,
}

impl WatchSelector {
    /// All events of a range, without the versions before.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            filters: Filters::default(),
            previous: Previous::Omit,
        }
    }

    /// Whether the watcher wants to see that a change left `kv`.
    pub fn matches(&self, kv: &KeyValue) -> bool {
        let filtered = match EventKind::of(kv) {
            EventKind::Put => self.filters.no_put,
            EventKind::Delete => self.filters.no_delete,
        };
        !filtered && self.keys.contains(&kv.key)
    }
}

/// Kinds of events that a watcher does not want.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Filters {
    /// No puts.
    pub no_put: bool,
    /// No deletes.
    pub no_delete: bool,
}

/// The kind of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// A key was written.
    Put,
    /// A key was deleted.
    Delete,
}

impl EventKind {
    /// The kind of the change that left `kv`.
    pub fn of(kv: &KeyValue) -> Self {
        if kv.is_tombstone() {
            Self::Delete
        } else {
            Self::Put
        }
    }
}

/// One change as a watcher sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What the change left; a tombstone for a delete.
    pub kv: Arc<KeyValue>,
    /// The version before, if asked for, not compacted, and there was one.
    pub previous: Option<Arc<KeyValue>>,
}

impl Event {
    /// The bytes of its keys and values.
    fn bytes(&self) -> usize {
        let versions = std::iter::once(&self.kv).chain(&self.previous);
        versions.map(|kv| kv.key.len() + kv.value.len()).sum()
    }

    /// Whether a key was written or deleted.
    pub fn kind(&self) -> EventKind {
        EventKind::of(&self.kv)
    }
}

/// How much one read of the history may cost. A bound is exceeded only to finish a revision,
/// since the events of one revision belong together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The most events to return.
    pub events_max: usize,
    /// The most changes to look at.
    pub changes_max: usize,
    /// The most bytes of keys and values to return.
    pub bytes_max: usize,
}

/// Some events in the order of their revisions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// The events; those of one revision are never spread over two batches.
    pub events: Vec<Event>,
    /// Where to read on. Everything before is delivered, so `next - 1` is the watcher's progress.
    pub next: Revision,
}

/// The history that a watcher needs is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("etcdserver: mvcc: required revision has been compacted")]
pub struct WatchCompacted {
    /// The oldest revision that a watch may start at.
    pub compacted: Revision,
}

impl Machine {
    /// The events from a revision on.
    ///
    /// A start in the future gives no events and is itself where to read on. A start at the
    /// compacted revision gives all events of that revision; an earlier one is an error.
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
