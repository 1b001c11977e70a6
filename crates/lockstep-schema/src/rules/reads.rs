//! Static analysis of the fields that CEL rules read.

use super::Scope;
use crate::keywords::{list, text};
use lockstep_cel::Version;
use lockstep_cel::paths::FieldPath;
use serde_json::Value;
use std::collections::BTreeSet;

/// Fields that one rule reads, relative to `self` and `oldSelf`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleReads {
    /// The expression.
    pub rule: String,
    /// Fields that must be present for the rule to evaluate.
    pub reads: BTreeSet<FieldPath>,
    /// Fields that are only tested with `has()` or optional syntax.
    pub probed: BTreeSet<FieldPath>,
}

/// Reads of the rules at one schema, without nested schemas. Rules that do not compile are skipped.
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
