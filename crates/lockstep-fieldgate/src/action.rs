//! Actions of the gate step, and the warnings and errors reported for them.

use std::fmt::Write as _;

use lockstep_object::field::FieldError;
use lockstep_object::field::Path;
use lockstep_object::{Value, go, json};

use crate::gates::Gates;
use crate::path::{is_plain, quoted};
use crate::{FieldErrors, Policy};

/// Maximum number of warnings per gate; further fields are counted in one line.
const WARNINGS_PER_GATE_MAX: usize = 10;

/// The effect of a gate on one field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The request set a field that the stored object lacks; it was removed.
    Dropped,
    /// The request changed the stored value; the stored value was kept.
    Kept,
    /// The request removed a stored field; the stored value was restored.
    RemovalRefused,
    /// The request removed the list element that held a stored field, and the field with it.
    ElementRemoved,
    /// The request used a deprecated field whose gate is open.
    DeprecatedUsed,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Dropped,
        Self::Kept,
        Self::RemovalRefused,
        Self::ElementRemoved,
        Self::DeprecatedUsed,
    ];

    /// Label value in metrics and audit annotations.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dropped => "dropped",
            Self::Kept => "kept",
            Self::RemovalRefused => "removal_refused",
            Self::ElementRemoved => "element_removed",
            Self::DeprecatedUsed => "deprecated_used",
        }
    }

    /// True if a closed gate changed the object.
    pub fn is_of_closed(self) -> bool {
        match self {
            Self::Dropped | Self::Kept | Self::RemovalRefused => true,
            Self::ElementRemoved | Self::DeprecatedUsed => false,
        }
    }
}

/// One element of the path of an action.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Part {
    Field(Box<str>),
    Key(Box<str>),
    Element(Vec<(Box<str>, Value)>),
}

/// The effect of a gate on one field of a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    pub(crate) gate: u32,
    pub(crate) path: u32,
    /// The effect.
    pub kind: Kind,
    pub(crate) parts: Vec<Part>,
}

impl Action {
    /// Path of the field: `spec.jobs[name="web"].probe`.
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
                    // Writing to a `String` cannot fail.
                    let _written = write!(text, "[{}]", keys.join(","));
                }
            }
        }
        text
    }
}

impl Gates {
    /// Name of the gate that acted.
    pub fn name(&self, action: &Action) -> &str {
        &self.info[action.gate as usize].name
    }

    /// Warnings about fields of closed gates, in the order of `actions`. Under policy `Reject` only refused removals
    /// and removed elements are warned of, since the rest are errors.
    pub fn warnings(&self, actions: &[Action]) -> Vec<String> {
        let warned = actions.iter().filter(|action| match action.kind {
            Kind::Dropped | Kind::Kept => self.policy == Policy::Drop,
            Kind::RemovalRefused | Kind::ElementRemoved => true,
            Kind::DeprecatedUsed => false,
        });
        let warned: Vec<&Action> = warned.collect();
        let mut warnings = Vec::new();
        for of_gate in warned.chunk_by(|one, other| one.gate == other.gate) {
            let shown = of_gate.iter().take(WARNINGS_PER_GATE_MAX);
            warnings.extend(shown.map(|action| self.warning(action)));
            if of_gate.len() > WARNINGS_PER_GATE_MAX {
                let more = of_gate.len() - WARNINGS_PER_GATE_MAX;
                let fields = if more == 1 { "field" } else { "fields" };
                let gate = self.closed(of_gate[0]);
                warnings.push(format!("{more} more {fields} dropped or kept: {gate}"));
            }
        }
        warnings
    }

    /// Warnings about uses of deprecated fields.
    pub fn deprecations(&self, actions: &[Action]) -> Vec<String> {
        let used = actions
            .iter()
            .filter(|action| action.kind == Kind::DeprecatedUsed);
        let warned = used.map(|action| match &self.info[action.gate as usize].warning {
            Some(warning) => warning.to_string(),
            None => format!("{}: field is deprecated", action.place()),
        });
        warned.collect()
    }

    /// Validation errors for changes of closed fields, under policy `Reject`.
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
            Kind::ElementRemoved => {
                format!(
                    "{place}: removed with its list element: {gate}, the value cannot be set again"
                )
            }
            Kind::DeprecatedUsed => format!("{place}: field is deprecated"),
        }
    }

    fn closed(&self, action: &Action) -> String {
        let gate = &self.info[action.gate as usize];
        let (reference, stage) = (&gate.reference, gate.stage.as_str());
        format!("feature gate {reference} ({stage}) is disabled")
    }
}
