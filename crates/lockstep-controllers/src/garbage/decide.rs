//! Garbage collection decision for one object.

use lockstep_object::metadata::Seconds;
use lockstep_object::{GroupVersion, Object, Value};

use super::graph::Graph;
use crate::event::{self, About};
use crate::names::NAMESPACES;
use crate::{Action, ClusterView, FOREGROUND, Id, Kind, Meta, ORPHAN, Owner, Propagation};

/// State of an owner.
enum OwnerState {
    /// The owner exists.
    Exists,
    /// The owner does not exist, or an object with another uid has its name.
    Absent,
    /// The owner is in foreground deletion and waits for its dependents.
    Waiting,
    /// The owner's kind is not served.
    Unknown,
    /// The owner reference crosses namespaces.
    Misplaced(String),
}

/// The required writes for an object; none if the decision needs kinds that are not served yet.
pub(super) fn decide(
    graph: &Graph,
    cluster: &dyn ClusterView,
    id: &Id,
    meta: &Meta,
    now: Seconds,
) -> Option<Vec<Action>> {
    if meta.is_deleting {
        return Some(released(graph, cluster, id, meta));
    }
    let (mut solid, mut loose, mut waits) = (false, Vec::new(), false);
    for owner in &meta.owners {
        match standing(graph, cluster, id, owner) {
            OwnerState::Exists => solid = true,
            OwnerState::Absent => loose.push(&*owner.uid),
            OwnerState::Waiting => {
                waits = true;
                loose.push(&*owner.uid);
            }
            OwnerState::Unknown => return None,
            OwnerState::Misplaced(problem) => {
                return Some(complain(cluster, id, &problem, now).into_iter().collect());
            }
        }
    }
    Some(if solid {
        edit(cluster, id, meta, |object| without_owners(object, &loose))
    } else if loose.is_empty() {
        Vec::new()
    } else if waits && has_dependents(graph, meta) {
        go_with_dependents(graph, cluster, id, meta)
    } else {
        let propagation = match () {
            () if meta.is_held_by(ORPHAN) => Propagation::Orphan,
            () if meta.is_held_by(FOREGROUND) => Propagation::Foreground,
            () => Propagation::Background,
        };
        vec![delete(id, meta, propagation)]
    })
}

/// Removes the finalizer of an owner once no dependents are left to wait for.
fn released(graph: &Graph, cluster: &dyn ClusterView, id: &Id, meta: &Meta) -> Vec<Action> {
    let mut dependents = graph.dependents(&meta.uid);
    if meta.is_held_by(FOREGROUND) {
        let is_blocked = dependents.any(|(dependent, blocks)| blocks && dependent != id);
        return if is_blocked {
            Vec::new()
        } else {
            edit(cluster, id, meta, |object| {
                without_finalizer(object, FOREGROUND);
            })
        };
    }
    if !meta.is_held_by(ORPHAN) {
        return Vec::new();
    }
    let uid = &*meta.uid;
    let freed: Vec<Action> = dependents
        .filter_map(|(dependent, _)| Some((dependent, cluster.meta(dependent)?)))
        .flat_map(|(dependent, seen)| {
            edit(cluster, dependent, &seen, |object| {
                without_owners(object, &[uid]);
            })
        })
        .collect();
    if freed.is_empty() {
        return edit(cluster, id, meta, |object| {
            without_finalizer(object, ORPHAN);
        });
    }
    freed
}

/// The owner waits for this object, which has dependents itself: they are deleted first. If a dependent waits too,
/// there is a cycle, which is broken by removing `blockOwnerDeletion`.
fn go_with_dependents(
    graph: &Graph,
    cluster: &dyn ClusterView,
    id: &Id,
    meta: &Meta,
) -> Vec<Action> {
    let mut dependents = graph.dependents(&meta.uid);
    let is_circle = dependents.any(|(dependent, _)| {
        let dependent = cluster.meta(dependent);
        dependent.is_some_and(|dependent| dependent.waits_for_dependents())
    });
    if is_circle && meta.owners.iter().any(|owner| owner.is_blocking) {
        return edit(cluster, id, meta, unblocked);
    }
    vec![delete(id, meta, Propagation::Foreground)]
}

fn has_dependents(graph: &Graph, meta: &Meta) -> bool {
    graph.dependents(&meta.uid).next().is_some()
}

fn standing(graph: &Graph, cluster: &dyn ClusterView, dependent: &Id, owner: &Owner) -> OwnerState {
    let Some(kind) = kind(cluster, owner) else {
        return if graph.is_gone(&owner.uid) {
            OwnerState::Absent
        } else {
            OwnerState::Unknown
        };
    };
    let key = match (kind.is_namespaced, dependent.namespace()) {
        (false, _) => owner.name.to_string(),
        (true, Some(namespace)) => format!("{namespace}/{}", owner.name),
        (true, None) => {
            let problem = format!("{} is in a namespace, but the object is not", shown(owner));
            return OwnerState::Misplaced(problem);
        }
    };
    let found = cluster.meta(&kind.resource.id(&key));
    match found.filter(|found| found.uid == owner.uid) {
        Some(found) if found.waits_for_dependents() => OwnerState::Waiting,
        Some(_) => OwnerState::Exists,
        None if graph.is_gone(&owner.uid) => OwnerState::Absent,
        None => match elsewhere(cluster, kind, owner) {
            None => OwnerState::Absent,
            Some(_) => {
                let namespace = dependent.namespace().unwrap_or_default();
                let problem = format!("{} does not exist in namespace {namespace:?}", shown(owner));
                OwnerState::Misplaced(problem)
            }
        },
    }
}

/// The namespace of an owner that is not where its dependent is.
fn elsewhere(cluster: &dyn ClusterView, kind: &Kind, owner: &Owner) -> Option<String> {
    if !kind.is_namespaced {
        return None;
    }
    let namespaces = cluster.keys(&NAMESPACES.resource(), None);
    let found = namespaces.into_iter().find(|namespace| {
        let id = kind.resource.id(&format!("{namespace}/{}", owner.name));
        cluster
            .meta(&id)
            .is_some_and(|found| found.uid == owner.uid)
    });
    found.map(|namespace| namespace.to_string())
}

/// The served kind that an owner reference names.
fn kind<'w>(cluster: &'w dyn ClusterView, owner: &Owner) -> Option<&'w Kind> {
    let asked = GroupVersion::parse(&owner.api_version).ok()?;
    let mut kinds = cluster.kinds().iter();
    kinds.find(|known| {
        // Absence cannot be proven for resources that are not stored here.
        known.is_deletable
            && *known.resource.group == *asked.group
            && *known.kind == *owner.kind
            && known
                .versions
                .iter()
                .any(|version| **version == *asked.version)
    })
}

fn shown(owner: &Owner) -> String {
    let Owner {
        api_version,
        kind,
        name,
        uid,
        ..
    } = owner;
    format!("ownerRef [{api_version}/{kind}, name: {name}, uid: {uid}]")
}

fn complain(cluster: &dyn ClusterView, id: &Id, problem: &str, now: Seconds) -> Option<Action> {
    event::warning(
        cluster,
        &About {
            id,
            reason: "OwnerRefInvalidNamespace",
            message: problem,
            component: "garbage-collector-controller",
        },
        now,
    )
}

fn delete(id: &Id, meta: &Meta, propagation: Propagation) -> Action {
    Action::Delete {
        id: id.clone(),
        revision: meta.revision,
        propagation,
    }
}

/// Changes an object that is still as it was seen. What changes nothing is not done.
fn edit(
    cluster: &dyn ClusterView,
    id: &Id,
    meta: &Meta,
    change: impl Fn(&mut Object),
) -> Vec<Action> {
    let stored = cluster.object(id);
    let Some(stored) = stored.filter(|stored| stored.revision == meta.revision) else {
        return Vec::new();
    };
    let mut object = stored.object.clone();
    change(&mut object);
    if object == stored.object {
        return Vec::new();
    }
    vec![Action::Replace {
        id: id.clone(),
        revision: stored.revision,
        object,
    }]
}

fn without_owners(object: &mut Object, uids: &[&str]) {
    let Some(Value::Array(owners)) = object.metadata_mut().get_mut("ownerReferences") else {
        return;
    };
    owners.retain(|owner| !owner["uid"].as_str().is_some_and(|uid| uids.contains(&uid)));
    if owners.is_empty() {
        object.metadata_mut().remove("ownerReferences");
    }
}

fn without_finalizer(object: &mut Object, finalizer: &str) {
    let kept = object.finalizers().filter(|held| *held != finalizer);
    let kept = kept.map(str::to_owned).collect();
    object.set_finalizers(kept);
}

fn unblocked(object: &mut Object) {
    if let Some(Value::Array(owners)) = object.metadata_mut().get_mut("ownerReferences") {
        for owner in owners.iter_mut().filter(|owner| owner.is_object()) {
            owner["blockOwnerDeletion"] = false.into();
        }
    }
}
