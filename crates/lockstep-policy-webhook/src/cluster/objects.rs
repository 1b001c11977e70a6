//! Objects of a cluster in memory, and the policies made of them.

use std::collections::BTreeMap;

use lockstep_object::Object;
use lockstep_write::offline::policies::{Unbound, Workspace, WorkspaceError};

use super::watch::Change;

/// Kind, namespace and name of an object.
pub(super) type Key = (String, String, String);

/// Objects by collection.
#[derive(Default)]
pub(super) struct Objects {
    /// None for collections that are not listed yet.
    collections: BTreeMap<usize, Option<BTreeMap<Key, Object>>>,
    /// Last valid states of policies and bindings.
    valid: BTreeMap<Key, Object>,
}

/// Policies of a state, and the policies that are not valid in it.
pub(super) struct Built {
    /// None if there is a problem that is not of one policy.
    pub(super) workspace: Option<Workspace>,
    pub(super) rejected: Vec<(String, String)>,
    /// Policies and bindings in force.
    pub(super) accepted: Vec<Object>,
}

/// A state of all collections, with the last valid states of its policies.
pub(super) struct Snapshot {
    objects: Vec<Object>,
    valid: BTreeMap<Key, Object>,
}

fn key(object: &Object) -> Key {
    let text = |text: &str| text.to_owned();
    (
        text(object.kind()),
        text(object.namespace()),
        text(object.name()),
    )
}

impl Objects {
    /// Adds a collection that is not listed yet.
    pub(super) fn expect(&mut self, collection: usize) {
        self.collections.entry(collection).or_default();
    }

    pub(super) fn apply(&mut self, change: Change) {
        match change {
            Change::Listed(collection, objects) => {
                let objects = objects.into_iter().map(|object| (key(&object), object));
                self.collections.insert(collection, Some(objects.collect()));
            }
            Change::Put(collection, object) => {
                if let Some(Some(objects)) = self.collections.get_mut(&collection) {
                    objects.insert(key(&object), *object);
                }
            }
            Change::Gone(collection, object) => {
                if let Some(Some(objects)) = self.collections.get_mut(&collection) {
                    objects.remove(&key(&object));
                }
            }
        }
    }

    /// Number of collections that are not listed yet; none if all are.
    pub(super) fn absent(&self) -> Option<usize> {
        let absent = self
            .collections
            .values()
            .filter(|objects| objects.is_none())
            .count();
        (absent > 0).then_some(absent)
    }

    pub(super) fn all(&self) -> Snapshot {
        let all = self
            .collections
            .values()
            .flatten()
            .flat_map(BTreeMap::values);
        Snapshot {
            objects: all.cloned().collect(),
            valid: self.valid.clone(),
        }
    }

    pub(super) fn accept(&mut self, accepted: Vec<Object>) {
        let accepted = accepted.into_iter().map(|object| (key(&object), object));
        self.valid = accepted.collect();
    }
}

/// Compiles the policies of a state. One that is not valid keeps its last valid state, or is left out.
pub(super) fn build(snapshot: Snapshot) -> Built {
    let Snapshot { mut objects, valid } = snapshot;
    let mut rejected = Vec::new();
    let mut is_fallback = vec![false; objects.len()];
    loop {
        let error = match Workspace::new(&objects, Unbound::Inert) {
            Ok(workspace) => {
                let is_policy = |object: &&Object| Workspace::is_policy(object);
                return Built {
                    accepted: objects.iter().filter(is_policy).cloned().collect(),
                    workspace: Some(workspace),
                    rejected,
                };
            }
            Err(error) => error,
        };
        let why = error.to_string();
        let WorkspaceError::Rejected(mut rejections) = error else {
            return unusable(&objects, rejected, error_subject(&error), why);
        };
        rejections.sort_by_key(|rejection| rejection.index);
        for rejection in rejections.iter().rev() {
            let index = rejection.index;
            let own = &objects[index];
            rejected.push((own.name().to_owned(), rejection.error.to_string()));
            match valid.get(&key(own)).filter(|_| !is_fallback[index]) {
                Some(last) => {
                    objects[index] = last.clone();
                    is_fallback[index] = true;
                }
                None => {
                    objects.remove(index);
                    is_fallback.remove(index);
                }
            }
        }
    }
}

/// A definition or parameter that cannot be used: the state before it stays in force.
fn unusable(
    objects: &[Object],
    mut rejected: Vec<(String, String)>,
    name: String,
    why: String,
) -> Built {
    rejected.push((name, why));
    let policies = objects.iter().filter(|object| Workspace::is_policy(object));
    Built {
        workspace: None,
        rejected,
        accepted: policies.cloned().collect(),
    }
}

fn error_subject(error: &WorkspaceError) -> String {
    match error {
        WorkspaceError::Definition { name, .. } | WorkspaceError::Malformed { name, .. } => {
            name.clone()
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn policy(name: &str, expression: &str) -> Object {
        let policy = json!({
            "apiVersion": "policy.lockstep.dev/v1", "kind": "ValidatingAdmissionPolicy",
            "metadata": { "name": name },
            "spec": {
                "matchConstraints": { "resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"],
                }] },
                "validations": [{ "expression": expression }],
            },
        });
        Object::from_value(policy).unwrap()
    }

    fn expressions(built: &Built) -> Vec<&str> {
        let policies = built.accepted.iter();
        let expressions = policies.map(|policy| policy.at(&["spec", "validations"]).unwrap());
        expressions
            .map(|all| all[0]["expression"].as_str().unwrap())
            .collect()
    }

    #[test]
    fn a_policy_that_becomes_invalid_keeps_its_last_valid_state() {
        let mut objects = Objects::default();
        objects.expect(0);
        assert_eq!(objects.absent(), Some(1));
        objects.apply(Change::Listed(
            0,
            vec![policy("a", "true"), policy("b", "nonsense")],
        ));
        assert_eq!(objects.absent(), None);
        let built = build(objects.all());
        assert_eq!(expressions(&built), ["true"]);
        assert_eq!(built.rejected.len(), 1);
        objects.accept(built.accepted);
        objects.apply(Change::Put(0, Box::new(policy("a", "nonsense"))));
        objects.apply(Change::Put(0, Box::new(policy("b", "1 == 1"))));
        let built = build(objects.all());
        assert_eq!(expressions(&built), ["true", "1 == 1"]);
        objects.accept(built.accepted);
        objects.apply(Change::Gone(0, Box::new(policy("a", "nonsense"))));
        assert_eq!(expressions(&build(objects.all())), ["1 == 1"]);
    }
}
