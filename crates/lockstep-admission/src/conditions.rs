//! `matchConditions`: CEL expressions that evaluate whether a webhook or policy applies to a request.

use lockstep_cel::rule::{MATCH_CONDITIONS_COST_MAX, OUT_OF_BUDGET};
use lockstep_cel::{
    Activation, Arena, Budget, EXPRESSION_COST_MAX, Env, EvalError, Opaque, Program, Type,
    Value as CelValue, issue,
};
use lockstep_object::Value;

use crate::envs::{self, HasParams, Use};

/// Compiled match conditions of a webhook or policy.
#[derive(Debug, Default)]
pub struct Conditions {
    all: Vec<Condition>,
}

#[derive(Debug)]
struct Condition {
    name: Box<str>,
    expression: Box<str>,
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
    /// Namespace of the object, or null.
    pub namespace: &'a Value,
    /// Parameters of a policy, or null.
    pub params: &'a Value,
    /// The `authorizer` variable.
    pub authorizer: &'a Opaque,
    /// The `authorizer.requestResource` variable.
    pub check: &'a Opaque,
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
    /// This condition is false.
    DoesNotMatch(Box<str>),
    /// No condition is false, but the evaluation of at least one failed.
    Error(String),
}

impl Conditions {
    /// Compiles stored conditions, which may use every CEL feature, since a newer server may have accepted them.
    pub fn read(conditions: &Value, params: HasParams) -> Self {
        let all = conditions.as_array().into_iter().flatten();
        let env = envs::stored(Use::Conditions, params);
        let all = all.map(|condition| Condition::compile(condition, &env));
        Self { all: all.collect() }
    }

    /// True if a condition uses the variable.
    pub fn use_variable(&self, name: &str) -> bool {
        let mut programs = self.all.iter().flat_map(|condition| &condition.program);
        programs.any(|program| program.uses_variable(name))
    }

    /// The conditions that compile, with their positions.
    pub fn programs(&self) -> impl Iterator<Item = (usize, &Program)> {
        let all = self.all.iter().enumerate();
        all.filter_map(|(index, condition)| Some((index, condition.program.as_ref().ok()?)))
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
            namespace,
            params,
            authorizer,
            check,
        } = bindings;
        let activation = Activation::new()
            .with_json("object", object)
            .with_json("oldObject", old_object)
            .with_json("namespaceObject", namespace)
            .with_json("params", params)
            .with_json("request", request)
            .with_opaque("authorizer", authorizer)
            .with_opaque("authorizer.requestResource", check);
        let arena = Arena::new();
        let mut left = MATCH_CONDITIONS_COST_MAX;
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
                Ok(CelValue::Bool(false)) => {
                    let result = MatchResult::DoesNotMatch(condition.name.clone());
                    return evaluation(result, &errors);
                }
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
    fn compile(condition: &Value, env: &Env) -> Self {
        let text = |field: &str| condition[field].as_str().unwrap_or_default();
        let program = env.compile_to(text("expression"), &[Type::Bool], "must evaluate to bool");
        Self {
            name: text("name").into(),
            expression: text("expression").into(),
            program: program
                .map_err(|issues| format!("compilation error: {}", issue::render(&issues))),
        }
    }

    fn failed(&self, error: &str) -> String {
        format!(
            "expression '{}' resulted in error: {error}",
            self.expression
        )
    }
}
