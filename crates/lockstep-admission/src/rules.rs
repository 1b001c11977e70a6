//! Matching of webhook and policy `rules` against a write.

use lockstep_object::Value;

/// Wildcard for groups, versions, resources and operations.
const ALL: &str = "*";

/// Properties of a write that rules match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target<'a> {
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: &'a str,
    /// The group, empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The plural name.
    pub resource: &'a str,
    /// The subresource; or empty.
    pub subresource: &'a str,
    /// True for namespaced requests; false for Namespace objects themselves.
    pub is_namespaced: bool,
}

/// One of the `rules` of a webhook.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    scope: Scope,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scope {
    All,
    Cluster,
    Namespaced,
}

impl Rule {
    /// Parses a stored rule.
    pub fn read(rule: &Value) -> Self {
        let texts = |field: &str| {
            let items = rule[field].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Self {
            operations: texts("operations"),
            groups: texts("apiGroups"),
            versions: texts("apiVersions"),
            resources: texts("resources"),
            scope: match rule["scope"].as_str() {
                Some("Cluster") => Scope::Cluster,
                Some("Namespaced") => Scope::Namespaced,
                _ => Scope::All,
            },
        }
    }

    /// True if the rule matches the write.
    pub fn matches(&self, target: &Target<'_>) -> bool {
        let in_scope = match self.scope {
            Scope::All => true,
            Scope::Cluster => !target.is_namespaced,
            Scope::Namespaced => target.is_namespaced,
        };
        in_scope
            && has(&self.operations, target.operation)
            && has(&self.groups, target.group)
            && has(&self.versions, target.version)
            && self.has_resource(target.resource, target.subresource)
    }

    /// `pods` matches pods without subresources, `pods/*` pods with all of them, `*` all resources without
    /// subresources.
    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|named| {
            let (own, part) = named.split_once('/').unwrap_or((named, ""));
            (own == ALL || own == resource) && (part == ALL || part == subresource)
        })
    }
}

fn has(items: &[String], requested: &str) -> bool {
    items.iter().any(|item| item == ALL || item == requested)
}
