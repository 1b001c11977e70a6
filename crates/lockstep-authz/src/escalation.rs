//! Nobody gives what they do not have.

use crate::GROUP;
use crate::binding::{Binding, RoleKind};
use crate::policies::{Policies, Verdict, not_found};
use crate::request::Request;
use crate::rule::{PolicyRule, compact, quoted_list, uncovered};
use crate::user::User;
use lockstep_object::Object;
use lockstep_object::go::quote;
use serde_json::Value;

/// Why a role or binding may not be written: the reason of a 403.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Escalation {
    /// It would grant what the user does not have.
    #[error(
        "user {user} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{missing}"
    )]
    NotHeld {
        /// The user, quoted.
        user: String,
        /// The groups, quoted.
        groups: String,
        /// The rules, one a line, sorted.
        missing: String,
    },
    /// An aggregated role can gather anything.
    #[error("must have cluster-admin privileges to use an aggregationRule")]
    Aggregation,
    /// The role that would be bound does not exist, so nobody knows what it would grant.
    #[error("{0}")]
    NoSuchRole(String),
}

/// What a write of a role or binding may change without being judged: who owns it, who holds it, and what the server
/// keeps. Labels are not among it: an aggregated role gathers the rules of roles by them.
const UNJUDGED: [&str; 4] = [
    "finalizers",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
];

/// Whether a user may write a role: nothing changed that counts, or all rules are held, or the user may `escalate` it.
pub fn check_role_write(
    policies: &Policies,
    user: &User,
    role: &Object,
    stored: Option<&Object>,
) -> Result<(), Escalation> {
    let rules = PolicyRule::all_of(role.as_value());
    let kind = if role.kind() == "Role" {
        RoleKind::Role
    } else {
        RoleKind::ClusterRole
    };
    if is_unchanged(role, stored)
        || may(
            policies,
            user,
            "escalate",
            kind,
            role.name(),
            role.namespace(),
        )
    {
        return Ok(());
    }
    confirm(policies, user, &rules, role.namespace())?;
    let aggregates =
        aggregation(role).is_some() || stored.is_some_and(|stored| aggregation(stored).is_some());
    if aggregates && confirm(policies, user, &everything(), "").is_err() {
        return Err(Escalation::Aggregation);
    }
    Ok(())
}

/// Whether a user may write a binding: nothing changed that counts, or all rules of the role are held, or the user may
/// `bind` the role.
pub fn check_binding_write(
    policies: &Policies,
    user: &User,
    binding: &Object,
    stored: Option<&Object>,
) -> Result<(), Escalation> {
    let Some(parsed) = Binding::new(binding.namespace(), binding) else {
        return Ok(());
    };
    let role = &parsed.role;
    if is_unchanged(binding, stored)
        || may(
            policies,
            user,
            "bind",
            role.kind,
            &role.name,
            binding.namespace(),
        )
    {
        return Ok(());
    }
    let Some(rules) = policies.rules(role, binding.namespace()) else {
        return Err(Escalation::NoSuchRole(not_found(role)));
    };
    confirm(policies, user, rules, binding.namespace())
}

fn is_unchanged(next: &Object, stored: Option<&Object>) -> bool {
    let judged = |object: &Object| {
        let mut object = object.clone();
        object
            .metadata_mut()
            .retain(|field, _| !UNJUDGED.contains(&field.as_str()));
        object
    };
    stored.is_some_and(|stored| judged(stored) == judged(next))
}

fn aggregation(role: &Object) -> Option<&Value> {
    role.at(&["aggregationRule"]).filter(|rule| !rule.is_null())
}

fn may(
    policies: &Policies,
    user: &User,
    verb: &str,
    kind: RoleKind,
    name: &str,
    namespace: &str,
) -> bool {
    let request = Request::resource(verb, GROUP, kind.resource())
        .named(name)
        .in_namespace(namespace);
    matches!(policies.authorize(user, &request), Verdict::Allowed(_))
}

fn everything() -> [PolicyRule; 2] {
    let all = || vec!["*".into()];
    [
        PolicyRule {
            verbs: all(),
            api_groups: all(),
            resources: all(),
            ..PolicyRule::default()
        },
        PolicyRule {
            verbs: all(),
            non_resource_urls: all(),
            ..PolicyRule::default()
        },
    ]
}

fn confirm(
    policies: &Policies,
    user: &User,
    rules: &[PolicyRule],
    namespace: &str,
) -> Result<(), Escalation> {
    if user.is_master() {
        return Ok(());
    }
    let missing = uncovered(&policies.rules_for(user, namespace), rules);
    if missing.is_empty() {
        return Ok(());
    }
    let mut missing: Vec<String> = compact(missing).iter().map(ToString::to_string).collect();
    missing.sort_unstable();
    missing.dedup();
    Err(Escalation::NotHeld {
        user: quote(&user.name),
        groups: quoted_list(&user.groups),
        missing: missing.join("\n"),
    })
}
