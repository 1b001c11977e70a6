//! Garbage collection of objects whose owners were deleted.
//!
//! The controller maintains a graph of owner references by uid. An object is reconciled when it or one of its owners
//! changes; the existence of an owner is verified in the [`ClusterView`] each time, by the name in the owner reference.

mod decide;
mod graph;

use lockstep_object::metadata::Seconds;
use std::collections::BTreeSet;

use crate::{Action, Change, ClusterView, Id, Resource};
use graph::Graph;

/// The state of the loop.
#[derive(Default)]
pub struct Garbage {
    graph: Graph,
    /// Objects to reconcile.
    dirty: BTreeSet<Id>,
    /// Objects with owners of an unknown kind; reconciled when the served resources change.
    unresolved: BTreeSet<Id>,
}

impl Garbage {
    /// Takes a change in.
    pub fn observe(&mut self, change: &Change<'_>) {
        let touched = self.graph.take(change);
        self.dirty.extend(touched);
        if change.now.is_none() {
            self.dirty.remove(change.id);
            self.unresolved.remove(change.id);
        }
    }

    /// Forgets the objects of a resource that is no longer served, without treating them as deleted.
    pub fn forget(&mut self, resource: &Resource) {
        self.graph.forget(resource);
        self.dirty.retain(|id| id.resource != *resource);
        self.unresolved.retain(|id| id.resource != *resource);
    }

    /// Retries objects whose owners were of an unknown kind.
    pub fn kinds_changed(&mut self) {
        self.dirty.append(&mut self.unresolved);
    }

    /// Reconciles all changed objects.
    pub fn plan(&mut self, cluster: &dyn ClusterView, now: Seconds) -> Vec<Action> {
        let mut actions = Vec::new();
        for id in std::mem::take(&mut self.dirty) {
            let Some(meta) = cluster.meta(&id) else {
                continue;
            };
            // An owner that was made just before the object might not be visible yet.
            if meta.revision > cluster.seen() {
                self.dirty.insert(id);
                continue;
            }
            match decide::decide(&self.graph, cluster, &id, &meta, now) {
                Some(found) => actions.extend(found),
                None => drop(self.unresolved.insert(id)),
            }
        }
        actions
    }
}
