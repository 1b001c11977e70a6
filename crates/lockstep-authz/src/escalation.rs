//! Privilege escalation check: users cannot grant permissions that they do not have.

use crate::GROUP;
use crate::attributes::{Attributes, Target};
use crate::binding::{Binding, RoleKind};
use crate::policies::{Policies, not_found};
use crate::rule::{PolicyRule, compact, quoted_list, uncovered};
use crate::user::User;
use lockstep_object::Object;
use lockstep_object::go::quote;
use serde_json::Value;

/// Reasons for rejecting the write of a role or binding with 403.
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
    /// The bound role does not exist, so its rules cannot be compared.
    #[error("{0}")]
    NoSuchRole(String),
}

/// Metadata fields whose change needs no escalation check: ownership and server bookkeeping. Labels are checked,
/// because aggregated roles select rules by label.
const UNCHECKED_METADATA: [&str; 4] = [
    "finalizers",
    "managedFields",
    "ownerReferences",
    "resourceVersion",
];

/// Checks the write of a role: allowed if no relevant field changed, the user holds all its rules, or the user has the
/// verb `escalate` on it.
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

/// Checks the write of a binding: allowed if no relevant field changed, the user holds all rules of the role, or the
/// user has the verb `bind` on the role.
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
            .retain(|field, _| !UNCHECKED_METADATA.contains(&field.as_str()));
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
    let target = Target::resource(GROUP, kind.resource())
        .named(name)
        .in_namespace(namespace);
    let attributes = Attributes { user, verb, target };
    policies.authorize(&attributes).allowed
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
