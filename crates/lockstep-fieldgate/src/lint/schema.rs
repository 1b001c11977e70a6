//! Lint rules for schema keywords and CEL rules that depend on gated fields.

use lockstep_cel::paths::{FieldPath as Read, Segment as ReadSegment};
use lockstep_object::Value;
use lockstep_schema::rule_reads;

use super::{Findings, LintRule, named, place_text, way};
use crate::gate::{GateList, Stage};
use crate::path::{FieldPath, Segment};
use crate::place::{self, Step};

/// Checks every ancestor of a field whose gate can be closed.
pub(super) fn check(gates: &GateList, schema: &Value, findings: &mut Findings) {
    let closable = gates
        .gates
        .iter()
        .filter(|gate| gate.stage != Stage::Stable);
    for gate in closable {
        for path in gate.paths.iter().flatten() {
            let Ok(places) = place::steps(schema, path, "") else {
                continue;
            };
            let field = Gated {
                path,
                gate: &named(gates, gate),
                is_key: places.last() == Some(&Step::Key),
            };
            for (steps, node) in way(schema, path) {
                let rest = &path.segments()[steps.len()..];
                field.rules(node, steps, rest, findings);
                field.alternatives(node, steps, rest, findings);
                field.counts(node, steps, rest, findings);
                field.atomic(node, steps, findings);
            }
        }
    }
}

struct Gated<'g> {
    path: &'g FieldPath,
    gate: &'g str,
    /// True if the field is a map key.
    is_key: bool,
}

impl Gated<'_> {
    /// CEL rules that fail if the field is absent.
    fn rules(&self, node: &Value, steps: &[Segment], rest: &[Segment], findings: &mut Findings) {
        for rule in rule_reads(node, steps.is_empty()) {
            let relied: Option<&Read> = rule
                .reads
                .iter()
                .find(|read| read.segments.len() >= rest.len() && meets(&read.segments, rest));
            let Some(relied) = relied else { continue };
            let is_probed = |read: &Read| {
                read.segments.len() == rest.len()
                    && read.variable == relied.variable
                    && meets(&read.segments, rest)
            };
            // `'key' in self.map` reads the whole map.
            let is_looked_up = |read: &Read| {
                let is_map = self.is_key && read.segments.len() + 1 == rest.len();
                is_map && meets(&read.segments, rest)
            };
            if rule.probed.iter().any(is_probed) || rule.reads.iter().any(is_looked_up) {
                continue;
            }
            let Self { path, gate, .. } = self;
            let (place, text) = (place_text(steps), &rule.rule);
            findings.add(
                LintRule::Expression,
                format!(
                    "{place}: rule {text:?} reads {path} without has(): it fails while gate {gate} leaves the field out"
                ),
            );
        }
    }

    /// `anyOf`, `oneOf` and `not`, which are evaluated as written even if a gate drops the field.
    fn alternatives(
        &self,
        node: &Value,
        steps: &[Segment],
        rest: &[Segment],
        findings: &mut Findings,
    ) {
        for keyword in ["anyOf", "oneOf", "not"] {
            let is_named = match &node[keyword] {
                Value::Array(parts) => parts.iter().any(|part| names(part, rest)),
                part => names(part, rest),
            };
            if is_named {
                let (Self { path, gate, .. }, place) = (self, place_text(steps));
                findings.add(
                    LintRule::Alternative,
                    format!(
                        "{place}: {keyword} names {path}: it is judged as written while gate {gate} leaves the field out"
                    ),
                );
            }
        }
    }

    /// Property counts that a gate changes.
    fn counts(&self, node: &Value, steps: &[Segment], rest: &[Segment], findings: &mut Findings) {
        for keyword in ["minProperties", "maxProperties"] {
            if rest.len() == 1 && node[keyword].is_number() {
                let (Self { path, gate, .. }, place) = (self, place_text(steps));
                findings.add(
                    LintRule::Alternative,
                    format!("{place}: {keyword} counts {path}, which gate {gate} may leave out"),
                );
            }
        }
    }

    fn atomic(&self, node: &Value, steps: &[Segment], findings: &mut Findings) {
        if node["x-kubernetes-map-type"] == "atomic" {
            let (Self { path, gate, .. }, place) = (self, place_text(steps));
            findings.add(
                LintRule::Atomic,
                format!(
                    "{place} is atomic: who applies it owns {path} too, and can conflict about it while gate {gate} is closed"
                ),
            );
        }
    }
}

/// True if a read and a path agree in their common prefix.
fn meets(read: &[ReadSegment], path: &[Segment]) -> bool {
    read.iter()
        .zip(path)
        .all(|(read, step)| match (read, step) {
            (_, Segment::Each) | (ReadSegment::Any, _) => true,
            (ReadSegment::Field(read), Segment::Name(name)) => read == name,
            (ReadSegment::Index(_), Segment::Name(_)) => false,
        })
}

/// True if a subschema constrains a field below it.
fn names(part: &Value, rest: &[Segment]) -> bool {
    let Some((first, more)) = rest.split_first() else {
        return false;
    };
    let here = match first {
        Segment::Name(name) => {
            let required = part["required"].as_array();
            let is_required = required.is_some_and(|all| all.iter().any(|other| **name == *other));
            let property = part["properties"].get(&**name);
            match property {
                Some(_) if more.is_empty() => true,
                Some(property) => names(property, more),
                None => is_required && more.is_empty(),
            }
        }
        Segment::Each => names(&part["items"], more) || names(&part["additionalProperties"], more),
    };
    let inner = ["allOf", "anyOf", "oneOf"].into_iter();
    let inner = inner.filter_map(|keyword| part[keyword].as_array());
    here || names_in(&part["not"], rest) || inner.flatten().any(|part| names(part, rest))
}

fn names_in(part: &Value, rest: &[Segment]) -> bool {
    part.is_object() && names(part, rest)
}
