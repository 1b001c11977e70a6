//! `allOf`, `anyOf`, `oneOf`, `not`.

use super::findings::{Findings, Name};
use super::validate as validate_value;
use crate::correlate::Old;
use crate::node::Node;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::go;
use serde_json::Value;

pub(super) fn validate(
    node: &Node,
    value: &Value,
    old: Old<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> u32 {
    let Some(alternatives) = &node.extras.alternatives else {
        return 2;
    };
    let mut run = Run {
        value,
        path,
        findings,
    };
    2 + run.any_of(&alternatives.any_of)
        + run.one_of(&alternatives.one_of)
        + run.all_of(&alternatives.all_of, old)
        + run.not(alternatives.not.as_ref())
}

struct Run<'a> {
    value: &'a Value,
    path: &'a Path<'a>,
    findings: &'a mut Findings,
}

/// Result of one of several subschemas.
struct Outcome {
    held: u32,
    errors: FieldErrors,
}

impl Run<'_> {
    /// Judges by one schema and keeps its errors apart. What did not change is judged too: only a whole value is
    /// forgiven.
    fn attempt(&mut self, node: &Node) -> Outcome {
        let before = self.findings.len();
        let held = validate_value(node, self.value, Old::NONE, self.path, self.findings);
        let errors = self.findings.take(before);
        Outcome { held, errors }
    }

    fn fail(&mut self, rule: &str) {
        let name = Name(self.path, self.findings.base());
        self.findings.push(|| {
            let name = go::quote(&name.to_string());
            FieldError::invalid(&Path::ROOT, "", format!("{name} {rule}"))
        });
    }

    fn any_of(&mut self, nodes: &[Node]) -> u32 {
        let mut best: Option<Outcome> = None;
        for node in nodes {
            let outcome = self.attempt(node);
            if outcome.errors.is_empty() {
                return outcome.held;
            }
            if best.as_ref().is_none_or(|best| outcome.held > best.held) {
                best = Some(outcome);
            }
        }
        let Some(best) = best else {
            return 0;
        };
        self.fail("must validate at least one schema (anyOf)");
        self.findings.extend(best.errors);
        best.held
    }

    fn one_of(&mut self, nodes: &[Node]) -> u32 {
        let mut best: Option<Outcome> = None;
        let mut valid = 0;
        let mut held = 0;
        for node in nodes {
            let outcome = self.attempt(node);
            if outcome.errors.is_empty() {
                valid += 1;
                held = if valid == 1 { outcome.held } else { held };
                best = None;
            } else if valid == 0 && best.as_ref().is_none_or(|best| outcome.held > best.held) {
                best = Some(outcome);
            }
        }
        match valid {
            _ if nodes.is_empty() => 0,
            1 => held,
            0 => {
                self.fail("must validate one and only one schema (oneOf). Found none valid");
                let held = best.as_ref().map_or(0, |best| best.held);
                self.findings
                    .extend(best.map(|best| best.errors).unwrap_or_default());
                held
            }
            valid => {
                self.fail(&format!(
                    "must validate one and only one schema (oneOf). Found {valid} valid alternatives"
                ));
                0
            }
        }
    }

    fn all_of(&mut self, nodes: &[Node], old: Old<'_>) -> u32 {
        let mut held = 0;
        let mut valid = 0;
        for node in nodes {
            let before = self.findings.len();
            held += validate_value(node, self.value, old, self.path, self.findings);
            valid += usize::from(self.findings.len() == before);
        }
        if valid == nodes.len() {
            return held;
        }
        let rest = if valid == 0 { ". None validated" } else { "" };
        self.fail(&format!("must validate all the schemas (allOf){rest}"));
        held
    }

    fn not(&mut self, node: Option<&Node>) -> u32 {
        if let Some(node) = node
            && self.attempt(node).errors.is_empty()
        {
            self.fail("must not validate the schema (not)");
        }
        0
    }
}
