//! Authorization. An injected function decides first, then RBAC; this module maps requests to attributes and denials to errors.

mod modes;
mod stored;

pub use lockstep_authz::{Attributes, Authorizer, Decision, Target};
use lockstep_object::{ApiError, GroupResource};

pub use modes::{allow_all, stored_rules_only};
pub use stored::StoredRules;

use crate::request::RequestInfo;

/// Target of a request.
pub fn target(info: &RequestInfo) -> Target<'_> {
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

/// 403 for a denied request.
pub fn forbidden(attributes: &Attributes<'_>, decision: &Decision) -> ApiError {
    let why = attributes.denial(&decision.reason);
    match attributes.target {
        Target::Path(_) => ApiError::ForbiddenPath(why),
        Target::Resource {
            group,
            resource,
            name,
            ..
        } => ApiError::forbidden(&GroupResource::new(group, resource), name, why),
    }
}

#[cfg(test)]
mod tests {
    use lockstep_authz::User;

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
            forbidden(&attributes, &Decision::no_opinion()).to_string()
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
