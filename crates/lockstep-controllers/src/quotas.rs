//! Resource quota controller: recalculates `status.used`.
//!
//! Admission charges creates and updates; the controller accounts for the rest: deleted objects, finished pods, and new
//! or changed quotas. It recounts changed objects only, and writes a quota with the revision up to which everything was
//! counted as precondition: a charge in between makes the write fail, and the quota is reconciled again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_builtins::quota::{Counted, Evaluator, Quota};
use lockstep_object::metadata::Seconds;

use crate::names::RESOURCE_QUOTAS;
use crate::{Action, Change, ClusterView, Id, Resource, Stored};

/// Keeps `status` of every quota true.
#[derive(Default)]
pub struct Quotas {
    /// Namespaces that have quotas.
    namespaces: BTreeMap<Arc<str>, Namespace>,
}

/// A namespace that has quotas.
#[derive(Default)]
struct Namespace {
    /// The keys of the quotas.
    quotas: BTreeSet<Arc<str>>,
    /// True once all existing objects were observed.
    is_known: bool,
    /// Counted usage by object.
    counted: BTreeMap<Resource, BTreeMap<Arc<str>, Counted>>,
    /// Objects changed since they were counted.
    changed: BTreeSet<Id>,
    /// Changed objects of resources that are not served yet.
    unserved: BTreeSet<Id>,
    /// True if the sums may be outdated.
    is_dirty: bool,
}

impl Quotas {
    /// Takes a change in.
    pub fn observe(&mut self, change: &Change<'_>) {
        let id = change.id;
        let Some(name) = id.namespace() else {
            return;
        };
        if Evaluator::ignores(&id.resource.group, &id.resource.plural) {
            return;
        }
        if RESOURCE_QUOTAS.is(&id.resource) {
            let namespace = self.namespaces.entry(name.into()).or_default();
            if change.now.is_some() {
                namespace.quotas.insert(id.key.clone());
            } else {
                namespace.quotas.remove(&id.key);
            }
            if namespace.quotas.is_empty() {
                self.namespaces.remove(name);
                return;
            }
        }
        if let Some(namespace) = self.namespaces.get_mut(name) {
            namespace.changed.insert(id.clone());
            namespace.is_dirty = true;
        }
    }

    /// A resource is served no longer.
    pub fn forget(&mut self, resource: &Resource) {
        for namespace in self.namespaces.values_mut() {
            namespace.counted.remove(resource);
            namespace.unserved.retain(|id| id.resource != *resource);
            namespace.is_dirty = true;
        }
    }

    /// Retries objects of newly served resources.
    pub fn kinds_changed(&mut self) {
        for namespace in self.namespaces.values_mut() {
            namespace.changed.append(&mut namespace.unserved);
            namespace.is_dirty = true;
        }
    }

    /// Recalculates the quotas of namespaces with changes.
    pub fn plan(&mut self, cluster: &dyn ClusterView, now: Seconds) -> Vec<Action> {
        for namespace in self.namespaces.values_mut() {
            namespace.age(now);
        }
        let all = self.namespaces.iter_mut();
        let mut dirty = all.filter(|(_, namespace)| namespace.is_dirty).peekable();
        if dirty.peek().is_none() {
            return Vec::new();
        }
        let evaluators = evaluators(cluster);
        let planned = dirty.flat_map(|(name, namespace)| {
            namespace.look(cluster, name, &evaluators, now);
            namespace.plan(cluster, &evaluators)
        });
        planned.collect()
    }
}

/// Usage evaluators of all countable resources.
fn evaluators(cluster: &dyn ClusterView) -> BTreeMap<Resource, Evaluator> {
    let kinds = cluster.kinds().iter();
    let kinds = kinds.filter(|kind| kind.is_namespaced && kind.is_deletable);
    let evaluators = kinds.filter_map(|kind| {
        let evaluator = Evaluator::of(&kind.resource.group, &kind.resource.plural)?;
        Some((kind.resource.clone(), evaluator))
    });
    evaluators.collect()
}

impl Namespace {
    /// Marks objects for a recount whose usage decreases over time.
    fn age(&mut self, now: Seconds) {
        for (resource, counted) in &self.counted {
            let stale = counted.iter().filter(|(_, object)| object.is_stale(now));
            let stale = stale.map(|(key, _)| resource.id(key));
            self.changed.extend(stale);
        }
        self.is_dirty |= !self.changed.is_empty();
    }

    /// Counts what changed; everything, if that is still to be done.
    fn look(
        &mut self,
        cluster: &dyn ClusterView,
        name: &str,
        evaluators: &BTreeMap<Resource, Evaluator>,
        now: Seconds,
    ) {
        if !self.is_known {
            for resource in evaluators.keys() {
                let keys = cluster.keys(resource, Some(name));
                let ids = keys.into_iter().map(|key| resource.id(&key));
                self.changed.extend(ids);
            }
            self.is_known = true;
        }
        for id in std::mem::take(&mut self.changed) {
            let Some(evaluator) = evaluators.get(&id.resource) else {
                self.unserved.insert(id);
                continue;
            };
            let all = self.counted.entry(id.resource.clone()).or_default();
            match cluster.object(&id) {
                Some(found) => {
                    let counted = evaluator.counted(found.object.as_value(), now);
                    all.insert(id.key, counted);
                }
                None => drop(all.remove(&id.key)),
            }
        }
    }

    fn plan(
        &mut self,
        cluster: &dyn ClusterView,
        evaluators: &BTreeMap<Resource, Evaluator>,
    ) -> Vec<Action> {
        self.is_dirty = false;
        let mut actions = Vec::new();
        for key in &self.quotas {
            let id = RESOURCE_QUOTAS.resource().id(key);
            let Some(stored) = cluster.object(&id) else {
                continue;
            };
            // Objects charged to the quota may be older than it and not visible yet.
            if stored.revision > cluster.seen() {
                self.is_dirty = true;
                continue;
            }
            actions.extend(self.plan_one(id, stored, evaluators));
        }
        actions
    }

    fn plan_one(
        &self,
        id: Id,
        stored: Stored,
        evaluators: &BTreeMap<Resource, Evaluator>,
    ) -> Option<Action> {
        let Stored {
            mut object,
            revision,
        } = stored;
        let mut quota = Quota::read(object.as_value());
        quota.forget();
        for (resource, evaluator) in evaluators {
            let counted = self.counted.get(resource).into_iter();
            quota.count(evaluator, counted.flat_map(BTreeMap::values));
        }
        quota.write_status(&mut object).then_some(Action::Replace {
            id,
            revision,
            object,
        })
    }
}
