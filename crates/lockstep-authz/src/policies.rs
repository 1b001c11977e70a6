//! The authorizer: an index of all roles and bindings.

use crate::GROUP;
use crate::attributes::{Attributes, Decision};
use crate::binding::{Binding, RoleKind, RoleRef, Subject};
use crate::rule::PolicyRule;
use crate::user::User;
use lockstep_object::Object;
use lockstep_object::go::quote;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// All roles and bindings of a cluster. Clones share their contents.
#[derive(Debug, Clone, Default)]
pub struct Policies {
    /// By namespace; what belongs to the cluster has none.
    spaces: BTreeMap<Box<str>, Space>,
}

/// The roles and bindings of one namespace, or of the cluster.
#[derive(Debug, Clone, Default)]
struct Space {
    roles: BTreeMap<Box<str>, Arc<[PolicyRule]>>,
    bindings: BTreeMap<Box<str>, Arc<Binding>>,
    /// By the user a binding names; service accounts are users.
    by_user: Index,
    by_group: Index,
}

/// Names of bindings.
type Index = BTreeMap<Box<str>, BTreeSet<Box<str>>>;

enum Kind {
    Role,
    Binding,
}

/// The kind and namespace of a role or binding. The kind decides whether it is cluster-scoped, never an absent
/// namespace.
fn place(object: &Object) -> Option<(Kind, &str)> {
    match (object.kind(), object.namespace()) {
        ("ClusterRole", _) => Some((Kind::Role, "")),
        ("ClusterRoleBinding", _) => Some((Kind::Binding, "")),
        (_, "") => None,
        ("Role", namespace) => Some((Kind::Role, namespace)),
        ("RoleBinding", namespace) => Some((Kind::Binding, namespace)),
        _ => None,
    }
}

impl Policies {
    /// Adds or replaces a role or binding. Other kinds are ignored, and so are namespaced roles and bindings without a
    /// namespace.
    pub fn put(&mut self, object: &Object) {
        self.remove(object);
        let Some((kind, namespace)) = place(object) else {
            return;
        };
        let space = self.spaces.entry(namespace.into()).or_default();
        match kind {
            Kind::Role => {
                let rules = PolicyRule::all_of(object.as_value()).into();
                space.roles.insert(object.name().into(), rules);
            }
            Kind::Binding => {
                if let Some(binding) = Binding::new(namespace, object) {
                    space.bind(binding);
                }
            }
        }
    }

    /// Forgets a role or binding.
    pub fn remove(&mut self, object: &Object) {
        let Some((kind, namespace)) = place(object) else {
            return;
        };
        let Some(space) = self.spaces.get_mut(namespace) else {
            return;
        };
        match kind {
            Kind::Role => {
                space.roles.remove(object.name());
            }
            Kind::Binding => space.unbind(object.name()),
        }
        if space.roles.is_empty() && space.bindings.is_empty() {
            self.spaces.remove(namespace);
        }
    }

    /// Authorizes a request: allowed by the first rule, in the order of names, bindings of the cluster first.
    pub fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let Attributes { user, target, .. } = attributes;
        if user.is_master() {
            return Decision::allow("");
        }
        let mut missing = Vec::new();
        for (binding, subject) in self.bindings_of(user, target.namespace()) {
            match self.rules(&binding.role, &binding.namespace) {
                Some(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    return Decision::allow(binding.reason(subject));
                }
                Some(_) => {}
                None => missing.push(not_found(&binding.role)),
            }
        }
        missing.dedup();
        Decision::deny(match &missing[..] {
            [] => String::new(),
            [one] => format!("RBAC: {one}"),
            many => format!("RBAC: [{}]", many.join(", ")),
        })
    }

    /// All rules that apply to a user in a namespace; only cluster-wide ones if the namespace is empty.
    pub fn rules_for(&self, user: &User, namespace: &str) -> Vec<PolicyRule> {
        let bindings = self.bindings_of(user, namespace);
        let rules =
            bindings.filter_map(|(binding, _)| self.rules(&binding.role, &binding.namespace));
        rules.flatten().cloned().collect()
    }

    /// The rules of a role that a binding in a namespace refers to, if it exists.
    pub fn rules(&self, role: &RoleRef, binding_namespace: &str) -> Option<&[PolicyRule]> {
        let namespace = match role.kind {
            RoleKind::Role => binding_namespace,
            RoleKind::ClusterRole => "",
        };
        // A role without a namespace would be one of the cluster.
        if role.kind == RoleKind::Role && namespace.is_empty() {
            return None;
        }
        let roles = &self.spaces.get(namespace)?.roles;
        roles.get(&role.name).map(|rules| &**rules)
    }

    fn bindings_of<'a>(
        &'a self,
        user: &'a User,
        namespace: &str,
    ) -> impl Iterator<Item = (&'a Binding, &'a Subject)> {
        let own = if namespace.is_empty() {
            None
        } else {
            self.spaces.get(namespace)
        };
        let spaces = self.spaces.get("").into_iter().chain(own);
        let bindings = spaces.flat_map(|space| space.bindings_of(user));
        bindings.filter_map(|binding| Some((binding, binding.subject(user)?)))
    }
}

impl Space {
    fn bind(&mut self, binding: Binding) {
        for subject in &binding.subjects {
            if let Some((index, key)) = self.index(subject, &binding.namespace) {
                index.entry(key).or_default().insert(binding.name.clone());
            }
        }
        self.bindings
            .insert(binding.name.clone(), Arc::new(binding));
    }

    fn unbind(&mut self, name: &str) {
        let Some(binding) = self.bindings.remove(name) else {
            return;
        };
        for subject in &binding.subjects {
            let Some((index, key)) = self.index(subject, &binding.namespace) else {
                continue;
            };
            if let Some(names) = index.get_mut(&key) {
                names.remove(name);
                if names.is_empty() {
                    index.remove(&key);
                }
            }
        }
    }

    /// The index and key of a subject; none for a subject that cannot match any user.
    fn index(&mut self, subject: &Subject, namespace: &str) -> Option<(&mut Index, Box<str>)> {
        match subject {
            Subject::Group(name) => Some((&mut self.by_group, name.clone())),
            other => Some((&mut self.by_user, other.user_name(namespace)?)),
        }
    }

    /// The bindings of a user, in the order of names.
    fn bindings_of<'a>(&'a self, user: &User) -> impl Iterator<Item = &'a Binding> + use<'a> {
        let of_groups = user
            .groups
            .iter()
            .filter_map(|group| self.by_group.get(group.as_str()));
        let names = self
            .by_user
            .get(user.name.as_str())
            .into_iter()
            .chain(of_groups)
            .flatten();
        let names: BTreeSet<&'a str> = names.map(|name| &**name).collect();
        names
            .into_iter()
            .filter_map(|name| self.bindings.get(name).map(|binding| &**binding))
    }
}

/// Error message for a binding whose role does not exist.
pub(crate) fn not_found(role: &RoleRef) -> String {
    let resource = role.kind.as_str().to_lowercase();
    format!("{resource}.{GROUP} {} not found", quote(&role.name))
}
