//! Default roles and bindings of every cluster, as a table of the upstream ones.
//!
//! They are stored like all others, so that administrators can inspect and extend them. Each start adds missing rules
//! and subjects ([`reconciled`]) and removes none.

mod components;
mod controllers;
mod people;
mod reconcile;

use crate::aggregated_rules;
use crate::rule::PolicyRule;
use lockstep_object::Object;
use serde_json::{Map, Value, json};

pub use reconcile::{Reconciled, reconciled};

/// Annotation of objects that are reconciled at each start; `false` opts a stored object out.
pub const AUTO_UPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";
const BOOTSTRAPPING: (&str, &str) = ("kubernetes.io/bootstrapping", "rbac-defaults");
/// Label prefix for aggregation; the name of the aggregating role follows.
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";
/// The core group in the tables, where an empty string would be easy to overlook.
const CORE: &str = "core";

/// A role and who has it. Lists are separated by spaces.
struct Row {
    /// Empty for a role of the cluster.
    namespace: &'static str,
    name: &'static str,
    rules: &'static [Rule],
    /// The role that aggregates this one.
    gathered_by: &'static str,
    /// True for an aggregating role.
    aggregates: bool,
    bound: Bound,
}

/// The default binding of a role.
struct Bound {
    /// Name of the binding if it differs from the role's, or if it has no subjects.
    name: &'static str,
    users: &'static str,
    groups: &'static str,
    /// Service accounts of `kube-system`.
    accounts: &'static str,
}

/// A rule; either resources or paths are empty.
struct Rule {
    verbs: &'static str,
    groups: &'static str,
    resources: &'static str,
    names: &'static str,
    paths: &'static str,
}

const UNBOUND: Bound = Bound {
    name: "",
    users: "",
    groups: "",
    accounts: "",
};

const ROLE: Row = Row {
    namespace: "",
    name: "",
    rules: &[],
    gathered_by: "",
    aggregates: false,
    bound: UNBOUND,
};

/// May write events, as nearly every component does.
const EVENTS: Rule = rule("create patch update", "core events.k8s.io", "events");
const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";

const fn rule(verbs: &'static str, groups: &'static str, resources: &'static str) -> Rule {
    Rule {
        verbs,
        groups,
        resources,
        names: "",
        paths: "",
    }
}

const fn named(
    verbs: &'static str,
    groups: &'static str,
    resources: &'static str,
    names: &'static str,
) -> Rule {
    Rule {
        names,
        ..rule(verbs, groups, resources)
    }
}

const fn paths(verbs: &'static str, paths: &'static str) -> Rule {
    Rule {
        paths,
        ..rule(verbs, "", "")
    }
}

const fn users(users: &'static str) -> Bound {
    Bound { users, ..UNBOUND }
}

const fn groups(groups: &'static str) -> Bound {
    Bound { groups, ..UNBOUND }
}

/// All roles, then all bindings, complete but for uid and time. Roles that gather others have their rules already.
pub fn default_objects() -> Vec<Object> {
    let rows = || people::ROWS.iter().chain(components::ROWS);
    let rows = || rows().chain(components::ROLES).chain(controllers::ROWS);
    let mut roles: Vec<Object> = rows().map(Row::role).collect();
    gather(&mut roles);
    let bindings = rows().filter_map(Row::binding);
    let controllers = controllers::ROWS.iter().map(controllers::binding);
    roles
        .into_iter()
        .chain(bindings)
        .chain(controllers)
        .collect()
}

/// Fills roles that gather others, which may gather others too.
fn gather(roles: &mut [Object]) {
    loop {
        let gathered: Vec<(usize, Vec<Value>)> = roles
            .iter()
            .enumerate()
            .filter_map(|(at, role)| Some((at, aggregated_rules(role, &*roles)?)))
            .filter(|(at, rules)| {
                roles[*at].at(&["rules"]).and_then(Value::as_array) != Some(rules)
            })
            .collect();
        if gathered.is_empty() {
            return;
        }
        for (at, rules) in gathered {
            roles[at]
                .fields_mut()
                .insert("rules".to_owned(), rules.into());
        }
    }
}

fn words(list: &str) -> impl Iterator<Item = &str> {
    list.split(' ').filter(|word| !word.is_empty())
}

fn object(kind: &str, namespace: &str, name: &str) -> Map<String, Value> {
    let (label, value) = BOOTSTRAPPING;
    let mut metadata = json!({
        "name": name,
        "annotations": { AUTO_UPDATE: "true" },
        "labels": { label: value },
    });
    if !namespace.is_empty() {
        metadata["namespace"] = namespace.into();
    }
    let mut fields = Map::new();
    fields.insert(
        "apiVersion".to_owned(),
        format!("{}/v1", crate::GROUP).into(),
    );
    fields.insert("kind".to_owned(), kind.into());
    fields.insert("metadata".to_owned(), metadata);
    fields
}

impl Row {
    fn kind(&self) -> &'static str {
        if self.namespace.is_empty() {
            "ClusterRole"
        } else {
            "Role"
        }
    }

    fn role(&self) -> Object {
        let mut fields = object(self.kind(), self.namespace, self.name);
        if !self.gathered_by.is_empty() {
            let label = format!("{AGGREGATE_TO}{}", self.gathered_by);
            fields["metadata"]["labels"][label] = "true".into();
        }
        if self.aggregates {
            let label = format!("{AGGREGATE_TO}{}", self.name);
            let selector = json!({ "matchLabels": { label: "true" } });
            let aggregation = json!({ "clusterRoleSelectors": [selector] });
            fields.insert("aggregationRule".to_owned(), aggregation);
        }
        let rules = self.rules.iter().map(|rule| rule.policy().to_value());
        fields.insert("rules".to_owned(), rules.collect());
        Object::from_map(fields)
    }

    fn binding(&self) -> Option<Object> {
        let Bound {
            name,
            users,
            groups,
            accounts,
        } = self.bound;
        let person = |kind: &'static str| move |name: &str| json!({ "kind": kind, "apiGroup": crate::GROUP, "name": name });
        let subjects: Vec<Value> = words(users)
            .map(person("User"))
            .chain(words(groups).map(person("Group")))
            .chain(words(accounts).map(account))
            .collect();
        match (name, subjects.is_empty()) {
            ("", true) => None,
            ("", false) => Some(bind(self, self.name, subjects)),
            (name, _) => Some(bind(self, name, subjects)),
        }
    }
}

fn account(name: &str) -> Value {
    json!({ "kind": "ServiceAccount", "name": name, "namespace": "kube-system" })
}

fn bind(role: &Row, name: &str, subjects: Vec<Value>) -> Object {
    let kind = format!("{}Binding", role.kind());
    let mut fields = object(&kind, role.namespace, name);
    let role_ref = json!({ "apiGroup": crate::GROUP, "kind": role.kind(), "name": role.name });
    fields.insert("roleRef".to_owned(), role_ref);
    if !subjects.is_empty() {
        fields.insert("subjects".to_owned(), subjects.into());
    }
    Object::from_map(fields)
}

impl Rule {
    fn policy(&self) -> PolicyRule {
        let texts = |list: &str| words(list).map(Into::into).collect::<Vec<Box<str>>>();
        let group = |name: &str| if name == CORE { "".into() } else { name.into() };
        PolicyRule {
            verbs: texts(self.verbs),
            api_groups: words(self.groups).map(group).collect(),
            resources: texts(self.resources),
            resource_names: texts(self.names),
            non_resource_urls: texts(self.paths),
        }
    }
}
