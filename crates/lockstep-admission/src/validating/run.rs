//! Evaluation of the validations and audit annotations of one policy.

use lockstep_cel::rule::{OUT_OF_BUDGET, REQUEST_COST_MAX, usable_message};
use lockstep_cel::{Activation, Arena, Budget, EXPRESSION_COST_MAX, Value as CelValue};
use lockstep_object::Reason;

use crate::inputs::{ErrorClass, Inputs, evaluate};
use crate::policy::{AuditAnnotation, ValidatingPolicy, Validation};

/// Outcome of one validation.
pub(super) struct Decision {
    pub(super) index: usize,
    /// The message; none if the validation holds.
    pub(super) failure: Option<String>,
    /// True if the expression could not be evaluated.
    pub(super) is_error: bool,
    pub(super) reason: Reason,
    pub(super) class: ErrorClass,
}

impl Decision {
    pub(super) fn error(index: usize, message: String) -> Self {
        Self {
            index,
            failure: Some(message),
            is_error: true,
            reason: Reason::Invalid,
            class: ErrorClass::Invalid,
        }
    }
}

/// Outcome of one audit annotation.
pub(super) enum AuditResult {
    /// Key and value.
    Value(Box<str>, String),
    /// There is nothing to say.
    Nothing,
    /// The expression could not be evaluated.
    Error(String),
}

/// Units that are left for all expressions of a policy together.
struct Purse(u64);

impl Purse {
    fn budget(&self) -> Budget<'static> {
        Budget::of_policy(EXPRESSION_COST_MAX, self.0)
    }

    fn pay(&mut self, budget: &Budget<'_>) {
        self.0 = self.0.saturating_sub(budget.spent());
    }
}

/// Evaluates all validations, then all audit annotations. Variables are evaluated once for each of the two.
pub(super) fn run(
    policy: &ValidatingPolicy,
    inputs: Inputs<'_>,
) -> (Vec<Decision>, Vec<AuditResult>) {
    let arena = Arena::new();
    let activation = inputs.activation(&policy.common);
    let mut purse = Purse(REQUEST_COST_MAX);
    let mut decisions = Vec::with_capacity(policy.validations.len());
    for (index, validation) in policy.validations.iter().enumerate() {
        let decision = decide(index, validation, &activation, &arena, &mut purse);
        let is_out_of_budget = decision.class == ErrorClass::OutOfBudget;
        decisions.push(decision);
        if is_out_of_budget {
            // No further expression runs: the policy has one outcome.
            return (decisions.split_off(decisions.len() - 1), Vec::new());
        }
    }
    let arena = Arena::new();
    let activation = inputs.activation(&policy.common);
    let mut purse = Purse(REQUEST_COST_MAX);
    let audited = policy
        .audit_annotations
        .iter()
        .map(|annotation| audit(annotation, &activation, &arena, &mut purse));
    (decisions, audited.collect())
}

fn decide<'a>(
    index: usize,
    validation: &'a Validation,
    activation: &Activation<'a>,
    arena: &'a Arena,
    purse: &mut Purse,
) -> Decision {
    let mut budget = purse.budget();
    let value = evaluate(&validation.program, activation, arena, &mut budget);
    purse.pay(&budget);
    match value {
        Ok(CelValue::Bool(true)) => Decision {
            index,
            failure: None,
            is_error: false,
            reason: validation.reason,
            class: ErrorClass::None,
        },
        Ok(_) => match message(validation, activation, arena, purse) {
            Ok(message) => Decision {
                index,
                failure: Some(message),
                is_error: false,
                reason: validation.reason,
                class: ErrorClass::None,
            },
            Err(error) => Decision::error(index, error),
        },
        Err(failure) => Decision {
            class: failure.class,
            ..Decision::error(index, failure.message)
        },
    }
}

/// The message of a failed validation: that of `messageExpression`, else `message`, else the expression itself.
fn message<'a>(
    validation: &'a Validation,
    activation: &Activation<'a>,
    arena: &'a Arena,
    purse: &mut Purse,
) -> Result<String, String> {
    if let Some(program) = &validation.message_program {
        let mut budget = purse.budget();
        let value = program.evaluate(activation, arena, &mut budget);
        purse.pay(&budget);
        if budget.is_out_of_total() {
            return Err(format!("failed messageExpression: {OUT_OF_BUDGET}"));
        }
        if let Ok(CelValue::String(text)) = value
            && let Some(text) = usable_message(text)
        {
            return Ok(text.to_owned());
        }
    }
    Ok(match validation.message.trim() {
        "" => format!("failed expression: {}", validation.expression.trim()),
        message => message.to_owned(),
    })
}

fn audit<'a>(
    annotation: &'a AuditAnnotation,
    activation: &Activation<'a>,
    arena: &'a Arena,
    purse: &mut Purse,
) -> AuditResult {
    let mut budget = purse.budget();
    let value = evaluate(&annotation.program, activation, arena, &mut budget);
    purse.pay(&budget);
    match value {
        Ok(CelValue::String(text)) if text.trim().is_empty() => AuditResult::Nothing,
        Ok(CelValue::String(text)) => {
            AuditResult::Value(annotation.key.clone(), text.trim().to_owned())
        }
        Ok(CelValue::Null) => AuditResult::Nothing,
        Ok(other) => AuditResult::Error(format!(
            "valueExpression '{}' resulted in unsupported return type: {}. Return type must be either string or null.",
            annotation.expression,
            other.type_name()
        )),
        Err(failure) => AuditResult::Error(failure.message),
    }
}
