//! Garbage collection: what becomes of objects whose owners go.
//!
//! The loop keeps in mind which objects name which owners, by uid. An object is looked at when it or
//! one of its owners changed; whether an owner exists is asked of the [`World`] each time, by the name
//! that the dependent gives.

mod graph;
mod judge;

use lockstep_object::metadata::Seconds;
use std::collections::BTreeSet;

use crate::{Action, Change, Id, Resource, World};
use graph::Graph;

/// The state of the loop.
#[derive(Default)]
pub struct Garbage {
    graph: Graph,
    /// What has to be looked at.
    dirty: BTreeSet<Id>,
    /// What has owners of a kind that nobody knows; looked at when kinds come.
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

    /// Forgets the objects of a resource that is served no longer. That says nothing about whether
    /// they exist.
    pub fn forget(&mut self, resource: &Resource) {
        self.graph.forget(resource);
        self.dirty.retain(|id| id.resource != *resource);
        self.unresolved.retain(|id| id.resource != *resource);
    }

    /// What is served has changed.
    pub fn kinds_changed(&mut self) {
        self.dirty.append(&mut self.unresolved);
    }

    /// What is to be done about everything that changed.
    pub fn plan(&mut self, world: &dyn World, now: Seconds) -> Vec<Action> {
        let mut actions = Vec::new();
        for id in std::mem::take(&mut self.dirty) {
            let Some(meta) = world.meta(&id) else {
                continue;
            };
            // An owner that was made just before the object might not be visible yet.
            if meta.revision > world.seen() {
                self.dirty.insert(id);
                continue;
            }
            match judge::judge(&self.graph, world, &id, &meta, now) {
                Some(found) => actions.extend(found),
                None => drop(self.unresolved.insert(id)),
            }
        }
        actions
    }
}
