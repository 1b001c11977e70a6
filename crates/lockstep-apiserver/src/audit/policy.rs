//! `audit.k8s.io/v1` policies: the audit level of each request. The first matching rule applies.

use serde_json::Value;

use crate::authn::User;
use crate::request::{RequestInfo, ResourcePath};

/// Audit level of a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Level {
    /// No event.
    #[default]
    None,
    /// Metadata: user, verb, resource and response code.
    Metadata,
    /// Metadata and the request body.
    Request,
    /// Metadata and both bodies.
    RequestResponse,
}

impl Level {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Level::None => "None",
            Level::Metadata => "Metadata",
            Level::Request => "Request",
            Level::RequestResponse => "RequestResponse",
        }
    }
}

/// Stage of a request at which an event is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    RequestReceived,
    ResponseStarted,
    ResponseComplete,
    Panic,
}

impl Stage {
    const ALL: [Stage; 4] = [
        Stage::RequestReceived,
        Stage::ResponseStarted,
        Stage::ResponseComplete,
        Stage::Panic,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        }
    }
}

/// All errors in a policy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("audit policy: {}", .0.join("; "))]
pub struct PolicyError(pub Vec<String>);

/// Audit policy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    omit_stages: Vec<Stage>,
    omit_managed_fields: bool,
    rules: Vec<Rule>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Rule {
    level: Level,
    users: Vec<String>,
    groups: Vec<String>,
    verbs: Vec<String>,
    resources: Vec<GroupResources>,
    namespaces: Option<Vec<String>>,
    paths: Vec<String>,
    omit_stages: Vec<Stage>,
    omit_managed_fields: Option<bool>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct GroupResources {
    group: String,
    resources: Vec<String>,
    names: Vec<String>,
}

/// Effective level, omitted stages and options for one request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Decision {
    pub(crate) level: Level,
    pub(crate) omit_stages: Vec<Stage>,
    pub(crate) omit_managed_fields: bool,
}

impl Policy {
    /// Parses a policy document; the error lists all problems.
    pub fn read(document: &Value) -> Result<Self, PolicyError> {
        let mut reader = Reader::default();
        let policy = reader.policy(document);
        if reader.errors.is_empty() {
            Ok(policy)
        } else {
            Err(PolicyError(reader.errors))
        }
    }

    /// Audit level of a request.
    pub fn level(&self, user: &User, info: &RequestInfo) -> Level {
        self.decide(user, info).level
    }

    /// Effective settings for a request.
    pub(crate) fn decide(&self, user: &User, info: &RequestInfo) -> Decision {
        let rule = self.rules.iter().find(|rule| rule.matches(user, info));
        let own: &[Stage] = rule.map_or(&[], |rule| &rule.omit_stages);
        let omit_managed_fields = rule.and_then(|rule| rule.omit_managed_fields);
        Decision {
            level: rule.map_or(Level::None, |rule| rule.level),
            omit_stages: [&self.omit_stages[..], own].concat(),
            omit_managed_fields: omit_managed_fields.unwrap_or(self.omit_managed_fields),
        }
    }
}

impl Rule {
    fn matches(&self, user: &User, info: &RequestInfo) -> bool {
        let any =
            |names: &[String], name: &str| names.is_empty() || names.iter().any(|one| one == name);
        let in_group = self.groups.is_empty() || self.groups.iter().any(|group| user.is_in(group));
        if !any(&self.users, &user.name) || !in_group || !any(&self.verbs, &info.verb) {
            return false;
        }
        match &info.resource {
            _ if self.resources.is_empty()
                && self.namespaces.is_none()
                && self.paths.is_empty() =>
            {
                true
            }
            Some(resource) if !self.resources.is_empty() || self.namespaces.is_some() => {
                self.matches_resource(resource)
            }
            None => self.paths.iter().any(|rule| covers(rule, &info.path)),
            Some(_) => false,
        }
    }

    fn matches_resource(&self, path: &ResourcePath) -> bool {
        let namespaces = self.namespaces.as_ref();
        let inside = namespaces.is_none_or(|names| names.contains(&path.namespace));
        inside && (self.resources.is_empty() || self.resources.iter().any(|one| one.matches(path)))
    }
}

impl GroupResources {
    fn matches(&self, path: &ResourcePath) -> bool {
        let ResourcePath {
            resource,
            subresource,
            ..
        } = path;
        let named = |rule: &String| match rule.split_once('/') {
            None if rule == "*" => true,
            None => rule == resource && subresource.is_empty(),
            Some(("*", sub)) => sub == subresource,
            Some((own, "*")) => own == resource,
            Some((own, sub)) => own == resource && sub == subresource,
        };
        let one_of = self.names.is_empty() || self.names.contains(&path.name);
        self.group == path.group
            && one_of
            && (self.resources.is_empty() || self.resources.iter().any(named))
    }
}

fn covers(rule: &str, path: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == rule,
    }
}

/// Parser of policies that collects errors by field.
#[derive(Default)]
struct Reader {
    errors: Vec<String>,
}

impl Reader {
    fn policy(&mut self, document: &Value) -> Policy {
        let known = [
            "apiVersion",
            "kind",
            "metadata",
            "omitManagedFields",
            "omitStages",
            "rules",
        ];
        self.refuse_unknown("", document, &known);
        for (key, expected) in [("apiVersion", "audit.k8s.io/v1"), ("kind", "Policy")] {
            if document[key] != expected {
                self.errors.push(format!("{key}: expected `{expected}`"));
            }
        }
        let rules = self.list("rules", &document["rules"]);
        if rules.is_empty() {
            self.errors
                .push("rules: at least one rule is needed".to_owned());
        }
        let rules = rules.iter().enumerate();
        Policy {
            omit_stages: self.stages("omitStages", &document["omitStages"]),
            omit_managed_fields: self
                .boolean("omitManagedFields", &document["omitManagedFields"])
                .unwrap_or(false),
            rules: rules
                .map(|(at, rule)| self.rule(&format!("rules[{at}]"), rule))
                .collect(),
        }
    }

    fn rule(&mut self, at: &str, rule: &Value) -> Rule {
        let known = [
            "level",
            "users",
            "userGroups",
            "verbs",
            "resources",
            "namespaces",
            "nonResourceURLs",
            "omitStages",
            "omitManagedFields",
        ];
        self.refuse_unknown(at, rule, &known);
        let field = |key: &str| (format!("{at}.{key}"), &rule[key]);
        let mut texts = |key: &str| {
            let (at, value) = field(key);
            self.texts(&at, value)
        };
        let (users, groups, verbs) = (texts("users"), texts("userGroups"), texts("verbs"));
        let (namespaces, paths) = (texts("namespaces"), texts("nonResourceURLs"));
        let (at_resources, resources) = field("resources");
        let resources = self.list(&at_resources, resources);
        if !paths.is_empty() && (!resources.is_empty() || !namespaces.is_empty()) {
            self.errors.push(format!("{at}.nonResourceURLs: rules cannot apply to both regular resources and non-resource URLs"));
        }
        let resources = resources.iter().enumerate();
        Rule {
            level: self.level(&format!("{at}.level"), &rule["level"]),
            users,
            groups,
            verbs,
            namespaces: (!namespaces.is_empty()).then_some(namespaces),
            paths,
            resources: resources
                .map(|(index, one)| self.group(&format!("{at_resources}[{index}]"), one))
                .collect(),
            omit_stages: self.stages(&format!("{at}.omitStages"), &rule["omitStages"]),
            omit_managed_fields: self.boolean(
                &format!("{at}.omitManagedFields"),
                &rule["omitManagedFields"],
            ),
        }
    }

    fn group(&mut self, at: &str, value: &Value) -> GroupResources {
        self.refuse_unknown(at, value, &["group", "resources", "resourceNames"]);
        let group = match &value["group"] {
            Value::Null => String::new(),
            Value::String(group) => group.clone(),
            _ => {
                self.errors.push(format!("{at}.group: expected a text"));
                String::new()
            }
        };
        GroupResources {
            group,
            resources: self.texts(&format!("{at}.resources"), &value["resources"]),
            names: self.texts(&format!("{at}.resourceNames"), &value["resourceNames"]),
        }
    }

    fn level(&mut self, at: &str, value: &Value) -> Level {
        let levels = [
            Level::None,
            Level::Metadata,
            Level::Request,
            Level::RequestResponse,
        ];
        let found = levels.into_iter().find(|level| value == level.name());
        found.unwrap_or_else(|| {
            self.errors.push(format!(
                "{at}: expected `None`, `Metadata`, `Request` or `RequestResponse`"
            ));
            Level::None
        })
    }

    fn stages(&mut self, at: &str, value: &Value) -> Vec<Stage> {
        let mut found = Vec::new();
        for name in self.texts(at, value) {
            match Stage::ALL.into_iter().find(|stage| stage.name() == name) {
                Some(stage) => found.push(stage),
                None => self.errors.push(format!("{at}: `{name}` is not a stage")),
            }
        }
        found
    }

    fn boolean(&mut self, at: &str, value: &Value) -> Option<bool> {
        if !value.is_null() && !value.is_boolean() {
            self.errors.push(format!("{at}: expected a boolean"));
        }
        value.as_bool()
    }

    fn list<'a>(&mut self, at: &str, value: &'a Value) -> &'a [Value] {
        match value {
            Value::Null => &[],
            Value::Array(items) => items,
            _ => {
                self.errors.push(format!("{at}: expected a list"));
                &[]
            }
        }
    }

    fn texts(&mut self, at: &str, value: &Value) -> Vec<String> {
        let mut texts = Vec::new();
        for (index, item) in self.list(at, value).iter().enumerate() {
            match item {
                Value::String(text) => texts.push(text.clone()),
                _ => self.errors.push(format!("{at}[{index}]: expected a text")),
            }
        }
        texts
    }

    /// Rejects unknown fields: a misspelt selector would otherwise match more requests than intended.
    fn refuse_unknown(&mut self, at: &str, value: &Value, known: &[&str]) {
        let Value::Object(fields) = value else {
            self.errors.push(format!(
                "{}: expected a map",
                if at.is_empty() { "document" } else { at }
            ));
            return;
        };
        let dot = if at.is_empty() { "" } else { "." };
        let unknown = fields.keys().filter(|key| !known.contains(&key.as_str()));
        self.errors
            .extend(unknown.map(|key| format!("{at}{dot}{key}: unknown field")));
    }
}
