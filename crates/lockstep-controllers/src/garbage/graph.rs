//! Ownership graph by uid.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::{Change, Id, Meta, ORPHAN, Resource};

/// The edges between dependents and owners. Objects without either are not in it.
#[derive(Default)]
pub(super) struct Graph {
    by_owner: BTreeMap<Arc<str>, Owned>,
    /// Owners that wait for their dependents, by uid.
    waiting: BTreeMap<Arc<str>, Id>,
}

/// Dependents of one owner.
#[derive(Default)]
struct Owned {
    /// Dependents, each with its `blockOwnerDeletion`.
    dependents: BTreeMap<Id, bool>,
    /// True if the deletion of the owner was observed.
    is_gone: bool,
}

impl Graph {
    /// Applies a change and returns the objects to reconcile.
    pub(super) fn take(&mut self, change: &Change<'_>) -> BTreeSet<Id> {
        let mut touched = BTreeSet::new();
        self.relink(change);
        if let Some(now) = change.now
            && (!now.owners.is_empty() || now.is_deleting)
        {
            touched.insert(change.id.clone());
        }
        let both = [change.before, change.now].into_iter().flatten();
        for owner in both.clone().flat_map(|meta| &meta.owners) {
            touched.extend(self.waiting.get(&owner.uid).cloned());
        }
        if change.now.is_none_or(|now| now.is_deleting) {
            for meta in both {
                touched.extend(self.dependents(&meta.uid).map(|(id, _)| id.clone()));
            }
        }
        if let (Some(before), None) = (change.before, change.now)
            && let Some(owned) = self.by_owner.get_mut(&before.uid)
        {
            owned.is_gone = true;
        }
        touched
    }

    /// Adds new edges before removing old ones, so that the state of an owner survives an update of its only dependent.
    fn relink(&mut self, change: &Change<'_>) {
        let owners = |meta: Option<&Meta>| -> BTreeMap<Arc<str>, bool> {
            let mut owners = BTreeMap::new();
            for owner in meta.into_iter().flat_map(|meta| &meta.owners) {
                *owners.entry(owner.uid.clone()).or_default() |= owner.is_blocking;
            }
            owners
        };
        let now = owners(change.now);
        for (uid, blocks) in &now {
            let owned = self.by_owner.entry(uid.clone()).or_default();
            owned.dependents.insert(change.id.clone(), *blocks);
        }
        let before = owners(change.before);
        for uid in before.keys().filter(|uid| !now.contains_key(*uid)) {
            self.unlink(uid, change.id);
        }
        if let Some(before) = change.before {
            self.waiting.remove(&before.uid);
        }
        if let Some(now) = change.now
            && (now.waits_for_dependents() || now.is_deleting && now.is_held_by(ORPHAN))
        {
            self.waiting.insert(now.uid.clone(), change.id.clone());
        }
    }

    fn unlink(&mut self, owner: &Arc<str>, dependent: &Id) {
        if let Some(owned) = self.by_owner.get_mut(owner) {
            owned.dependents.remove(dependent);
            if owned.dependents.is_empty() {
                self.by_owner.remove(owner);
            }
        }
    }

    /// Drops all objects of a resource.
    pub(super) fn forget(&mut self, resource: &Resource) {
        self.by_owner.retain(|_, owned| {
            owned.dependents.retain(|id, _| id.resource != *resource);
            !owned.dependents.is_empty()
        });
        self.waiting.retain(|_, id| id.resource != *resource);
    }

    /// Dependents of an owner, each with its `blockOwnerDeletion`.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = (&Id, bool)> {
        let owned = self.by_owner.get(uid).into_iter();
        owned.flat_map(|owned| owned.dependents.iter().map(|(id, blocks)| (id, *blocks)))
    }

    /// True if the deletion of an owner was observed.
    pub(super) fn is_gone(&self, uid: &str) -> bool {
        self.by_owner.get(uid).is_some_and(|owned| owned.is_gone)
    }
}
