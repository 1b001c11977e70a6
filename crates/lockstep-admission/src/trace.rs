//! Traces: why a policy did or did not change or deny an object.

use lockstep_object::Value;

/// One look at one policy.
#[derive(Clone, PartialEq, Debug)]
pub struct Trace {
    /// Name of the policy.
    pub policy: Box<str>,
    /// Name of the binding; empty if none was reached.
    pub binding: Box<str>,
    /// Namespace and name of the parameter: `ns/name`; empty without one.
    pub param: String,
    /// The pass, from zero.
    pub pass: usize,
    /// Outcome.
    pub event: Event,
}

/// Outcome for one policy, binding and parameter.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// A part of `matchConstraints` does not match.
    NotMatched(&'static str),
    /// A part of the binding's `matchResources` does not match.
    NotBound(&'static str),
    /// The parameters cannot be looked up.
    Unconfigured(String),
    /// There are no parameters, which the binding allows.
    NoParams,
    /// A match condition is false.
    Skipped(Box<str>),
    /// The match conditions failed.
    ConditionError(String),
    /// A mutation ran.
    Mutated(Mutated),
    /// A validation ran.
    Validated(Validated),
}

/// Outcome of one mutation.
#[derive(Clone, PartialEq, Debug)]
pub struct Mutated {
    /// Name of the mutation.
    pub mutation: Box<str>,
    /// Changes as a JSON patch; empty if there are none.
    pub patch: Vec<Value>,
    /// The error, if the mutation failed.
    pub error: Option<String>,
    /// True if a `test` of the JSON patch failed.
    pub is_untested: bool,
    /// True if the result was discarded, since the binding is a dry run.
    pub is_dry_run: bool,
    /// True if the policy ran before, in this pass or an earlier one.
    pub is_again: bool,
}

/// Outcome of one validation.
#[derive(Clone, PartialEq, Debug)]
pub struct Validated {
    /// Index of the validation.
    pub index: usize,
    /// The message, if it failed.
    pub failure: Option<String>,
    /// True if the expression could not be evaluated.
    pub is_error: bool,
}
