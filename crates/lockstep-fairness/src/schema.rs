//! Flow schemas, from their stored objects, and the requests that they match.

use lockstep_authz::{Attributes, Target, User};
use lockstep_object::{Object, Value};

use crate::{CATCH_ALL, EXEMPT};

/// Precedence of a schema that names none.
const PRECEDENCE_DEFAULT: i64 = 1_000;
const ALL: &str = "*";
const ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A `FlowSchema`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlowSchema {
    /// Name of the object.
    pub name: String,
    /// UID of the object; empty for a mandatory schema without one.
    pub uid: String,
    /// Name of the priority level of its requests.
    pub level: String,
    /// Schemas with a lower number are asked first.
    pub precedence: i64,
    /// Property that tells the flows of the schema apart; none means one flow.
    pub distinguisher: Option<Distinguisher>,
    rules: Vec<Rule>,
}

/// Property that tells the flows of a schema apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Distinguisher {
    /// The user.
    ByUser,
    /// The namespace of the request.
    ByNamespace,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    subjects: Vec<Subject>,
    resources: Vec<ResourceRule>,
    paths: Vec<PathRule>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Subject {
    User(String),
    Group(String),
    Account { namespace: String, name: String },
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct ResourceRule {
    verbs: Names,
    groups: Names,
    resources: Names,
    namespaces: Names,
    is_cluster_scope: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct PathRule {
    verbs: Names,
    paths: Vec<String>,
}

/// Names that a rule lists, or all names for `*`.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Names {
    All,
    Only(Vec<String>),
}

impl FlowSchema {
    /// Reads a schema. None if it names no level.
    pub fn parse(object: &Object) -> Option<Self> {
        let spec = object.at(&["spec"])?;
        let level = spec.get("priorityLevelConfiguration")?;
        let distinguisher = spec.get("distinguisherMethod");
        let distinguisher = distinguisher.and_then(|method| match text(method, "type") {
            "ByUser" => Some(Distinguisher::ByUser),
            "ByNamespace" => Some(Distinguisher::ByNamespace),
            _ => None,
        });
        let precedence = spec.get("matchingPrecedence").and_then(Value::as_i64);
        Some(Self {
            name: object.name().to_owned(),
            uid: object.uid().to_owned(),
            level: level.get("name")?.as_str()?.to_owned(),
            precedence: precedence.unwrap_or(PRECEDENCE_DEFAULT),
            distinguisher,
            rules: list(spec, "rules").iter().map(Rule::parse).collect(),
        })
    }

    /// True if one of the rules has a subject that is the user and a rule that is the request.
    pub fn matches(&self, request: &Attributes<'_>) -> bool {
        self.rules.iter().any(|rule| rule.matches(request))
    }

    /// Text that tells the flow of a request from other flows of this schema.
    pub fn distinguish<'a>(&self, request: &Attributes<'a>) -> &'a str {
        match (self.distinguisher, request.target) {
            (Some(Distinguisher::ByUser), _) => &request.user.name,
            (Some(Distinguisher::ByNamespace), Target::Resource { namespace, .. }) => namespace,
            _ => "",
        }
    }

    /// The schema that is in force while no object has its name.
    pub(crate) fn mandatory_exempt() -> Self {
        Self::mandatory(EXEMPT, 1, None, &["system:masters"])
    }

    /// The schema that is in force while no object has its name.
    pub(crate) fn mandatory_catch_all() -> Self {
        let groups = ["system:unauthenticated", "system:authenticated"];
        Self::mandatory(CATCH_ALL, 10_000, Some(Distinguisher::ByUser), &groups)
    }

    fn mandatory(
        name: &str,
        precedence: i64,
        distinguisher: Option<Distinguisher>,
        groups: &[&str],
    ) -> Self {
        let subjects = groups
            .iter()
            .map(|group| Subject::Group((*group).to_owned()));
        Self {
            name: name.to_owned(),
            uid: String::new(),
            level: name.to_owned(),
            precedence,
            distinguisher,
            rules: vec![Rule {
                subjects: subjects.collect(),
                resources: vec![ResourceRule {
                    verbs: Names::All,
                    groups: Names::All,
                    resources: Names::All,
                    namespaces: Names::All,
                    is_cluster_scope: true,
                }],
                paths: vec![PathRule {
                    verbs: Names::All,
                    paths: vec![ALL.to_owned()],
                }],
            }],
        }
    }
}

impl Rule {
    fn parse(value: &Value) -> Self {
        let subjects = list(value, "subjects").iter();
        let resources = list(value, "resourceRules").iter();
        let paths = list(value, "nonResourceRules").iter();
        Self {
            subjects: subjects.filter_map(Subject::parse).collect(),
            resources: resources.map(ResourceRule::parse).collect(),
            paths: paths.map(PathRule::parse).collect(),
        }
    }

    fn matches(&self, request: &Attributes<'_>) -> bool {
        self.subjects.iter().any(|subject| subject.is(request.user))
            && match request.target {
                Target::Path(path) => {
                    let mut rules = self.paths.iter();
                    rules.any(|rule| rule.verbs.contain(request.verb) && rule.has(path))
                }
                Target::Resource { .. } => self.resources.iter().any(|rule| rule.matches(request)),
            }
    }
}

impl Subject {
    fn parse(value: &Value) -> Option<Self> {
        let kind = text(value, "kind");
        let field = |part: &str, field: &str| Some(text(value.get(part)?, field).to_owned());
        Some(match kind {
            "User" => Self::User(field("user", "name")?),
            "Group" => Self::Group(field("group", "name")?),
            "ServiceAccount" => Self::Account {
                namespace: field("serviceAccount", "namespace")?,
                name: field("serviceAccount", "name")?,
            },
            _ => return None,
        })
    }

    fn is(&self, user: &User) -> bool {
        match self {
            Self::User(name) => name == ALL || *name == user.name,
            Self::Group(name) => name == ALL || user.is_in(name),
            Self::Account { namespace, name } => {
                let account = user.name.strip_prefix(ACCOUNT_PREFIX);
                let account = account.and_then(|account| account.split_once(':'));
                account.is_some_and(|(of, known)| of == namespace && (name == ALL || known == name))
            }
        }
    }
}

impl ResourceRule {
    fn parse(value: &Value) -> Self {
        let is_cluster_scope = value.get("clusterScope").and_then(Value::as_bool);
        Self {
            verbs: Names::parse(value, "verbs"),
            groups: Names::parse(value, "apiGroups"),
            resources: Names::parse(value, "resources"),
            namespaces: Names::parse(value, "namespaces"),
            is_cluster_scope: is_cluster_scope.unwrap_or(false),
        }
    }

    fn matches(&self, request: &Attributes<'_>) -> bool {
        let Target::Resource {
            group,
            namespace,
            resource,
            subresource,
            ..
        } = request.target
        else {
            return false;
        };
        self.verbs.contain(request.verb)
            && self.groups.contain(group)
            && self.resources.contain_resource(resource, subresource)
            && if namespace.is_empty() {
                self.is_cluster_scope
            } else {
                self.namespaces.contain(namespace)
            }
    }
}

impl PathRule {
    fn parse(value: &Value) -> Self {
        let paths = list(value, "nonResourceURLs").iter();
        let paths = paths.filter_map(Value::as_str).map(str::to_owned);
        Self {
            verbs: Names::parse(value, "verbs"),
            paths: paths.collect(),
        }
    }

    /// True for a path that is listed or below a listed one: `/healthz` and `/healthz/*` both have `/healthz/ping`.
    fn has(&self, path: &str) -> bool {
        self.paths.iter().any(|listed| {
            let prefix = listed.strip_suffix('*').unwrap_or(listed);
            let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
            let below = path.strip_prefix(prefix);
            listed == ALL || listed == path || below.is_some_and(|below| below.starts_with('/'))
        })
    }
}

impl Names {
    fn parse(value: &Value, field: &str) -> Self {
        match list(value, field) {
            [one] if one == ALL => Self::All,
            names => {
                let names = names.iter().filter_map(Value::as_str);
                Self::Only(names.map(str::to_owned).collect())
            }
        }
    }

    fn contain(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|known| known == name),
        }
    }

    fn contain_resource(&self, resource: &str, subresource: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) if subresource.is_empty() => {
                names.iter().any(|name| name == resource)
            }
            Self::Only(names) => {
                let mut pairs = names.iter().filter_map(|name| name.split_once('/'));
                pairs.any(|pair| pair == (resource, subresource))
            }
        }
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}
