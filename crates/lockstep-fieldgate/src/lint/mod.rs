//! What is wrong with the gates of a definition, and what will surprise its users.

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

/// How much a finding weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// A server refuses the definition.
    Error,
    /// A server takes it, and somebody will be surprised.
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

/// What a finding is about; the reference documentation lists them by their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LintRule {
    /// A server refuses the definition for something else than its gates.
    Definition,
    /// A server refuses its gates.
    Gates,
    /// A server warns of its gates.
    Told,
    /// An expression relies on a field that a gate may leave out.
    Expression,
    /// `anyOf`, `oneOf`, `not` or a count of properties relies on one.
    Alternative,
    /// Something atomic is on the way to a field.
    Atomic,
    /// A field is new and has no gate.
    Ungated,
    /// A gate did not go through every stage.
    StageSkipped,
    /// A gate went away before its fields were stable.
    RemovedEarly,
}

impl LintRule {
    /// The id, which never changes.
    pub fn id(self) -> &'static str {
        match self {
            Self::Definition => "CG101",
            Self::Gates => "CG102",
            Self::Told => "CG201",
            Self::Expression => "CG202",
            Self::Alternative => "CG203",
            Self::Atomic => "CG204",
            Self::Ungated => "CG205",
            Self::StageSkipped => "CG206",
            Self::RemovedEarly => "CG207",
        }
    }

    /// How much it weighs.
    pub fn severity(self) -> Severity {
        match self {
            Self::Definition | Self::Gates => Severity::Error,
            _ => Severity::Warning,
        }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LintFinding {
    /// What it is about.
    pub rule: LintRule,
    /// What, where, and what to do if that is not plain.
    pub message: String,
}

impl fmt::Display for LintFinding {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, id) = (self.rule.severity().as_str(), self.rule.id());
        write!(out, "{severity} {id}: {}", self.message)
    }
}

/// Everything there is to say about a definition, and with the one of the release before about how it grew. In the
/// order of rules.
///
/// Nothing is forgiven for having been wrong before, unlike when a definition is written to a server.
pub fn lint(definition: &Object, base: Option<&Object>) -> Vec<LintFinding> {
    let filled = |definition: &Object| {
        let mut filled = definition.clone();
        default_definition(&mut filled);
        filled
    };
    let (definition, base) = (filled(definition), base.map(filled));
    let mut findings = Findings::default();
    for error in check_definition(&definition, base.as_ref(), Version::LATEST) {
        findings.add(LintRule::Definition, error.to_string());
    }
    for error in check_gates(&definition, None) {
        findings.add(LintRule::Gates, error.to_string());
    }
    for warning in gate_warnings(&definition, base.as_ref()) {
        findings.add(LintRule::Told, warning);
    }
    let gates = GateList::of(&definition);
    if let Some((_, schema)) = place::storage(&definition) {
        schema::judge(&gates, schema, &mut findings);
        if let Some(base) = &base {
            growth::judge((&gates, schema), base, &mut findings);
        }
    }
    findings.0
}

#[derive(Default)]
struct Findings(Vec<LintFinding>);

impl Findings {
    /// Adds a finding, if it was not made before.
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

/// The schema one step down.
fn below<'s>(schema: &'s Value, segment: &Segment) -> Option<&'s Value> {
    match segment {
        Segment::Name(name) => place::named(schema, name).map(|(_, below)| below),
        Segment::Each => schema
            .get("items")
            .or_else(|| schema.get("additionalProperties")),
    }
}

/// The schemas on the way to a field with the steps to each, from the object down; not that of the field.
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

/// A place in a schema as text; the object itself is `.`.
fn place_text(segments: &[Segment]) -> String {
    match segments {
        [] => ".".to_owned(),
        segments => FieldPath::of(segments).to_string(),
    }
}
