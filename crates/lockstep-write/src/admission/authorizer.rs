//! The CEL `authorizer` library, backed by the authorizer of this server.

use std::fmt;
use std::sync::Arc;

use lockstep_cel::authorizer::{
    Attributes as CelAttributes, Authorization, Authorizer as CelAuthorizer, Decision,
    Target as CelTarget,
};

use lockstep_authz::User;
use lockstep_authz::{Attributes, Authorizer, Target};

/// Binds a user to the authorizer, for use in CEL expressions.
pub(crate) fn authorization(authorizer: Authorizer, user: &User) -> Authorization {
    Authorization::new(Arc::new(OfRequest {
        authorizer,
        user: user.clone(),
    }))
}

/// Authorization checks for the user of one request.
struct OfRequest {
    authorizer: Authorizer,
    user: User,
}

impl fmt::Debug for OfRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OfRequest({:?})", self.user.name)
    }
}

impl CelAuthorizer for OfRequest {
    fn authorize(&self, requested: &CelAttributes) -> Decision {
        let account;
        let user = match (&requested.service_account, requested.user()) {
            (Some((namespace, _)), Some(name)) => {
                let groups = vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{namespace}"),
                ];
                account = User::authenticated(name, String::new(), groups);
                &account
            }
            _ => &self.user,
        };
        let target = match &requested.target {
            CelTarget::Path(path) => Target::Path(path),
            CelTarget::Resource(resource) => Target::Resource {
                group: &resource.group,
                version: "*",
                namespace: &resource.namespace,
                resource: &resource.resource,
                subresource: &resource.subresource,
                name: &resource.name,
            },
        };
        let verdict = (self.authorizer)(&Attributes {
            user,
            verb: &requested.verb,
            target,
        });
        Decision {
            allowed: verdict.allowed,
            reason: verdict.reason,
            error: None,
        }
    }
}
