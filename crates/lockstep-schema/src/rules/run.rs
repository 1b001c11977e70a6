//! Evaluation of CEL rules over an object, within a cost budget.

use std::cell::OnceCell;

use super::{Reason, Rule};
use crate::correlate::{self, Old};
use crate::node::{Additional, Node, Type};
use lockstep_cel::rule::{OUT_OF_BUDGET, REQUEST_COST_MAX, usable_message};
use lockstep_cel::{
    Activation, Arena, Budget, EXPRESSION_COST_MAX, EvalError, Program, Value as CelValue,
};
use lockstep_object::field::{ErrorType, FieldError, FieldErrors, Path};
use lockstep_object::go;
use serde_json::Value;

/// The nearest ancestor (or the value itself) with a known stored counterpart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nearest<'a>(Option<&'a Pair<'a>>);

/// A value with its stored counterpart.
#[derive(Debug)]
struct Pair<'a> {
    node: &'a Node,
    new: &'a Value,
    old: &'a Value,
    /// Compared when the first rule fails: of a long list each element may break one.
    is_unchanged: OnceCell<bool>,
}

impl Nearest<'_> {
    pub(crate) const NONE: Nearest<'static> = Nearest(None);

    fn is_unchanged(self) -> bool {
        self.0.is_some_and(|pair| {
            let compare = || correlate::is_same(pair.node, pair.old, pair.new);
            *pair.is_unchanged.get_or_init(compare)
        })
    }
}

/// The budget is used up: nothing runs any more.
struct Stop;

/// A run of all rules of an object.
pub(crate) struct Evaluation {
    pub(crate) errors: FieldErrors,
    pub(crate) warnings: FieldErrors,
    remaining: u64,
    forgives: bool,
}

impl Evaluation {
    /// Forgives failures of values that did not change.
    pub(crate) fn new() -> Self {
        Self {
            errors: FieldErrors::new(),
            warnings: FieldErrors::new(),
            remaining: REQUEST_COST_MAX,
            forgives: true,
        }
    }

    /// Forgives nothing.
    pub(crate) fn strict() -> Self {
        Self {
            forgives: false,
            ..Self::new()
        }
    }

    /// Runs the rules of a value and of everything below it.
    pub(crate) fn run(&mut self, node: &Node, value: &Value, old: Old<'_>, path: &Path<'_>) {
        // The budget error has been recorded already.
        let _: Result<(), Stop> = self.value(node, value, old, Nearest::NONE, path);
    }

    fn value<'a>(
        &mut self,
        node: &'a Node,
        value: &'a Value,
        old: Old<'a>,
        nearest: Nearest<'a>,
        path: &Path<'_>,
    ) -> Result<(), Stop> {
        if value.is_null() || !node.work.rules {
            return Ok(());
        }
        let pair = old.0.map(|old| Pair {
            node,
            new: value,
            old,
            is_unchanged: OnceCell::new(),
        });
        let nearest = pair.as_ref().map_or(nearest, |pair| Nearest(Some(pair)));
        if !node.rules().is_empty() {
            self.rules(node, value, old, nearest, path)?;
        }
        match value {
            Value::Array(elements) => {
                let Some(items) = node.items().filter(|items| items.work.rules) else {
                    return Ok(());
                };
                let stored = correlate::List::new(node.list_kind(), old);
                for (index, element) in elements.iter().enumerate() {
                    self.value(
                        items,
                        element,
                        stored.element(element),
                        nearest,
                        &path.index(index),
                    )?;
                }
            }
            Value::Object(entries) => {
                if let Additional::Schema(schema) = node.additional() {
                    for (key, value) in entries {
                        self.value(schema, value, old.field(key), nearest, &path.key(key))?;
                    }
                }
                for (key, value) in entries {
                    if let Some(property) = node.properties().get(key) {
                        self.value(property, value, old.field(key), nearest, &path.field(key))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules<'a>(
        &mut self,
        node: &Node,
        value: &'a Value,
        old: Old<'a>,
        nearest: Nearest<'a>,
        path: &Path<'_>,
    ) -> Result<(), Stop> {
        if self.remaining == 0 {
            self.fault(node, path, OUT_OF_BUDGET.to_owned());
            return Err(Stop);
        }
        let old = old.0.filter(|old| !old.is_null());
        for rule in node.rules() {
            let program = match &rule.program {
                Ok(program) => program,
                Err(problem) => {
                    self.fault(node, path, format!("rule compile error: {problem}"));
                    continue;
                }
            };
            if rule.uses_old_self && old.is_none() && !rule.optional_old_self {
                continue;
            }
            let run = Run { rule, value, old };
            if self.holds(node, program, run, path)? {
                continue;
            }
            let detail = self.detail(node, run, path)?;
            let is_forgiven = self.forgives && !rule.uses_old_self && nearest.is_unchanged();
            let list = if is_forgiven {
                &mut self.warnings
            } else {
                &mut self.errors
            };
            list.push_with(|| failure(node, run, path, detail));
        }
        Ok(())
    }

    /// Evaluates the rule; false if it is violated. Evaluation errors are recorded here.
    fn holds(
        &mut self,
        node: &Node,
        program: &Program,
        run: Run<'_>,
        path: &Path<'_>,
    ) -> Result<bool, Stop> {
        let arena = Arena::new();
        let activation = run.activation();
        let mut budget = Budget::new(EXPRESSION_COST_MAX);
        let outcome = program.evaluate(&activation, &arena, &mut budget);
        let name = &run.rule.name;
        if budget.spent() > self.remaining {
            self.fault(node, path, OUT_OF_BUDGET.to_owned());
            return Err(Stop);
        }
        self.remaining -= budget.spent();
        match outcome {
            Ok(value) => return Ok(matches!(value, CelValue::Bool(true))),
            Err(EvalError::Failed(problem)) if problem.starts_with("no such overload") => {
                let detail = format!(
                    "'{problem}': call arguments did not match a supported operator, function or macro signature for \
                     rule: {name}"
                );
                self.fault(node, path, detail);
            }
            Err(error @ (EvalError::CostLimit | EvalError::Memory | EvalError::Work)) => {
                let detail = format!(
                    "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {name}"
                );
                self.fault(node, path, detail);
                return Err(Stop);
            }
            Err(error @ (EvalError::Failed(_) | EvalError::Cancelled)) => {
                self.fault(node, path, format!("{error} evaluating rule: {name}"));
            }
        }
        // The evaluation error is recorded, so the rule counts as satisfied.
        Ok(true)
    }

    fn fault(&mut self, node: &Node, path: &Path<'_>, detail: String) {
        self.errors
            .push(FieldError::invalid(path, node.ty.keyword(), detail));
    }

    /// Error message of a violation: the `messageExpression` result, if it evaluates to a string.
    fn detail(&mut self, node: &Node, run: Run<'_>, path: &Path<'_>) -> Result<String, Stop> {
        let message = || Ok(run.rule.message.to_string());
        let Some(program) = &run.rule.message_expression else {
            return message();
        };
        let arena = Arena::new();
        let activation = run.activation();
        let mut budget = Budget::new(EXPRESSION_COST_MAX);
        let outcome = program.evaluate(&activation, &arena, &mut budget);
        if budget.spent() > self.remaining {
            let detail = "messageExpression evaluation failed due to running out of cost budget, no further validation \
                          rules will be run";
            self.fault(node, path, detail.to_owned());
            return Err(Stop);
        }
        self.remaining -= budget.spent();
        match outcome {
            Ok(CelValue::String(text)) => {
                usable_message(text).map_or_else(message, |text| Ok(text.to_owned()))
            }
            Err(EvalError::CostLimit | EvalError::Memory | EvalError::Work) => {
                let quoted = go::quote(program.text());
                let detail = format!(
                    "no further validation rules will be run due to call cost exceeds limit for messageExpression: \
                     {quoted}"
                );
                self.fault(node, path, detail);
                Err(Stop)
            }
            Ok(_) | Err(EvalError::Failed(_) | EvalError::Cancelled) => message(),
        }
    }
}

/// One rule on one value.
#[derive(Clone, Copy)]
struct Run<'a> {
    rule: &'a Rule,
    value: &'a Value,
    old: Option<&'a Value>,
}

impl<'a> Run<'a> {
    fn activation(&self) -> Activation<'a> {
        let activation = Activation::new().with_json("self", self.value);
        match self.old {
            Some(old) => activation.with_json("oldSelf", old),
            None if self.rule.optional_old_self => activation.with_absent("oldSelf"),
            None => activation,
        }
    }
}

fn failure(node: &Node, run: Run<'_>, path: &Path<'_>, detail: String) -> FieldError {
    let shown = !matches!(node.ty, Type::Object | Type::Array);
    let mut error = match run.rule.reason {
        Reason::Invalid => FieldError::invalid(path, &Value::Null, detail),
        Reason::Forbidden => FieldError::forbidden(path, detail),
        Reason::Required => FieldError::required(path, detail),
        Reason::Duplicate => FieldError::duplicate(path, &Value::Null),
    };
    if matches!(error.error_type, ErrorType::Invalid | ErrorType::Duplicate) {
        error.value = shown.then(|| run.value.into());
    }
    if let Some(below) = &run.rule.field_path {
        error.field = match (path.is_root(), below.starts_with('[')) {
            (true, _) => below.clone(),
            (false, true) => format!("{}{below}", error.field),
            (false, false) => format!("{}.{below}", error.field),
        };
    }
    error
}
