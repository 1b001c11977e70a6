//! Lint rules for the gates of a `CustomResourceDefinition`.

mod growth;
mod schema;

use std::fmt;

use lockstep_cel::Version;
use lockstep_object::{Object, Value};
use lockstep_schema::{check_definition, default_definition};

use crate::changes::gate_warnings;
use crate::check::check_gates;
use crate::gate::{Gate, GateList};
use crate::path::{FieldPath, Segment};
use crate::place;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A server rejects the definition.
    Error,
    /// A server accepts the definition, but its behaviour may surprise users.
    Warning,
}

impl Severity {
    /// `error` or `warning`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// Lint rules; the reference documentation lists them by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintRule {
    /// Validation of the definition fails outside its gates.
    Definition,
    /// Validation of the gates fails.
    Gates,
    /// A server returns a warning for the gates.
    ServerWarning,
    /// A CEL rule reads a field that a gate may drop.
    Expression,
    /// `anyOf`, `oneOf`, `not`, `minProperties` or `maxProperties` depends on a gated field.
    Alternative,
    /// An ancestor of a gated field is atomic.
    Atomic,
    /// A new field has no gate.
    Ungated,
    /// A gate skipped a stage.
    StageSkipped,
    /// A gate was removed before its fields were stable.
    RemovedEarly,
}

impl LintRule {
    /// The stable id of the rule.
    pub fn id(self) -> &'static str {
        match self {
            Self::Definition => "CG101",
            Self::Gates => "CG102",
            Self::ServerWarning => "CG201",
            Self::Expression => "CG202",
            Self::Alternative => "CG203",
            Self::Atomic => "CG204",
            Self::Ungated => "CG205",
            Self::StageSkipped => "CG206",
            Self::RemovedEarly => "CG207",
        }
    }

    /// Severity of the rule.
    pub fn severity(self) -> Severity {
        match self {
            Self::Definition | Self::Gates => Severity::Error,
            _ => Severity::Warning,
        }
    }
}

/// A lint finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LintFinding {
    /// The violated rule.
    pub rule: LintRule,
    /// Problem, location and, where useful, the remedy.
    pub message: String,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, id) = (self.rule.severity().as_str(), self.rule.id());
        write!(out, "{severity} {id}: {}", self.message)
    }
}

/// Lints a definition, and compares it with the previous release if given. Findings are ordered by rule.
///
/// Unlike validation on write, lint does not ratchet: errors of the previous release are reported too.
pub fn lint(definition: &Object, base: Option<&Object>) -> Vec<LintFinding> {
    let filled = |definition: &Object| {
        let mut filled = definition.clone();
        default_definition(&mut filled);
        filled
    };
    let (definition, base) = (filled(definition), base.map(filled));
    let mut findings = Findings::default();
    for error in &check_definition(&definition, base.as_ref(), Version::LATEST) {
        findings.add(LintRule::Definition, error.to_string());
    }
    for error in &check_gates(&definition, None) {
        findings.add(LintRule::Gates, error.to_string());
    }
    for warning in gate_warnings(&definition, base.as_ref()) {
        findings.add(LintRule::ServerWarning, warning);
    }
    let gates = GateList::of(&definition);
    if let Some((_, schema)) = place::storage(&definition) {
        schema::check(&gates, schema, &mut findings);
        if let Some(base) = &base {
            growth::check((&gates, schema), base, &mut findings);
        }
    }
    findings.0
}

#[derive(Default)]
struct Findings(Vec<LintFinding>);

impl Findings {
    /// Adds a finding once.
    fn add(&mut self, rule: LintRule, message: String) {
        let finding = LintFinding { rule, message };
        if !self.0.contains(&finding) {
            self.0.push(finding);
        }
    }
}

/// `istio/Replicas (alpha)`
fn named(gates: &GateList, gate: &Gate) -> String {
    format!("{} ({})", gates.reference(gate), gate.stage.as_str())
}

/// The schema of a segment.
fn below<'s>(schema: &'s Value, segment: &Segment) -> Option<&'s Value> {
    match segment {
        Segment::Name(name) => place::named(schema, name).map(|(_, below)| below),
        Segment::Each => schema
            .get("items")
            .or_else(|| schema.get("additionalProperties")),
    }
}

/// The ancestor schemas of a field with their paths, starting at the object.
fn way<'s, 'p>(schema: &'s Value, path: &'p FieldPath) -> Vec<(&'p [Segment], &'s Value)> {
    let segments = path.segments();
    let mut node = schema;
    let mut way = Vec::new();
    for (at, segment) in segments.iter().enumerate() {
        way.push((&segments[..at], node));
        match below(node, segment) {
            Some(next) => node = next,
            None => break,
        }
    }
    way
}

/// A schema path as text; the object itself is `.`.
fn place_text(segments: &[Segment]) -> String {
    match segments {
        [] => ".".to_owned(),
        segments => FieldPath::of(segments).to_string(),
    }
}
