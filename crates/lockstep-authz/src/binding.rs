//! Role bindings: subjects and the role they are granted.

use crate::user::User;
use lockstep_object::Object;
use lockstep_object::go::quote;
use serde_json::Value;

/// Kind of a `roleRef`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RoleKind {
    /// A role of the binding's namespace.
    Role,
    /// A role of the cluster.
    ClusterRole,
}

impl RoleKind {
    /// The kind's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Role => "Role",
            Self::ClusterRole => "ClusterRole",
        }
    }

    /// The resource.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Role => "roles",
            Self::ClusterRole => "clusterroles",
        }
    }
}

/// The role of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleRef {
    /// Its kind.
    pub kind: RoleKind,
    /// Its name.
    pub name: Box<str>,
}

/// One who is bound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A user by name.
    User(Box<str>),
    /// All members of a group.
    Group(Box<str>),
    /// A service account; an empty namespace means the binding's.
    ServiceAccount {
        /// The account's namespace, or nothing.
        namespace: Box<str>,
        /// The account's name.
        name: Box<str>,
    },
}

/// A binding of either kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Empty for the whole cluster.
    pub namespace: Box<str>,
    /// The name.
    pub name: Box<str>,
    /// The role.
    pub role: RoleRef,
    /// The subjects of the binding.
    pub subjects: Vec<Subject>,
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

impl RoleRef {
    /// Reads a `roleRef`; none when its kind is neither role.
    pub fn from_value(role_ref: &Value) -> Option<Self> {
        let kind = match text(role_ref, "kind") {
            "Role" => RoleKind::Role,
            "ClusterRole" => RoleKind::ClusterRole,
            _ => return None,
        };
        Some(Self {
            kind,
            name: text(role_ref, "name").into(),
        })
    }
}

impl Subject {
    fn from_value(subject: &Value) -> Option<Self> {
        let name = text(subject, "name").into();
        Some(match text(subject, "kind") {
            "User" => Self::User(name),
            "Group" => Self::Group(name),
            "ServiceAccount" => Self::ServiceAccount {
                namespace: text(subject, "namespace").into(),
                name,
            },
            _ => return None,
        })
    }

    /// True if the user matches this subject of a binding in a namespace.
    fn is(&self, user: &User, binding_namespace: &str) -> bool {
        match self {
            Self::Group(name) => user.is_in(name),
            other => other
                .user_name(binding_namespace)
                .is_some_and(|name| *name == *user.name),
        }
    }

    /// The user this subject is; none for groups, and for a service account without a namespace.
    pub(crate) fn user_name(&self, binding_namespace: &str) -> Option<Box<str>> {
        match self {
            Self::User(name) => Some(name.clone()),
            Self::Group(_) => None,
            Self::ServiceAccount { namespace, name } => {
                let namespace = if namespace.is_empty() {
                    binding_namespace
                } else {
                    namespace
                };
                let account = || format!("system:serviceaccount:{namespace}:{name}").into();
                (!namespace.is_empty()).then(account)
            }
        }
    }

    fn shown(&self, binding_namespace: &str) -> String {
        match self {
            Self::User(name) => format!("User {}", quote(name)),
            Self::Group(name) => format!("Group {}", quote(name)),
            Self::ServiceAccount { namespace, name } => {
                let namespace = if namespace.is_empty() {
                    binding_namespace
                } else {
                    namespace
                };
                format!("ServiceAccount {}", quote(&format!("{name}/{namespace}")))
            }
        }
    }
}

impl Binding {
    /// Reads a binding of a namespace, or of the cluster if that is empty; none if it has no valid `roleRef`.
    pub fn new(namespace: &str, binding: &Object) -> Option<Self> {
        let subjects = binding
            .at(&["subjects"])
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        Some(Self {
            namespace: namespace.into(),
            name: binding.name().into(),
            role: RoleRef::from_value(binding.at(&["roleRef"])?)?,
            subjects: subjects.filter_map(Subject::from_value).collect(),
        })
    }

    /// The first subject that the user is.
    pub(crate) fn subject(&self, user: &User) -> Option<&Subject> {
        self.subjects
            .iter()
            .find(|subject| subject.is(user, &self.namespace))
    }

    /// The authorization reason, in upstream's wording.
    pub(crate) fn reason(&self, subject: &Subject) -> String {
        let (kind, name) = match &*self.namespace {
            "" => ("ClusterRoleBinding", self.name.to_string()),
            namespace => ("RoleBinding", format!("{}/{namespace}", self.name)),
        };
        format!(
            "RBAC: allowed by {kind} {} of {} {} to {}",
            quote(&name),
            self.role.kind.as_str(),
            quote(&self.role.name),
            subject.shown(&self.namespace)
        )
    }
}
