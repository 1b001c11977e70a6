//! Retained versions of one key.

use std::sync::Arc;

use bytes::Bytes;

use crate::{KeyValue, Revision};

/// A key and its retained versions.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    latest: Arc<KeyValue>,
    /// Ascending by revision. Empty, and without memory of its own, for most keys.
    pub(super) older: Vec<Arc<KeyValue>>,
}

impl Record {
    pub(crate) fn new(first: Arc<KeyValue>) -> Self {
        Self {
            latest: first,
            older: Vec::new(),
        }
    }

    pub(crate) fn key(&self) -> &Bytes {
        &self.latest.key
    }

    /// The newest version; a tombstone if the key is deleted.
    pub(crate) fn latest(&self) -> &Arc<KeyValue> {
        &self.latest
    }

    pub(crate) fn is_live(&self) -> bool {
        !self.latest.is_tombstone()
    }

    /// The newest version, if the key exists.
    pub(crate) fn live(&self) -> Option<&Arc<KeyValue>> {
        self.is_live().then_some(&self.latest)
    }

    /// The version visible at a revision, including tombstones.
    pub(crate) fn newest_at(&self, at: Revision) -> Option<&Arc<KeyValue>> {
        if self.latest.mod_revision <= at {
            return Some(&self.latest);
        }
        let end = self.older.partition_point(|kv| kv.mod_revision <= at);
        end.checked_sub(1).map(|newest| &self.older[newest])
    }

    /// The version visible at a revision, if the key exists there.
    pub(crate) fn live_at(&self, at: Revision) -> Option<&Arc<KeyValue>> {
        self.newest_at(at).filter(|kv| !kv.is_tombstone())
    }

    pub(crate) fn push(&mut self, newest: Arc<KeyValue>) {
        let before = std::mem::replace(&mut self.latest, newest);
        if self.older.capacity() == 0 {
            // Most keys are written twice at most, so the usual growth to four would waste memory.
            self.older.reserve_exact(1);
        }
        self.older.push(before);
    }

    /// True if the key does not exist at any revision from `compacted` on.
    pub(super) fn is_dead_at(&self, compacted: Revision) -> bool {
        !self.is_live() && self.latest.mod_revision <= compacted
    }

    /// All versions, oldest first.
    pub(super) fn versions(&self) -> impl Iterator<Item = &KeyValue> {
        let older = self.older.iter().map(|kv| &**kv);
        older.chain(std::iter::once(&*self.latest))
    }

    /// Removes versions that are not visible at any revision from `compacted` on, and reports them.
    pub(super) fn prune(&mut self, compacted: Revision, dropped: &mut impl FnMut(&KeyValue)) {
        let seen = if self.latest.mod_revision <= compacted {
            self.older.len()
        } else {
            let end = self
                .older
                .partition_point(|kv| kv.mod_revision <= compacted);
            let newest = end.saturating_sub(1);
            let is_gone = self.older.get(newest).is_some_and(|kv| kv.is_tombstone());
            if end > 0 && is_gone { end } else { newest }
        };
        self.older.drain(..seen).for_each(|kv| dropped(&kv));
        if self.older.capacity() > 2 * self.older.len() {
            self.older.shrink_to_fit();
        }
    }
}
