//! `matchConditions`: CEL expressions that evaluate whether a webhook or policy applies to a request.

use std::sync::{Arc, LazyLock};

use lockstep_cel::authorizer::{Authorization, ResourceAttributes};
pub use lockstep_cel::context::admission_environment as environment;
use lockstep_cel::{
    Activation, Arena, Budget, EXPRESSION_COST_MAX, Env, EvalError, Opaque, Program, Type,
    Value as CelValue, Version, issue,
};
use lockstep_object::Value;

/// CEL cost budget of all conditions of one webhook together.
const COST_MAX: u64 = 2_500_000;
/// Error message once the cost budget is exhausted.
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

/// Compiled match conditions of a webhook.
#[derive(Debug, Default)]
pub struct Conditions {
    all: Vec<Condition>,
}

#[derive(Debug)]
struct Condition {
    expression: String,
    program: Result<Program, String>,
}

/// CEL variables of a match condition.
pub struct Bindings<'a> {
    /// New object, or null.
    pub object: &'a Value,
    /// Current object, or null.
    pub old_object: &'a Value,
    /// `AdmissionRequest` without its objects.
    pub request: &'a Value,
    /// Authorizer behind the `authorizer` variable.
    pub authorization: &'a Authorization,
    /// Resource of the request, for `authorizer.requestResource`.
    pub resource: &'a ResourceAttributes,
}

/// Result of evaluating match conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evaluation {
    /// Overall result of the conditions.
    pub result: MatchResult,
    /// Number of conditions whose evaluation failed.
    pub errors: u64,
}

/// Overall result of a set of match conditions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MatchResult {
    /// All conditions are true.
    Matches,
    /// At least one condition is false.
    DoesNotMatch,
    /// No condition is false, but the evaluation of at least one failed.
    Error(String),
}

impl Conditions {
    /// Compiles the conditions of a stored webhook. Uses the newest CEL environment, since a newer server may have
    /// accepted it.
    pub fn read(conditions: &Value) -> Self {
        static STORED: LazyLock<Env> = LazyLock::new(|| environment(Version::LATEST));
        let all = conditions.as_array().into_iter().flatten();
        let all = all.map(|condition| {
            let expression = condition["expression"].as_str().unwrap_or_default();
            Condition {
                expression: expression.to_owned(),
                program: STORED
                    .compile_to(expression, &[Type::Bool], "must evaluate to bool")
                    .map_err(|issues| format!("compilation error: {}", issue::render(&issues))),
            }
        });
        Self { all: all.collect() }
    }

    /// True if there are no conditions.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Evaluates all conditions. A false condition takes precedence over evaluation errors.
    pub fn evaluate(&self, bindings: &Bindings<'_>) -> Evaluation {
        let Bindings {
            object,
            old_object,
            request,
            authorization,
            resource,
        } = bindings;
        let check = Opaque::ResourceCheck(authorization.resource((*resource).clone()));
        let authorizer = Opaque::Authorizer((*authorization).clone());
        let null = Value::Null;
        let activation = Activation::new()
            .with_json("object", object)
            .with_json("oldObject", old_object)
            .with_json("namespaceObject", &null)
            .with_json("request", request)
            .with_opaque("authorizer", &authorizer)
            .with_opaque("authorizer.requestResource", &check);
        let arena = Arena::new();
        let mut left = COST_MAX;
        let mut errors = Vec::new();
        let evaluation = |result, errors: &[String]| Evaluation {
            result,
            errors: errors.len() as u64,
        };
        for condition in &self.all {
            let program = match &condition.program {
                Ok(program) => program,
                Err(error) => {
                    errors.push(error.clone());
                    continue;
                }
            };
            let mut budget = Budget::new(left.min(EXPRESSION_COST_MAX));
            let value = program.evaluate(&activation, &arena, &mut budget);
            left = left.saturating_sub(budget.spent());
            match value {
                Ok(CelValue::Bool(true)) => {}
                Ok(CelValue::Bool(false)) => return evaluation(MatchResult::DoesNotMatch, &errors),
                Ok(_) => errors.push(condition.failed("it is no bool")),
                Err(EvalError::CostLimit) if left == 0 => {
                    let result = MatchResult::Error(OUT_OF_BUDGET.to_owned());
                    return evaluation(result, &errors);
                }
                Err(error) => errors.push(condition.failed(&error.to_string())),
            }
        }
        let mut distinct = errors.clone();
        distinct.dedup();
        let result = match distinct.as_slice() {
            [] => MatchResult::Matches,
            [one] => MatchResult::Error(one.clone()),
            several => MatchResult::Error(format!("[{}]", several.join(", "))),
        };
        evaluation(result, &errors)
    }
}

impl Condition {
    fn failed(&self, error: &str) -> String {
        format!(
            "expression '{}' resulted in error: {error}",
            self.expression
        )
    }
}

/// Binds a user to the authorizer, for use in CEL expressions.
pub(super) fn authorization(
    authorizer: lockstep_authz::Authorizer,
    user: &lockstep_authz::User,
) -> Authorization {
    Authorization::new(Arc::new(super::authorizer::OfRequest {
        authorizer,
        user: user.clone(),
    }))
}
