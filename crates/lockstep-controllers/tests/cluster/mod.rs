//! A cluster in a few maps: as little of an API server as loops need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_controllers::{
    Action, Change, ClusterView, FOREGROUND, Id, Kind, Meta, ORPHAN, Propagation, Resource, Stored,
};
use lockstep_object::{Object, Value, json};
use serde_json::json;

/// Group, plural, kind, and whether it is in namespaces.
const KINDS: &[(&str, &str, &str, bool)] = &[
    ("", "configmaps", "ConfigMap", true),
    ("", "events", "Event", true),
    ("", "namespaces", "Namespace", false),
    ("", "pods", "Pod", true),
    ("", "resourcequotas", "ResourceQuota", true),
    ("", "secrets", "Secret", true),
    ("", "serviceaccounts", "ServiceAccount", true),
    ("apiregistration.k8s.io", "apiservices", "APIService", false),
    ("coordination.k8s.io", "leases", "Lease", true),
    ("ex.io", "gadgets", "Gadget", false),
    ("ex.io", "widgets", "Widget", true),
    (
        "rbac.authorization.k8s.io",
        "clusterroles",
        "ClusterRole",
        false,
    ),
];

pub(crate) struct Cluster {
    kinds: Vec<Kind>,
    objects: BTreeMap<Id, Stored>,
    revision: u64,
    /// Metadata of each object as the controllers last observed it.
    told: BTreeMap<Id, Meta>,
}

/// A change that owns what it is about.
pub(crate) struct Seen {
    id: Id,
    before: Option<Meta>,
    now: Option<Meta>,
}

impl Seen {
    pub(crate) fn borrowed(&self) -> Change<'_> {
        Change {
            id: &self.id,
            before: self.before.as_ref(),
            now: self.now.as_ref(),
        }
    }
}

fn kinds(hidden: &str) -> Vec<Kind> {
    let known = KINDS.iter().filter(|(_, plural, ..)| *plural != hidden);
    let kind = |&(group, plural, kind, is_namespaced): &(&str, &str, &str, bool)| Kind {
        resource: Resource::new(group, plural),
        kind: kind.into(),
        versions: vec!["v1".into()],
        is_namespaced,
        is_deletable: true,
    };
    known.map(kind).collect()
}

impl Cluster {
    /// A cluster in which one resource is not served.
    pub(crate) fn new(hidden: &str) -> Self {
        Self {
            kinds: kinds(hidden),
            objects: BTreeMap::new(),
            revision: 0,
            told: BTreeMap::new(),
        }
    }

    pub(crate) fn serve_all(&mut self) {
        self.kinds = kinds("");
    }

    fn id(object: &Object) -> Id {
        let row = KINDS.iter().find(|(_, _, kind, _)| *kind == object.kind());
        let (group, plural, _, is_namespaced) = *row.unwrap();
        let key = if is_namespaced {
            format!("{}/{}", object.namespace(), object.name())
        } else {
            object.name().to_owned()
        };
        Resource::new(group, plural).id(&key)
    }

    pub(crate) fn put(&mut self, value: &Value) {
        let object = Object::from_value(value.clone()).unwrap();
        self.store(Self::id(&object), object);
    }

    pub(crate) fn remove(&mut self, value: &Value) {
        let object = Object::from_value(value.clone()).unwrap();
        self.objects.remove(&Self::id(&object));
    }

    fn store(&mut self, id: Id, object: Object) {
        self.revision += 1;
        let revision = self.revision;
        self.objects.insert(id, Stored { object, revision });
    }

    /// Changes since the last call.
    pub(crate) fn changes(&mut self) -> Vec<Seen> {
        let now: BTreeMap<Id, Meta> = self
            .objects
            .keys()
            .map(|id| (id.clone(), self.meta(id).unwrap()))
            .collect();
        let ids: BTreeSet<Id> = now.keys().chain(self.told.keys()).cloned().collect();
        let before = std::mem::replace(&mut self.told, now.clone());
        let seen = ids.into_iter().map(|id| Seen {
            before: before.get(&id).cloned(),
            now: now.get(&id).cloned(),
            id,
        });
        seen.filter(|seen| seen.before != seen.now).collect()
    }

    /// An action as cases show it.
    pub(crate) fn told(&self, action: &Action) -> Value {
        match action {
            Action::Create { id, object } => {
                json!({ "create": id.to_string(), "as": object.as_value() })
            }
            Action::Delete {
                id, propagation, ..
            } => json!({ "delete": id.to_string(), "propagation": format!("{propagation:?}") }),
            Action::Replace { id, object, .. } => {
                let before = self.objects[id].object.as_value();
                json!({ "replace": id.to_string(), "change": difference(before, object.as_value()) })
            }
        }
    }

    pub(crate) fn act(&mut self, action: Action) {
        match action {
            Action::Create { id, object } => self.store(id, object),
            Action::Replace {
                id,
                object,
                revision,
            } => {
                assert_eq!(self.objects[&id].revision, revision, "{id}");
                self.keep(id, object);
            }
            Action::Delete {
                id,
                revision,
                propagation,
            } => {
                assert_eq!(self.objects[&id].revision, revision, "{id}");
                let mut object = self.objects[&id].object.clone();
                let kept = object
                    .finalizers()
                    .filter(|held| ![FOREGROUND, ORPHAN].contains(held));
                let mut finalizers: Vec<String> = kept.map(str::to_owned).collect();
                match propagation {
                    Propagation::Background => {}
                    Propagation::Foreground => finalizers.push(FOREGROUND.to_owned()),
                    Propagation::Orphan => finalizers.push(ORPHAN.to_owned()),
                }
                object.set_finalizers(finalizers);
                object.set_meta_text("deletionTimestamp", "2026-11-16T00:00:00Z");
                self.keep(id, object);
            }
        }
    }

    /// Stores an object unless it goes and nothing holds it.
    fn keep(&mut self, id: Id, object: Object) {
        let in_spec = object.at(&["spec", "finalizers"]).and_then(Value::as_array);
        let is_held = object.finalizers().next().is_some() || in_spec.is_some();
        if object.deletion_timestamp().is_some() && !is_held {
            self.objects.remove(&id);
        } else {
            self.store(id, object);
        }
    }
}

/// The JSON merge patch between two values.
fn difference(before: &Value, now: &Value) -> Value {
    let (Value::Object(old), Value::Object(new)) = (before, now) else {
        return now.clone();
    };
    let mut changed = serde_json::Map::new();
    for (field, value) in new {
        match old.get(field) {
            Some(same) if same == value => {}
            Some(other) => drop(changed.insert(field.clone(), difference(other, value))),
            None => drop(changed.insert(field.clone(), value.clone())),
        }
    }
    for field in old.keys().filter(|field| !new.contains_key(*field)) {
        changed.insert(field.clone(), Value::Null);
    }
    changed.into()
}

impl ClusterView for Cluster {
    fn seen(&self) -> u64 {
        self.revision
    }

    fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    fn meta(&self, id: &Id) -> Option<Meta> {
        let stored = self.objects.get(id)?;
        Meta::read(&json::encode(stored.object.as_value()), stored.revision)
    }

    fn object(&self, id: &Id) -> Option<Stored> {
        self.objects.get(id).cloned()
    }

    fn keys(&self, resource: &Resource, namespace: Option<&str>) -> Vec<Arc<str>> {
        let all = self.objects.keys().filter(|id| id.resource == *resource);
        let inside = all.filter(|id| namespace.is_none() || id.namespace() == namespace);
        inside.map(|id| id.key.clone()).collect()
    }
}
