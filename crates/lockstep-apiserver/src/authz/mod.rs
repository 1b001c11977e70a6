//! Authorization. An injected function decides first, then RBAC; this module has the attributes and the decision.

mod modes;
mod stored;

use std::fmt;
use std::sync::Arc;

use lockstep_object::{ApiError, GroupResource};

pub use modes::{allow_all, stored_rules_only};
pub use stored::StoredRules;
pub(crate) use stored::subject;

use crate::authn::{ImpersonationTarget, User};
use crate::request::RequestInfo;

/// Attributes of an authorization request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Attributes<'a> {
    /// User.
    pub user: &'a User,
    /// The RBAC verb.
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
        /// The version.
        version: &'a str,
        /// The namespace.
        namespace: &'a str,
        /// The plural name.
        resource: &'a str,
        /// The subresource.
        subresource: &'a str,
        /// The object name.
        name: &'a str,
    },
}

/// Authorization decision. The reason is recorded in the audit log and, if denied, sent to the client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// True if allowed.
    pub allowed: bool,
    /// Reason; may be empty.
    pub reason: String,
}

impl Verdict {
    /// Allows the request.
    pub fn allow(reason: impl Into<String>) -> Self {
        Self {
            allowed: true,
            reason: reason.into(),
        }
    }

    /// No rule allows the request.
    pub fn no_opinion() -> Self {
        Self {
            allowed: false,
            reason: String::new(),
        }
    }
}

/// Authorizes a request. It must not block: its data has to be in memory.
pub type Authorizer = Arc<dyn Fn(&Attributes<'_>) -> Verdict + Send + Sync>;

impl<'a> Target<'a> {
    /// Target of a request.
    pub fn of(info: &'a RequestInfo) -> Self {
        match &info.resource {
            None => Target::Path(&info.path),
            Some(path) => Target::Resource {
                group: &path.group,
                version: &path.version,
                namespace: &path.namespace,
                resource: &path.resource,
                subresource: &path.subresource,
                name: &path.name,
            },
        }
    }
}

impl<'a> From<ImpersonationTarget<'a>> for Target<'a> {
    fn from(target: ImpersonationTarget<'a>) -> Self {
        Target::Resource {
            group: target.group,
            version: "v1",
            namespace: target.namespace,
            resource: target.resource,
            subresource: target.subresource,
            name: target.name,
        }
    }
}

/// 403 for a denied request.
pub fn forbidden(attributes: &Attributes<'_>, verdict: &Verdict) -> ApiError {
    let Attributes { user, verb, target } = attributes;
    let because = match verdict.reason.as_str() {
        "" => String::new(),
        reason => format!(": {reason}"),
    };
    let user = lockstep_object::go::quote(&user.name);
    match *target {
        Target::Path(path) => {
            let path = lockstep_object::go::quote(path);
            ApiError::ForbiddenPath(format!("User {user} cannot {verb} path {path}{because}"))
        }
        Target::Resource {
            group,
            namespace,
            resource,
            subresource,
            name,
            ..
        } => {
            let full = match subresource {
                "" => resource.to_owned(),
                subresource => format!("{resource}/{subresource}"),
            };
            let scope = match namespace {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {}", lockstep_object::go::quote(namespace)),
            };
            let why = format!(
                "User {user} cannot {verb} resource {} in API group {} {scope}{because}",
                lockstep_object::go::quote(&full),
                lockstep_object::go::quote(group),
            );
            ApiError::forbidden(&GroupResource::new(group, resource), name, why)
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

#[cfg(test)]
mod tests {
    use super::*;

    /// api-machinery.md §5/denied.
    #[test]
    fn a_refusal_says_who_cannot_do_what_to_which() {
        let user = User {
            name: "alice".to_owned(),
            ..User::default()
        };
        let told = |verb, target| {
            let user = &user;
            let attributes = Attributes { user, verb, target };
            forbidden(&attributes, &Verdict::no_opinion()).to_string()
        };
        assert_eq!(
            told("get", Target::Path("/foo")),
            "forbidden: User \"alice\" cannot get path \"/foo\""
        );
        let widgets = |namespace| Target::Resource {
            group: "ex.io",
            version: "v1",
            namespace,
            resource: "widgets",
            subresource: "",
            name: "",
        };
        assert_eq!(
            told("list", widgets("")),
            "widgets.ex.io is forbidden: User \"alice\" cannot list resource \"widgets\" in API \
             group \"ex.io\" at the cluster scope"
        );
        assert_eq!(
            told("list", widgets("n")),
            "widgets.ex.io is forbidden: User \"alice\" cannot list resource \"widgets\" in API \
             group \"ex.io\" in the namespace \"n\""
        );
    }
}
