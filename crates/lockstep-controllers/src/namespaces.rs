//! Namespace controller: deletes the contents of terminating namespaces, then finalizes them.

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::conditions::{self, Condition};
use crate::names::{NAMESPACES, PODS};
use crate::{Action, Change, ClusterView, Id, Kind, Propagation, Resource};

/// The finalizer in `spec.finalizers` that this controller removes.
const FINALIZER: &str = "kubernetes";

/// The state of the loop.
#[derive(Default)]
pub struct Namespaces {
    grace: Duration,
    /// Terminating namespaces, and the time from which they are processed, once known.
    terminating: BTreeMap<Arc<str>, Option<Duration>>,
    /// Namespaces to reconcile.
    dirty: BTreeSet<Arc<str>>,
    /// Earliest end of a grace period.
    due: Option<Duration>,
}

/// Remaining contents that block the deletion of a namespace.
#[derive(Default)]
struct Remaining {
    by_resource: BTreeMap<Resource, usize>,
    by_finalizer: BTreeMap<Box<str>, usize>,
}

impl Namespaces {
    /// Creates the controller with a grace period after the deletion of a namespace, in which an external controller
    /// may finalize it.
    pub fn with_grace(grace: Duration) -> Self {
        Self {
            grace,
            ..Self::default()
        }
    }

    /// Takes a change in.
    pub fn observe(&mut self, change: &Change<'_>) {
        if NAMESPACES.is(&change.id.resource) {
            let name = &change.id.key;
            if change.now.is_some_and(|now| now.is_deleting) {
                self.terminating.entry(name.clone()).or_default();
                self.dirty.insert(name.clone());
            } else {
                self.terminating.remove(name);
                self.dirty.remove(name);
            }
        } else if let Some(namespace) = change.id.namespace()
            && let Some((name, _)) = self.terminating.get_key_value(namespace)
        {
            self.dirty.insert(name.clone());
        }
    }

    /// Reconciles all terminating namespaces after the served resources changed.
    pub fn kinds_changed(&mut self) {
        self.dirty.extend(self.terminating.keys().cloned());
    }

    /// Reconciles the namespaces with changes. `elapsed` is the time since the controllers started.
    pub fn plan(
        &mut self,
        cluster: &dyn ClusterView,
        now: Seconds,
        elapsed: Duration,
    ) -> Vec<Action> {
        let mut actions = Vec::new();
        self.due = None;
        for name in std::mem::take(&mut self.dirty) {
            let due = self.terminating.entry(name.clone()).or_default();
            let due = *due.get_or_insert(elapsed + self.grace);
            if due > elapsed {
                self.due = Some(self.due.map_or(due, |first| first.min(due)));
                self.dirty.insert(name);
                continue;
            }
            match plan_one(cluster, &name, now) {
                Some(found) => actions.extend(found),
                None => drop(self.dirty.insert(name)),
            }
        }
        actions
    }

    /// Time of the next [`plan`](Self::plan) even without changes.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }
}

/// Reconciles one namespace; none if its contents are not completely visible yet.
fn plan_one(cluster: &dyn ClusterView, name: &str, now: Seconds) -> Option<Vec<Action>> {
    let id = NAMESPACES.resource().id(name);
    let Some(stored) = cluster.object(&id) else {
        return Some(Vec::new());
    };
    if stored.revision > cluster.seen() {
        return None;
    }
    let namespace = stored.object;
    if namespace.deletion_timestamp().is_none() || !is_held(&namespace) {
        return Some(Vec::new());
    }
    let (mut actions, left) = delete_contents(cluster, name);
    let mut next = namespace.clone();
    if actions.is_empty() && left.by_resource.is_empty() {
        release(&mut next);
    } else if left.by_resource.is_empty() {
        // Everything left terminates without help, so there is no condition to report.
        return Some(actions);
    }
    conditions::write(&mut next, &left.conditions(), now);
    if next != namespace {
        actions.push(Action::Replace {
            id,
            revision: stored.revision,
            object: next,
        });
    }
    Some(actions)
}

/// Deletes the contents of a namespace, pods first, and collects what finalizers block.
fn delete_contents(cluster: &dyn ClusterView, namespace: &str) -> (Vec<Action>, Remaining) {
    let is_inside = |kind: &&Kind| kind.is_namespaced && kind.is_deletable;
    let kinds = || cluster.kinds().iter().filter(is_inside);
    let ids = |kind: &Kind| {
        let keys = cluster.keys(&kind.resource, Some(namespace));
        let ids = keys.into_iter().map(|key| kind.resource.id(&key));
        ids.collect::<Vec<Id>>()
    };
    let pods = kinds().filter(|kind| PODS.is(&kind.resource));
    let pods: Vec<Id> = pods.flat_map(ids).collect();
    let doomed = if pods.is_empty() {
        kinds().flat_map(ids).collect()
    } else {
        pods
    };
    let (mut actions, mut left) = (Vec::new(), Remaining::default());
    for id in doomed {
        let Some(meta) = cluster.meta(&id) else {
            continue;
        };
        if !meta.finalizers.is_empty() {
            *left.by_resource.entry(id.resource.clone()).or_default() += 1;
        }
        for finalizer in meta.finalizers {
            *left.by_finalizer.entry(finalizer).or_default() += 1;
        }
        if !meta.is_deleting {
            actions.push(Action::Delete {
                id,
                revision: meta.revision,
                propagation: Propagation::Background,
            });
        }
    }
    (actions, left)
}

fn is_held(namespace: &Object) -> bool {
    let holders = namespace.at(&["spec", "finalizers"]);
    let mut holders = holders.and_then(Value::as_array).into_iter().flatten();
    holders.any(|holder| holder == FINALIZER)
}

/// Removes this controller's finalizer from a namespace.
fn release(namespace: &mut Object) {
    let holders = namespace.at(&["spec", "finalizers"]);
    let holders = holders.and_then(Value::as_array).into_iter().flatten();
    let kept: Vec<Value> = holders
        .filter(|holder| *holder != FINALIZER)
        .cloned()
        .collect();
    let spec = if kept.is_empty() {
        json!({})
    } else {
        json!({ "finalizers": kept })
    };
    namespace.fields_mut().insert("spec".to_owned(), spec);
}

impl Remaining {
    fn conditions(&self) -> [Condition; 5] {
        let is_left = !self.by_resource.is_empty();
        let is_held = !self.by_finalizer.is_empty();
        let instances = self.by_resource.iter().map(|(resource, count)| {
            let Resource { group, plural } = resource;
            format!("{plural}.{group} has {count} resource instances")
        });
        let instances: Vec<String> = instances.collect();
        let holders = self.by_finalizer.iter();
        let holders = holders.map(|(name, count)| format!("{name} in {count} resource instances"));
        let holders: Vec<String> = holders.collect();
        let fine = |kind, reason, message: &str| Condition {
            kind,
            is_true: false,
            reason,
            message: message.to_owned(),
        };
        [
            fine(
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            fine(
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            fine(
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
            if is_left {
                Condition {
                    kind: "NamespaceContentRemaining",
                    is_true: true,
                    reason: "SomeResourcesRemain",
                    message: format!("Some resources are remaining: {}", instances.join(", ")),
                }
            } else {
                fine(
                    "NamespaceContentRemaining",
                    "ContentRemoved",
                    "All content successfully removed",
                )
            },
            if is_held {
                Condition {
                    kind: "NamespaceFinalizersRemaining",
                    is_true: true,
                    reason: "SomeFinalizersRemain",
                    message: format!(
                        "Some content in the namespace has finalizers remaining: {}",
                        holders.join(", ")
                    ),
                }
            } else {
                fine(
                    "NamespaceFinalizersRemaining",
                    "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished",
                )
            },
        ]
    }
}
