//! Explanation of the gates that affect one field.

use lockstep_object::Object;

use crate::gate::{Gate, GateList, Policy, Rule, Stage};
use crate::path::{FieldPath, Segment};
use crate::place::{self, PlaceError};

/// Position of a gated field relative to the explained field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// The gated field is an ancestor.
    Above,
    /// The gated field is the explained field.
    Here,
    /// The gated field is a descendant.
    Inside,
}

impl Position {
    /// The position as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Here => "here",
            Self::Inside => "inside",
        }
    }
}

/// A gate that affects the explained field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AffectingGate {
    /// Position of the gated field.
    pub position: Position,
    /// `component/name`
    pub gate: String,
    /// Stage of the gate.
    pub stage: Stage,
    /// True if the gate is open.
    pub is_enabled: bool,
    /// The rule that determined the state.
    pub rule: Rule,
    /// Path of the gated field.
    pub path: FieldPath,
}

/// Gates of a field and their effect on requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The explained field.
    pub path: FieldPath,
    /// The storage version, in which gates are applied.
    pub version: String,
    /// Gates of ancestors, of the field itself and of descendants, in this order.
    pub gates: Vec<AffectingGate>,
    /// Effect on the field in a create.
    pub create: String,
    /// Effect on the field in an update.
    pub update: String,
}

/// Errors of [`explain`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// No storage version with a schema.
    #[error("no version with a schema is the one that objects are stored in")]
    NoSchema,
    /// The field cannot be gated.
    #[error("{path} {problem}")]
    NoField {
        /// The requested field.
        path: FieldPath,
        /// Error message.
        problem: String,
        /// For a field that is not in the schema: the first unknown segment and the names that exist there.
        unknown: Option<(String, Vec<String>)>,
    },
}

/// Explains the gates of a field.
pub fn explain(definition: &Object, path: &FieldPath) -> Result<Explanation, ExplainError> {
    let (version, schema) = place::storage(definition).ok_or(ExplainError::NoSchema)?;
    if let Err(problem) = place::steps(schema, path, version) {
        let unknown = matches!(problem, PlaceError::NotInSchema(_));
        return Err(ExplainError::NoField {
            path: path.clone(),
            problem: problem.to_string(),
            unknown: unknown.then(|| unknown_step(schema, path)).flatten(),
        });
    }
    let list = GateList::of(definition);
    let mut gates: Vec<(AffectingGate, &Gate)> = Vec::new();
    for gate in &list.gates {
        for own in gate.paths.iter().flatten() {
            if let Some(position) = position(own, path)
                && place::steps(schema, own, version).is_ok()
            {
                let state = gate.state();
                let affecting = AffectingGate {
                    position,
                    gate: list.reference(gate),
                    stage: gate.stage,
                    is_enabled: state.enabled,
                    rule: state.rule,
                    path: own.clone(),
                };
                gates.push((affecting, gate));
            }
        }
    }
    gates.sort_by_key(|(affecting, _)| (affecting.position, affecting.path.segments().len()));
    let (create, update) = fate(&gates, path, list.policy);
    Ok(Explanation {
        path: path.clone(),
        version: version.to_owned(),
        gates: gates.into_iter().map(|(affecting, _)| affecting).collect(),
        create,
        update,
    })
}

fn position(gated: &FieldPath, path: &FieldPath) -> Option<Position> {
    if gated.overlaps(path) {
        Some(Position::Here)
    } else if gated.covers(path) {
        Some(Position::Above)
    } else if path.covers(gated) {
        Some(Position::Inside)
    } else {
        None
    }
}

/// Describes the effect on the field in a create and in an update.
fn fate(gates: &[(AffectingGate, &Gate)], path: &FieldPath, policy: Policy) -> (String, String) {
    let mut deciding = gates
        .iter()
        .filter(|(affecting, _)| affecting.position != Position::Inside);
    if let Some((closed, _)) = deciding
        .clone()
        .find(|(affecting, _)| !affecting.is_enabled)
    {
        let (gate, stage) = (&closed.gate, closed.stage.as_str());
        let what = match closed.position {
            Position::Here => String::new(),
            _ => format!(" with all of {}", closed.path),
        };
        let why = format!("feature gate {gate} ({stage}) is disabled");
        return match policy {
            Policy::Drop => (
                format!("dropped{what}, with a warning: {why}"),
                format!(
                    "kept as it is stored{what}, and dropped if it is not stored, with a warning: {why}"
                ),
            ),
            Policy::Reject => (
                format!("refused (422): {why}"),
                format!(
                    "refused (422) if it changes, and kept as it is stored{what} if it is left out: {why}"
                ),
            ),
        };
    }
    let inside = gates
        .iter()
        .find(|(affecting, _)| affecting.position == Position::Inside && !affecting.is_enabled);
    let but = inside.map_or_else(String::new, |(affecting, _)| {
        format!(", except {}", affecting.path)
    });
    let deprecated = deciding.find(|(affecting, _)| affecting.stage == Stage::Deprecated);
    if let Some((_, gate)) = deprecated {
        let own = format!("{path}: field is deprecated");
        let warning = gate.warning.as_deref();
        let warning = warning.unwrap_or_else(|| own.trim_start_matches('.'));
        return (
            format!("stored as it is sent{but}, with the warning {warning:?}"),
            format!(
                "stored as it is sent{but}, with the warning {warning:?} if it is added or changed"
            ),
        );
    }
    let free = format!("stored as it is sent{but}");
    (free.clone(), free)
}

/// The first path segment that the schema lacks, and the names that exist there.
fn unknown_step(
    schema: &lockstep_object::Value,
    path: &FieldPath,
) -> Option<(String, Vec<String>)> {
    let mut node = schema;
    for segment in path.segments() {
        let below = match segment {
            Segment::Name(name) => place::named(node, name).map(|(_, below)| below),
            Segment::Each => node
                .get("items")
                .or_else(|| node.get("additionalProperties")),
        };
        match (below, segment) {
            (Some(below), _) => node = below,
            (None, Segment::Each) => return None,
            (None, Segment::Name(name)) => {
                let known = node["properties"].as_object()?;
                return Some((name.to_string(), known.keys().cloned().collect()));
            }
        }
    }
    None
}
