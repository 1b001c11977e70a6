//! What is asked before the stored rules: `--authorization-mode`.

use std::sync::Arc;

use super::{Authorizer, Verdict};

/// Nothing but the stored rules counts (`--authorization-mode=RBAC`).
pub fn stored_rules_only() -> Authorizer {
    Arc::new(|_| Verdict::no_opinion())
}

/// Everybody may do everything (`--authorization-mode=AlwaysAllow`).
pub fn allow_all() -> Authorizer {
    Arc::new(|_| Verdict::allow(""))
}
