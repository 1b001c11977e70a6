//! Authorizers that precede RBAC: `--authorization-mode`.

use std::sync::Arc;

use super::{Authorizer, Decision};

/// RBAC alone decides (`--authorization-mode=RBAC`).
pub fn stored_rules_only() -> Authorizer {
    Arc::new(|_| Decision::no_opinion())
}

/// Every request is allowed (`--authorization-mode=AlwaysAllow`).
pub fn allow_all() -> Authorizer {
    Arc::new(|_| Decision::allow(""))
}
