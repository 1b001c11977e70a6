//! Policy rules: matching of requests, and coverage of other rules.

use crate::attributes::{Attributes, Target};
use lockstep_object::go::quote;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// One rule of a role. Everything in it is allowed together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyRule {
    /// Verbs; `*` is all.
    pub verbs: Vec<Box<str>>,
    /// API groups; `*` is all, the empty one is core.
    pub api_groups: Vec<Box<str>>,
    /// Resources, `resource/subresource`, `*/subresource`; `*` is all, subresources too.
    pub resources: Vec<Box<str>>,
    /// Names; none is all.
    pub resource_names: Vec<Box<str>>,
    /// Paths; a `*` at the end is anything.
    pub non_resource_urls: Vec<Box<str>>,
}

impl PolicyRule {
    /// Reads a rule of a role; list items that are not strings are skipped.
    pub fn from_value(rule: &Value) -> Self {
        let texts = |field: &str| {
            let list = rule
                .get(field)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            list.filter_map(Value::as_str).map(Into::into).collect()
        };
        Self {
            verbs: texts("verbs"),
            api_groups: texts("apiGroups"),
            resources: texts("resources"),
            resource_names: texts("resourceNames"),
            non_resource_urls: texts("nonResourceURLs"),
        }
    }

    /// Reads the rules of a role.
    pub fn all_of(role: &Value) -> Vec<Self> {
        let rules = role
            .get("rules")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        rules.map(Self::from_value).collect()
    }

    /// The wire form of the rule, without empty fields.
    pub fn to_value(&self) -> Value {
        let fields = [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ];
        let given = fields.into_iter().filter(|(_, texts)| !texts.is_empty());
        given
            .map(|(field, texts)| (field.to_owned(), json!(texts)))
            .collect()
    }

    /// True if the rule allows a request.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, attributes.verb) {
            return false;
        }
        match attributes.target {
            Target::Path(path) => self
                .non_resource_urls
                .iter()
                .any(|url| url_covers(url, path)),
            Target::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has_or_all(&self.api_groups, group)
                    && self
                        .resources
                        .iter()
                        .any(|known| resource_covers(known, resource, subresource))
                    && (self.resource_names.is_empty() || has(&self.resource_names, name))
            }
        }
    }

    /// The rule as rules of one group, resource, verb and name each.
    fn parts(&self) -> Vec<Self> {
        let one = |text: &str| -> Vec<Box<str>> { vec![text.into()] };
        let mut parts = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let part = Self {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.resource_names.is_empty() {
                        parts.push(part);
                        continue;
                    }
                    parts.extend(self.resource_names.iter().map(|name| Self {
                        resource_names: one(name),
                        ..part.clone()
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            parts.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                non_resource_urls: one(url),
                ..Self::default()
            }));
        }
        parts
    }

    /// True if this rule allows everything that a breakdown part allows.
    fn covers(&self, part: &Self) -> bool {
        let names = self.resource_names.is_empty()
            || (!part.resource_names.is_empty()
                && has_all(&self.resource_names, &part.resource_names));
        let resources = part.resources.iter().all(|wanted| {
            let (resource, subresource) = wanted.split_once('/').unwrap_or((wanted, ""));
            self.resources
                .iter()
                .any(|known| resource_covers(known, resource, subresource))
        });
        let urls = part.non_resource_urls.iter().all(|wanted| {
            self.non_resource_urls
                .iter()
                .any(|known| url_covers(known, wanted))
        });
        names
            && resources
            && urls
            && (has(&self.verbs, "*") || has_all(&self.verbs, &part.verbs))
            && (has(&self.api_groups, "*") || has_all(&self.api_groups, &part.api_groups))
    }
}

fn has(texts: &[Box<str>], wanted: &str) -> bool {
    texts.iter().any(|text| **text == *wanted)
}

fn has_or_all(texts: &[Box<str>], wanted: &str) -> bool {
    texts
        .iter()
        .any(|text| matches!(&**text, "*") || **text == *wanted)
}

fn has_all(texts: &[Box<str>], wanted: &[Box<str>]) -> bool {
    wanted.iter().all(|wanted| has(texts, wanted))
}

fn resource_covers(known: &str, resource: &str, subresource: &str) -> bool {
    match (known, known.split_once('/')) {
        ("*", _) => true,
        (_, None) => subresource.is_empty() && known == resource,
        (_, Some(("*", sub))) => !subresource.is_empty() && sub == subresource,
        (_, Some((known, sub))) => {
            known == resource && sub == subresource && !subresource.is_empty()
        }
    }
}

fn url_covers(known: &str, wanted: &str) -> bool {
    known == wanted || (known.ends_with('*') && wanted.starts_with(known.trim_end_matches('*')))
}

/// Breaks `wanted` down to one group, resource, verb and name per part, and returns the parts that `held` does not
/// cover.
pub fn uncovered(held: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    let parts = wanted.iter().flat_map(PolicyRule::parts);
    parts
        .filter(|part| !held.iter().any(|rule| rule.covers(part)))
        .collect()
}

/// Merges parts that differ only in their verbs, to shorten error messages.
pub(crate) fn compact(parts: Vec<PolicyRule>) -> Vec<PolicyRule> {
    let mut joined: BTreeMap<[Vec<Box<str>>; 3], PolicyRule> = BTreeMap::new();
    let mut rest = Vec::new();
    for part in parts {
        if part.resources.is_empty() {
            rest.push(part);
            continue;
        }
        let key = [
            part.api_groups.clone(),
            part.resources.clone(),
            part.resource_names.clone(),
        ];
        match joined.get_mut(&key) {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => {
                joined.insert(key, part);
            }
        }
    }
    rest.extend(joined.into_values());
    rest
}

impl fmt::Display for PolicyRule {
    /// `{APIGroups:["ex.io"], Resources:["widgets"], Verbs:["get" "list"]}`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let given = fields.into_iter().filter(|(_, texts)| !texts.is_empty());
        let shown: Vec<String> = given
            .map(|(name, texts)| format!("{name}:{}", quoted_list(texts)))
            .collect();
        write!(f, "{{{}}}", shown.join(", "))
    }
}

/// A list as Go's `%q` prints it.
pub(crate) fn quoted_list(texts: &[impl AsRef<str>]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}
