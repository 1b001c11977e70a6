//! What the rules of a schema look at, for whoever wants to know without running them.

use super::Scope;
use crate::keywords::{list, text};
use lockstep_cel::Version;
use lockstep_cel::paths::FieldPath;
use serde_json::Value;
use std::collections::BTreeSet;

/// What one rule looks at, below `self` and `oldSelf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleReads {
    /// The expression.
    pub rule: String,
    /// What it reads.
    pub reads: BTreeSet<FieldPath>,
    /// What it asks for without needing it to be there.
    pub probed: BTreeSet<FieldPath>,
}

/// What the rules of one schema look at, not of those below it. Rules that do not compile are left out.
pub fn rule_reads(schema: &Value, is_root: bool) -> Vec<RuleReads> {
    let rules = list(schema, "x-kubernetes-validations");
    if rules.is_empty() {
        return Vec::new();
    }
    let Some(scope) = Scope::of(schema, is_root) else {
        return Vec::new();
    };
    let compiled = rules.iter().filter_map(|rule| {
        let program = scope.compile_rule(rule, Version::LATEST).ok()?;
        Some(RuleReads {
            rule: text(rule, "rule").trim().to_owned(),
            reads: program.paths().reads,
            probed: program.probed_paths(),
        })
    });
    compiled.collect()
}
