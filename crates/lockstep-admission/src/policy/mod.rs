//! Compiled policies. Compilation never fails as a whole: what does not compile fails when it is evaluated, under the
//! failure policy, because a newer server may have accepted it.

mod compile;
mod expressions;
mod mutating;
mod scope;
mod validating;

pub(crate) use compile::Compiler;
pub(crate) use expressions::ExpressionKind;
pub use expressions::StoredExpressions;
pub use mutating::{
    Convergence, Dialect, Form, MutatingPolicy, Mutation, Reinvocation, Safety, SafetyAction,
    SafetyCondition, SafetyMode,
};
pub use scope::{ScopePath, ScopePathError, ScopePathStep};
pub use validating::{AuditAnnotation, ValidatingPolicy, Validation};

use std::sync::Arc;

use lockstep_cel::{Program, Version};
use lockstep_object::field::FieldErrors;
use lockstep_object::{Object, Value};

use crate::conditions::Conditions;
use crate::envs::HasParams;
use crate::facts::ParamKind;
use crate::look::{some, text};
use crate::matching::MatchResources;

/// Effect of an evaluation error on the request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FailurePolicy {
    /// The request is denied.
    Fail,
    /// The error is ignored.
    Ignore,
}

/// A named expression of `variables`.
#[derive(Debug)]
pub struct Variable {
    /// The name.
    pub name: Box<str>,
    /// The compiled expression, or the reason why it does not compile.
    pub program: Result<Arc<Program>, String>,
}

/// Common parts of mutating and validating policies.
#[derive(Debug)]
pub struct Common {
    /// Name of the policy.
    pub name: Box<str>,
    /// `paramKind`.
    pub param_kind: Option<ParamKind>,
    /// `matchConstraints`.
    pub constraints: MatchResources,
    /// `matchConditions`.
    pub conditions: Conditions,
    /// `variables`, in order.
    pub variables: Vec<Variable>,
    /// `failurePolicy`.
    pub failure_policy: FailurePolicy,
}

impl Common {
    fn read(policy: &Object, variables: Vec<Variable>) -> Self {
        let null = Value::Null;
        let spec = policy.at(&["spec"]).unwrap_or(&null);
        Self {
            name: policy.name().into(),
            param_kind: param_kind(spec),
            constraints: MatchResources::read(&spec["matchConstraints"]),
            conditions: Conditions::read(&spec["matchConditions"], has_params(spec)),
            variables,
            failure_policy: match text(spec, "failurePolicy") {
                "Ignore" => FailurePolicy::Ignore,
                _ => FailurePolicy::Fail,
            },
        }
    }

    /// True if a condition or variable uses this variable of the environment.
    fn uses_variable(&self, name: &str) -> bool {
        let mut variables = self.variables.iter();
        self.conditions.use_variable(name)
            || variables.any(|variable| {
                let program = variable.program.as_ref();
                program.is_ok_and(|program| program.uses_variable(name))
            })
    }
}

fn uses(program: &Result<Program, String>, name: &str) -> bool {
    program
        .as_ref()
        .is_ok_and(|program| program.uses_variable(name))
}

fn param_kind(spec: &Value) -> Option<ParamKind> {
    let kind = some(spec, "paramKind")?;
    Some(ParamKind {
        api_version: text(kind, "apiVersion").into(),
        kind: text(kind, "kind").into(),
    })
}

fn has_params(spec: &Value) -> HasParams {
    if some(spec, "paramKind").is_some() {
        HasParams::Yes
    } else {
        HasParams::No
    }
}

/// Compiles the expressions of a policy for validation, and returns all errors. Expressions that `stored` has compile
/// with every CEL feature, others with those of `version`.
pub(crate) fn expression_errors(
    policy: &Object,
    stored: &StoredExpressions,
    version: Version,
    purpose: PolicyKind,
) -> FieldErrors {
    let mut compiler = Compiler::new(policy, stored, version);
    match purpose {
        PolicyKind::Mutating => drop(MutatingPolicy::compile_with(policy, &mut compiler)),
        PolicyKind::Validating => drop(ValidatingPolicy::compile_with(policy, &mut compiler)),
    }
    compiler.into_errors()
}

/// The two kinds of policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyKind {
    /// `MutatingAdmissionPolicy`
    Mutating,
    /// `ValidatingAdmissionPolicy`
    Validating,
}
