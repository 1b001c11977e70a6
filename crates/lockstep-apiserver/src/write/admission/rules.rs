//! Whether rules of webhooks and policies are about a write.

use lockstep_object::Value;

/// Everything, wherever a rule names groups, versions, resources or operations.
const ALL: &str = "*";

/// A write, as rules see it.
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
    /// Whether it is done in a namespace. Namespaces themselves are in none.
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
    /// Reads a rule that was stored.
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

    /// Whether it is about a write.
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

    /// `pods` is pods without their parts, `pods/*` both, `*` all resources without their parts.
    fn has_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|named| {
            let (own, part) = named.split_once('/').unwrap_or((named, ""));
            (own == ALL || own == resource) && (part == ALL || part == subresource)
        })
    }
}

fn has(items: &[String], asked: &str) -> bool {
    items.iter().any(|item| item == ALL || item == asked)
}
