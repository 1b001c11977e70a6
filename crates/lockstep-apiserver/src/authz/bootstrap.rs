//! The rules for paths that a server has before anybody made any: those of the default cluster
//! roles.

use std::sync::Arc;

use super::{Authorizer, Target, Verdict};
use crate::authn::User;

/// Members may do everything.
const MASTERS: &str = "system:masters";

/// A default role: who has it, and which paths it lets them read.
struct Role {
    name: &'static str,
    groups: &'static [&'static str],
    paths: &'static [&'static str],
}

/// A `*` at the end of a path stands for anything.
const ROLES: &[Role] = &[
    Role {
        name: "system:public-info-viewer",
        groups: &["system:authenticated", "system:unauthenticated"],
        paths: &["/healthz", "/livez", "/readyz", "/version"],
    },
    Role {
        name: "system:discovery",
        groups: &["system:authenticated"],
        paths: &[
            "/api",
            "/api/*",
            "/apis",
            "/apis/*",
            "/healthz",
            "/livez",
            "/openapi",
            "/openapi/*",
            "/readyz",
            "/version",
        ],
    },
    Role {
        name: "system:monitoring",
        groups: &["system:monitoring"],
        paths: &[
            "/flagz",
            "/healthz",
            "/healthz/*",
            "/livez",
            "/livez/*",
            "/metrics",
            "/metrics/slis",
            "/readyz",
            "/readyz/*",
            "/statusz",
        ],
    },
    Role {
        name: "system:service-account-issuer-discovery",
        groups: &["system:serviceaccounts"],
        paths: &["/.well-known/openid-configuration", "/openid/v1/jwks"],
    },
];

/// The default rules: `system:masters` may do everything, the default roles may read their paths.
pub fn bootstrap_rules() -> Authorizer {
    Arc::new(|attributes| {
        if attributes.user.is_in(MASTERS) {
            return Verdict::allow("");
        }
        match attributes.target {
            Target::Path(path) if attributes.verb == "get" => by_role(attributes.user, path),
            _ => Verdict::no_opinion(),
        }
    })
}

/// Everybody may do everything (`--authorization-mode=AlwaysAllow`).
pub fn allow_all() -> Authorizer {
    Arc::new(|_| Verdict::allow(""))
}

fn by_role(user: &User, path: &str) -> Verdict {
    for role in ROLES
        .iter()
        .filter(|role| role.paths.iter().any(|rule| covers(rule, path)))
    {
        if let Some(group) = role.groups.iter().find(|group| user.is_in(group)) {
            let Role { name, .. } = role;
            return Verdict::allow(format!(
                "RBAC: allowed by ClusterRoleBinding \"{name}\" of ClusterRole \"{name}\" to Group \"{group}\""
            ));
        }
    }
    Verdict::no_opinion()
}

fn covers(rule: &str, path: &str) -> bool {
    match rule.strip_suffix('*') {
        Some(prefix) => path.starts_with(prefix),
        None => path == rule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authz::{Attributes, forbidden};

    fn verdict(groups: &[&str], verb: &str, path: &str) -> bool {
        let user = User {
            name: "alice".to_owned(),
            groups: groups.iter().map(|&group| group.to_owned()).collect(),
            ..User::default()
        };
        let attributes = Attributes {
            user: &user,
            verb,
            target: Target::Path(path),
        };
        bootstrap_rules()(&attributes).allowed
    }

    /// The default cluster roles of Kubernetes, row by row.
    #[test]
    fn default_roles_open_their_paths_and_nothing_else() {
        let anonymous = ["system:unauthenticated"];
        let user = ["system:authenticated"];
        let monitoring = ["system:authenticated", "system:monitoring"];
        for (path, by_anonymous, by_user, by_monitoring) in [
            ("/healthz", true, true, true),
            ("/livez", true, true, true),
            ("/readyz", true, true, true),
            ("/version", true, true, true),
            ("/healthz/ping", false, false, true),
            ("/readyz/etcd", false, false, true),
            ("/api", false, true, true),
            ("/apis/apps/v1", false, true, true),
            ("/openapi/v3", false, true, true),
            ("/metrics", false, false, true),
            ("/flagz", false, false, true),
            ("/statusz", false, false, true),
            ("/debug/features", false, false, false),
            ("/", false, false, false),
            ("/healthzz", false, false, false),
        ] {
            assert_eq!(verdict(&anonymous, "get", path), by_anonymous, "{path}");
            assert_eq!(verdict(&user, "get", path), by_user, "{path}");
            assert_eq!(verdict(&monitoring, "get", path), by_monitoring, "{path}");
            assert!(verdict(&["system:masters"], "delete", path), "{path}");
        }
        assert!(!verdict(&user, "post", "/version"));
    }

    /// api-machinery.md §5, row "denied".
    #[test]
    fn a_refusal_says_who_cannot_do_what_to_which() {
        let user = User {
            name: "alice".to_owned(),
            ..User::default()
        };
        let told = |verb, target| {
            let user = &user;
            let attributes = Attributes { user, verb, target };
            forbidden(&attributes, &Verdict::no_opinion()).message
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
