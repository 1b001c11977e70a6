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
    /// The name in the request; empty if it is generated.
    pub name: &'a str,
    /// True for namespaced requests; false for Namespace objects themselves.
    pub is_namespaced: bool,
}

/// One of the `rules` of a webhook, or of the `resourceRules` of a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    resources: Vec<String>,
    /// `resourceNames`; empty for all names. Webhooks have none.
    names: Vec<String>,
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
            names: texts("resourceNames"),
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
        let is_named = self.names.is_empty() || self.names.iter().any(|name| name == target.name);
        in_scope
            && is_named
            && has(&self.operations, target.operation)
            && has(&self.groups, target.group)
            && has(&self.versions, target.version)
            && self.has_resource(target.resource, target.subresource)
    }

    /// Pairs of group and resource that the rule names, each possibly `*`.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &str)> {
        let plural = |named: &'_ String| -> usize { named.find('/').unwrap_or(named.len()) };
        self.groups.iter().flat_map(move |group| {
            let resources = self.resources.iter();
            resources.map(move |named| (&**group, &named[..plural(named)]))
        })
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

/// `matchPolicy`: versions of a resource that rules match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchPolicy {
    /// Only the versions that rules name.
    Exact,
    /// Also equivalent versions and resources.
    Equivalent,
}

impl MatchPolicy {
    /// Reads a stored `matchPolicy`, whose default is `Equivalent`.
    pub fn read(text: &Value) -> Self {
        match text.as_str() {
            Some("Exact") => Self::Exact,
            _ => Self::Equivalent,
        }
    }
}

/// The version of a resource that rules match.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchedVersion {
    /// The version in the request.
    Requested,
    /// The equivalent version with this index.
    Equivalent(usize),
}

/// The version that rules match: the requested one, else the equivalent one that the first matching rule selects.
pub fn matched_version<'t>(
    rules: &[Rule],
    policy: MatchPolicy,
    requested: &Target<'_>,
    equivalents: impl FnOnce() -> Vec<Target<'t>>,
) -> Option<MatchedVersion> {
    if rules.iter().any(|rule| rule.matches(requested)) {
        return Some(MatchedVersion::Requested);
    }
    if policy == MatchPolicy::Exact || rules.is_empty() {
        return None;
    }
    let equivalents = equivalents();
    let of_rule = |rule: &Rule| equivalents.iter().position(|target| rule.matches(target));
    rules
        .iter()
        .find_map(of_rule)
        .map(MatchedVersion::Equivalent)
}

fn has(items: &[String], requested: &str) -> bool {
    items.iter().any(|item| item == ALL || item == requested)
}
