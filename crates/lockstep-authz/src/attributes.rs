//! Attributes of an authorization request, and the decision.

use std::fmt;
use std::sync::Arc;

use lockstep_object::go::quote;

use crate::user::User;

/// Attributes of an authorization request: who does what to which object or path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attributes<'a> {
    /// The user.
    pub user: &'a User,
    /// `get`, `list`, `impersonate`, …; for a path the HTTP method in lower case.
    pub verb: &'a str,
    /// Resource or path.
    pub target: Target<'a>,
}

/// Target of an authorization request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target<'a> {
    /// A non-resource path.
    Path(&'a str),
    /// A resource; absent parts are empty.
    Resource {
        /// The group, empty for the core group.
        group: &'a str,
        /// The version. No rule matches it; audit and reviews show it.
        version: &'a str,
        /// The namespace, empty for the whole cluster.
        namespace: &'a str,
        /// The plural name.
        resource: &'a str,
        /// The subresource.
        subresource: &'a str,
        /// The object name. Lists and watches of one object (`fieldSelector=metadata.name=x`) have it too; creates
        /// never do.
        name: &'a str,
    },
}

/// Authorization decision. The reason is recorded in the audit log and, if denied, sent to the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    /// True if allowed.
    pub allowed: bool,
    /// The granting binding and role, or the bound roles that do not exist; may be empty.
    pub reason: String,
}

/// Authorizes a request. It must not block: its data has to be in memory.
pub type Authorizer = Arc<dyn Fn(&Attributes<'_>) -> Decision + Send + Sync>;

impl Decision {
    /// Allows the request.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self {
            allowed: true,
            reason: reason.into(),
        }
    }

    /// Denies the request, because no rule allows it.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            allowed: false,
            reason: reason.into(),
        }
    }

    /// Denies the request without a reason, so that a later authorizer may allow it.
    pub fn no_opinion() -> Self {
        Self::deny("")
    }
}

impl<'a> Target<'a> {
    /// All objects of a resource in the cluster.
    pub fn resource(group: &'a str, resource: &'a str) -> Self {
        Self::Resource {
            group,
            version: "",
            namespace: "",
            resource,
            subresource: "",
            name: "",
        }
    }

    /// In one namespace. Paths have none.
    #[must_use]
    pub fn in_namespace(mut self, wanted: &'a str) -> Self {
        if let Self::Resource { namespace, .. } = &mut self {
            *namespace = wanted;
        }
        self
    }

    /// On one object. Paths have none.
    #[must_use]
    pub fn named(mut self, wanted: &'a str) -> Self {
        if let Self::Resource { name, .. } = &mut self {
            *name = wanted;
        }
        self
    }

    /// On a subresource. Paths have none.
    #[must_use]
    pub fn at_subresource(mut self, wanted: &'a str) -> Self {
        if let Self::Resource { subresource, .. } = &mut self {
            *subresource = wanted;
        }
        self
    }

    /// The namespace the decision is made in.
    pub fn namespace(&self) -> &'a str {
        match self {
            Self::Resource { namespace, .. } => namespace,
            Self::Path(_) => "",
        }
    }
}

impl Attributes<'_> {
    /// Message of a denial, with the authorizer's reason if there is one.
    pub fn denial(&self, reason: &str) -> String {
        let user = quote(&self.user.name);
        let verb = self.verb;
        let because = match reason {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        match self.target {
            Target::Path(path) => {
                format!("User {user} cannot {verb} path {}{because}", quote(path))
            }
            Target::Resource {
                group,
                resource,
                subresource,
                namespace,
                ..
            } => {
                let resource = match subresource {
                    "" => quote(resource),
                    subresource => quote(&format!("{resource}/{subresource}")),
                };
                let scope = match namespace {
                    "" => "at the cluster scope".to_owned(),
                    namespace => format!("in the namespace {}", quote(namespace)),
                };
                let group = quote(group);
                format!(
                    "User {user} cannot {verb} resource {resource} in API group {group} {scope}{because}"
                )
            }
        }
    }
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Target::Path(path) => f.write_str(path),
            Target::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                f.write_str(resource)?;
                if !subresource.is_empty() {
                    write!(f, "/{subresource}")?;
                }
                if !group.is_empty() {
                    write!(f, ".{group}")?;
                }
                write!(f, " {name:?}")
            }
        }
    }
}
