//! Which gates decide about one field, and what becomes of requests for it.

use lockstep_object::Object;

use crate::gate::{Gate, GateList, Policy, Rule, Stage};
use crate::path::{FieldPath, Segment};
use crate::place::{self, PlaceError};

/// Where a gated field is, seen from the one that is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// Around it.
    Above,
    /// It is the one.
    Here,
    /// A part of it.
    Inside,
}

impl Position {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Above => "above",
            Self::Here => "here",
            Self::Inside => "inside",
        }
    }
}

/// A gate that has a say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Say {
    /// Where its field is.
    pub position: Position,
    /// `component/name`
    pub gate: String,
    /// How far along it is.
    pub stage: Stage,
    /// Whether it is open.
    pub is_enabled: bool,
    /// Why.
    pub rule: Rule,
    /// Its field.
    pub path: FieldPath,
}

/// All there is to say about a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The field.
    pub path: FieldPath,
    /// The version that objects are stored in, which gates act in.
    pub version: String,
    /// The gates above the field, of it and inside it, in this order.
    pub gates: Vec<Say>,
    /// What becomes of it in a create.
    pub create: String,
    /// What becomes of it in an update.
    pub update: String,
}

/// Why nothing can be said about a field.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// No version has a schema and is stored.
    #[error("no version with a schema is the one that objects are stored in")]
    NoSchema,
    /// The field is not one that can be gated.
    #[error("{path} {problem}")]
    NoField {
        /// The field.
        path: FieldPath,
        /// Why.
        problem: String,
        /// The step that does not exist, if that is why, and the names of those that do.
        unknown: Option<(String, Vec<String>)>,
    },
}

/// Explains a field.
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
    let mut gates: Vec<(Say, &Gate)> = Vec::new();
    for gate in &list.gates {
        for own in gate.paths.iter().flatten() {
            if let Some(position) = position(own, path)
                && place::steps(schema, own, version).is_ok()
            {
                let state = gate.state();
                let say = Say {
                    position,
                    gate: list.reference(gate),
                    stage: gate.stage,
                    is_enabled: state.enabled,
                    rule: state.rule,
                    path: own.clone(),
                };
                gates.push((say, gate));
            }
        }
    }
    gates.sort_by_key(|(say, _)| (say.position, say.path.segments().len()));
    let (create, update) = fate(&gates, path, list.policy);
    Ok(Explanation {
        path: path.clone(),
        version: version.to_owned(),
        gates: gates.into_iter().map(|(say, _)| say).collect(),
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

/// What becomes of the field in a create and in an update.
fn fate(gates: &[(Say, &Gate)], path: &FieldPath, policy: Policy) -> (String, String) {
    let mut deciding = gates
        .iter()
        .filter(|(say, _)| say.position != Position::Inside);
    if let Some((closed, _)) = deciding.clone().find(|(say, _)| !say.is_enabled) {
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
        .find(|(say, _)| say.position == Position::Inside && !say.is_enabled);
    let but = inside.map_or_else(String::new, |(say, _)| format!(", except {}", say.path));
    let deprecated = deciding.find(|(say, _)| say.stage == Stage::Deprecated);
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

/// The first step of a path that a schema does not have, and what it has there.
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
