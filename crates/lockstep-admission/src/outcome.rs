//! Outcome of a phase for the server: the error, warnings, annotations, conflicts and counts.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_object::ApiError;

use crate::binding::ValidationAction;
use crate::inputs::ErrorClass;
use crate::trace::Trace;

/// Outcome of a phase.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The denial, if the request is denied.
    pub error: Option<ApiError>,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Policies that changed the object, with the fields that they wrote, as `.spec.color`.
    pub mutated: BTreeMap<Box<str>, BTreeSet<String>>,
    /// Audit annotations.
    pub annotations: Vec<Annotation>,
    /// Policies that undo the changes of one another.
    pub conflicts: Vec<Conflict>,
    /// Checks by policies, for metrics.
    pub checks: Vec<Check>,
    /// Everything that happened, if it was asked for.
    pub trace: Vec<Trace>,
}

/// An audit annotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// True if the value shows parts of the object, so that it belongs to the level `Request` and above.
    pub is_detailed: bool,
}

/// Two writers that overwrite the changes of one another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Conflict {
    /// The policy whose mutation is not in the object.
    pub policy: Box<str>,
    /// The last writer of the field.
    pub writer: Writer,
    /// The field: `.spec.color`.
    pub field: String,
}

/// Origin of a change.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Writer {
    /// A mutating policy.
    Policy(Box<str>),
    /// A webhook.
    Webhook(Box<str>),
    /// A built-in plugin, or a writer that was not named.
    Other,
}

impl std::fmt::Display for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Policy(name) => write!(f, "policy {name:?}"),
            Self::Webhook(name) => write!(f, "webhook {name:?}"),
            Self::Other => f.write_str("another admission plugin"),
        }
    }
}

/// One check by a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// Name of the policy.
    pub policy: Box<str>,
    /// Name of the binding.
    pub binding: Box<str>,
    /// Class of the error.
    pub class: ErrorClass,
    /// True if the check fails, under the failure policy.
    pub is_rejection: bool,
    /// Consequences of a failed validation; empty for mutations.
    pub actions: Vec<ValidationAction>,
}
