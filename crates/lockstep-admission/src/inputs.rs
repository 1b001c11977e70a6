//! Inputs of expressions, and their evaluation.

use std::collections::BTreeSet;

use lockstep_cel::rule::{OUT_OF_BUDGET, REQUEST_COST_MAX};
use lockstep_cel::{
    Activation, Arena, Budget, EXPRESSION_COST_MAX, EvalError, Opaque, Program, Value as CelValue,
};
use lockstep_object::{Object, Value};

use crate::binding::Param;
use crate::conditions::{Bindings, MatchResult};
use crate::facts::Facts;
use crate::policy::Common;
use crate::request::{Request, ResourceVersion};

/// A null that inputs can refer to.
pub(crate) static NULL: Value = Value::Null;

/// Inputs that are the same for all expressions on one version of the object.
#[derive(Debug)]
pub(crate) struct Surroundings {
    request: Value,
    namespace: Value,
    authorizer: Opaque,
    check: Opaque,
}

impl Surroundings {
    pub(crate) fn new(request: &Request, matched: &ResourceVersion, facts: &dyn Facts) -> Self {
        let authorization = facts.authorization();
        let namespace = facts
            .namespace()
            .filter(|_| !request.enclosing_namespace().is_empty());
        Self {
            request: request.describe(matched),
            namespace: namespace.map_or(Value::Null, |namespace| namespace.as_value().clone()),
            authorizer: Opaque::Authorizer(authorization.clone()),
            check: Opaque::ResourceCheck(authorization.resource(request.authorized_resource())),
        }
    }
}

/// Variables of one evaluation.
#[derive(Clone, Copy)]
pub(crate) struct Inputs<'a> {
    pub(crate) surroundings: &'a Surroundings,
    pub(crate) object: &'a Value,
    pub(crate) old: &'a Value,
    pub(crate) params: &'a Value,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(
        surroundings: &'a Surroundings,
        object: Option<&'a Object>,
        old: Option<&'a Object>,
        param: Option<&'a Param>,
    ) -> Self {
        let value = |object: Option<&'a Object>| object.map_or(&NULL, Object::as_value);
        Self {
            surroundings,
            object: value(object),
            old: value(old),
            params: param.map_or(&NULL, |param| &param.value),
        }
    }

    /// The variables of an expression of a policy.
    pub(crate) fn activation(&self, common: &'a Common) -> Activation<'a> {
        let Self {
            surroundings,
            object,
            old,
            params,
        } = *self;
        let mut activation = Activation::new()
            .with_json("object", object)
            .with_json("oldObject", old)
            .with_json("request", &surroundings.request)
            .with_json("params", params)
            .with_json("namespaceObject", &surroundings.namespace)
            .with_opaque("authorizer", &surroundings.authorizer)
            .with_opaque("authorizer.requestResource", &surroundings.check);
        // Of several variables with one name, the last counts, also for those between them.
        let mut seen = BTreeSet::new();
        for variable in common.variables.iter().rev() {
            if let (Ok(program), true) = (&variable.program, seen.insert(&*variable.name)) {
                activation = activation.with_lazy(&variable.name, program);
            }
        }
        activation
    }

    /// Evaluates the match conditions of a policy.
    pub(crate) fn meets_conditions(&self, common: &Common) -> MatchResult {
        if common.conditions.is_empty() {
            return MatchResult::Matches;
        }
        let Surroundings {
            request,
            namespace,
            authorizer,
            check,
        } = self.surroundings;
        let bindings = Bindings {
            object: self.object,
            old_object: self.old,
            request,
            namespace,
            params: self.params,
            authorizer,
            check,
        };
        common.conditions.evaluate(&bindings).result
    }
}

/// An error of an evaluation, with its class for metrics.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) class: ErrorClass,
}

/// Value of the metric label `error_type`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// No error.
    None,
    /// The expression does not compile.
    Compile,
    /// The cost budget is used up.
    OutOfBudget,
    /// Anything else.
    Invalid,
}

impl ErrorClass {
    /// The label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "no_error",
            Self::Compile => "compile_error",
            Self::OutOfBudget => "out_of_budget",
            Self::Invalid => "invalid_error",
        }
    }
}

impl Failure {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            class: ErrorClass::Invalid,
        }
    }
}

/// A budget for one expression with its variables.
pub(crate) fn budget() -> Budget<'static> {
    Budget::of_policy(EXPRESSION_COST_MAX, REQUEST_COST_MAX)
}

/// Evaluates a compiled expression.
pub(crate) fn evaluate<'a>(
    program: &'a Result<Program, String>,
    activation: &Activation<'a>,
    arena: &'a Arena,
    budget: &mut Budget<'_>,
) -> Result<CelValue<'a>, Failure> {
    let program = program.as_ref().map_err(|error| Failure {
        message: error.clone(),
        class: ErrorClass::Compile,
    })?;
    program
        .evaluate(activation, arena, budget)
        .map_err(|error| {
            if error == EvalError::CostLimit && budget.is_out_of_total() {
                return Failure {
                    message: OUT_OF_BUDGET.to_owned(),
                    class: ErrorClass::OutOfBudget,
                };
            }
            let text = program.text();
            Failure::invalid(format!("expression '{text}' resulted in error: {error}"))
        })
}
