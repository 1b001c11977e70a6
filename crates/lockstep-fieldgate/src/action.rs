//! What a gate did to a write, and how users are told.

use std::fmt::Write as _;

use lockstep_object::field::FieldError;
use lockstep_object::field::Path;
use lockstep_object::{Value, go, json};

use crate::gates::Gates;
use crate::path::{is_plain, quoted};
use crate::{FieldErrors, Policy};

/// How many fields of one gate a user is told about one by one.
const TOLD_MAX: usize = 10;

/// What became of a gated field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The request had it, and the stored object does not.
    Dropped,
    /// The request had another value than is stored.
    Kept,
    /// The request did not have what is stored.
    RemovalRefused,
    /// The request used it, and its gate is open.
    DeprecatedUsed,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Dropped,
        Self::Kept,
        Self::RemovalRefused,
        Self::DeprecatedUsed,
    ];

    /// The word for it in metrics and audit logs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Kept => "kept",
            Self::RemovalRefused => "removal_refused",
            Self::DeprecatedUsed => "deprecated_used",
        }
    }

    /// Whether a closed gate did it, so that the object became another.
    pub fn is_of_closed(self) -> bool {
        match self {
            Self::Dropped | Self::Kept | Self::RemovalRefused => true,
            Self::DeprecatedUsed => false,
        }
    }
}

/// A step of a place in an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Field(Box<str>),
    Key(Box<str>),
    Element(Vec<(Box<str>, Value)>),
}

/// Something that a gate did at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub(crate) gate: u32,
    pub(crate) path: u32,
    /// What it did.
    pub kind: Kind,
    pub(crate) parts: Vec<Part>,
}

impl Action {
    /// Where: `spec.jobs[name="web"].probe`.
    pub fn place(&self) -> String {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Field(name) if is_plain(name) && text.is_empty() => text.push_str(name),
                Part::Field(name) if is_plain(name) => {
                    text.push('.');
                    text.push_str(name);
                }
                Part::Field(name) => text.push_str(&quoted(name)),
                Part::Key(key) => {
                    text.push('[');
                    text.push_str(key);
                    text.push(']');
                }
                Part::Element(keys) => {
                    let keys = keys.iter().map(|(name, value)| match value {
                        Value::String(value) => format!("{name}={}", go::quote(value)),
                        other => format!("{name}={}", json::encode_to_string(other)),
                    });
                    let keys: Vec<String> = keys.collect();
                    // Writing to a text cannot fail.
                    let _written = write!(text, "[{}]", keys.join(","));
                }
            }
        }
        text
    }
}

impl Gates {
    /// The name of the gate that did something.
    pub fn name(&self, action: &Action) -> &str {
        &self.told[action.gate as usize].name
    }

    /// What users are told about fields of closed gates, in the order of `actions`. Where such a request is refused,
    /// only that nothing was removed.
    pub fn warnings(&self, actions: &[Action]) -> Vec<String> {
        let told = actions.iter().filter(|action| match action.kind {
            Kind::Dropped | Kind::Kept => self.policy == Policy::Drop,
            Kind::RemovalRefused => true,
            Kind::DeprecatedUsed => false,
        });
        let told: Vec<&Action> = told.collect();
        let mut warnings = Vec::new();
        for of_gate in told.chunk_by(|one, other| one.gate == other.gate) {
            let shown = of_gate.iter().take(TOLD_MAX);
            warnings.extend(shown.map(|action| self.warning(action)));
            if of_gate.len() > TOLD_MAX {
                let more = of_gate.len() - TOLD_MAX;
                let fields = if more == 1 { "field" } else { "fields" };
                let gate = self.closed(of_gate[0]);
                warnings.push(format!("{more} more {fields} dropped or kept: {gate}"));
            }
        }
        warnings
    }

    /// What users of deprecated fields are told.
    pub fn deprecations(&self, actions: &[Action]) -> Vec<String> {
        let used = actions
            .iter()
            .filter(|action| action.kind == Kind::DeprecatedUsed);
        let told = used.map(|action| match &self.told[action.gate as usize].warning {
            Some(warning) => warning.to_string(),
            None => format!("{}: field is deprecated", action.place()),
        });
        told.collect()
    }

    /// What is refused, where a definition asks for it.
    pub fn refusals(&self, actions: &[Action]) -> FieldErrors {
        let refused = actions.iter().filter(|action| {
            self.policy == Policy::Reject && matches!(action.kind, Kind::Dropped | Kind::Kept)
        });
        let errors = refused.map(|action| {
            let place = action.place();
            FieldError::forbidden(&Path::ROOT.field(&place), self.closed(action))
        });
        errors.collect()
    }

    fn warning(&self, action: &Action) -> String {
        let (place, gate) = (action.place(), self.closed(action));
        match action.kind {
            Kind::Dropped => format!("{place}: dropped: {gate}"),
            Kind::Kept => format!("{place}: not updated: {gate}, the stored value was kept"),
            Kind::RemovalRefused => {
                format!("{place}: not removed: {gate}, the stored value was kept")
            }
            Kind::DeprecatedUsed => format!("{place}: field is deprecated"),
        }
    }

    fn closed(&self, action: &Action) -> String {
        let told = &self.told[action.gate as usize];
        let (reference, stage) = (&told.reference, told.stage.as_str());
        format!("feature gate {reference} ({stage}) is disabled")
    }
}
