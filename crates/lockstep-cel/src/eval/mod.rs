//! The evaluator: executes a plan within a budget; logical operators absorb errors as CEL defines.

mod attribute;
mod build;
mod call;
mod fold;
mod overload;
mod sort;

pub(crate) use build::build_map;
pub(crate) use call::dispatch_first;
pub(crate) use overload::upstream_name;

use crate::activation::{Activation, Budget};
use crate::plan::{Op, Plan, Step};
use crate::scope::Scope;
use crate::value::{Arena, Eval, Fault, Value, equal};

/// Deepest total nesting of plans that run inside one another through `variables`.
pub(crate) const NESTED_DEPTH_MAX: u32 = 600;

/// One evaluation.
pub(crate) struct Machine<'a, 'b, 'c> {
    pub(crate) plan: &'a Plan,
    pub(crate) activation: &'b Activation<'a>,
    pub(crate) scope: Scope<'a>,
    pub(crate) budget: &'b mut Budget<'c>,
    pub(crate) locals: &'a mut [Value<'a>],
    pub(crate) nested_depth: u32,
}

/// Runs a plan.
pub(crate) fn run<'a>(
    plan: &'a Plan,
    activation: &Activation<'a>,
    arena: &'a Arena,
    budget: &mut Budget<'_>,
    nested_depth: u32,
) -> Eval<'a> {
    let nested_depth = nested_depth + u32::from(plan.depth);
    if nested_depth > NESTED_DEPTH_MAX {
        return Err(Fault::Fixed("variables are nested too deeply"));
    }
    let locals = if plan.slots == 0 {
        &mut []
    } else {
        arena.slots(plan.slots)
    };
    let scope = Scope::new(arena, plan.profile).with_merger(activation.merger());
    let mut machine = Machine {
        plan,
        activation,
        scope,
        budget,
        locals,
        nested_depth,
    };
    machine.step(plan.root)
}

impl<'a> Machine<'a, '_, '_> {
    pub(crate) fn arena(&self) -> &'a Arena {
        self.scope.arena
    }

    pub(crate) fn step(&mut self, step: Step) -> Eval<'a> {
        let plan = self.plan;
        match plan.op(step) {
            Op::Constant(constant) => Ok(constant.view()),
            Op::Computed(constant, cost) => {
                self.budget.charge(*cost)?;
                Ok(constant.view())
            }
            Op::Attribute(attribute) => self.attribute(attribute),
            Op::Call(call) => self.call(call),
            Op::Dispatch(dispatch) => self.dispatch(dispatch),
            Op::Equal(left, right) => self.equality(*left, *right).map(Value::Bool),
            Op::NotEqual(left, right) => {
                self.equality(*left, *right).map(|same| Value::Bool(!same))
            }
            Op::Not(operand) => self.not(*operand),
            Op::And(terms) => self.logic(terms, false),
            Op::Or(terms) => self.logic(terms, true),
            Op::Conditional { condition, yes, no } => match self.step(*condition)? {
                Value::Bool(true) => self.step(*yes),
                Value::Bool(false) => self.step(*no),
                _ => Err(Fault::NoSuchOverload),
            },
            Op::InConstants { needle, list } => self.in_constants(*needle, list),
            Op::Regex(regex) => self.regex(regex),
            Op::OptionalOr {
                target,
                other,
                value,
            } => self.optional_or(*target, *other, *value),
            Op::List(parts) => self.list(parts),
            Op::Map(parts) => self.map(parts),
            Op::Object { name, fields } => self.object(name, fields),
            Op::Fold(fold) => self.fold(fold),
            Op::OptMap {
                target,
                slot,
                body,
                flat,
            } => self.opt_map(*target, *slot, *body, *flat),
            Op::SortBy(sort) => self.sort_by(sort),
            Op::Bind { slot, init, body } => {
                self.locals[*slot] = self.step(*init)?;
                self.step(*body)
            }
            Op::Fail(message) => Err(Fault::Text(message)),
        }
    }

    fn equality(&mut self, left: Step, right: Step) -> Result<bool, Fault<'a>> {
        let (left, right) = (self.step(left), self.step(right));
        let size = match (&left, &right) {
            (Ok(left), Ok(right)) => left.smaller_cost_size(right),
            (Ok(side), Err(_)) | (Err(_), Ok(side)) => side.cost_size().min(1),
            (Err(_), Err(_)) => 1,
        };
        self.budget.charge(crate::cost::tenth(size))?;
        let (left, right) = (left?, right?);
        if !matches!(left, Value::List(_) | Value::Map(_)) {
            return Ok(equal(&left, &right));
        }
        self.budget.poll()?;
        self.scope.equal(&left, &right)
    }

    fn not(&mut self, operand: Step) -> Eval<'a> {
        let operand = self.step(operand);
        self.budget.charge(1)?;
        match operand? {
            Value::Bool(value) => Ok(Value::Bool(!value)),
            _ => Err(Fault::NoSuchOverload),
        }
    }

    /// `&&` stops at the first false, `||` at the first true, whatever came before; else the first fault stays.
    fn logic(&mut self, terms: &[Step], stop: bool) -> Eval<'a> {
        let mut first_fault = None;
        for &term in terms {
            let fault = match self.step(term) {
                Ok(Value::Bool(value)) if value == stop => return Ok(Value::Bool(stop)),
                Ok(Value::Bool(_)) => continue,
                Ok(_) => Fault::NoSuchOverload,
                Err(fault) if fault.is_final() => return Err(fault),
                Err(fault) => fault,
            };
            first_fault = first_fault.or(Some(fault));
        }
        first_fault.map_or(Ok(Value::Bool(!stop)), Err)
    }

    fn optional_or(&mut self, target: Step, other: Step, value: bool) -> Eval<'a> {
        match self.step(target)? {
            Value::Optional(Some(inner)) if value => Ok(*inner),
            found @ Value::Optional(Some(_)) => Ok(found),
            Value::Optional(None) => match self.step(other)? {
                found if value || matches!(found, Value::Optional(_)) => Ok(found),
                _ => Err(Fault::NoSuchOverload),
            },
            // A non-optional value is used as it is, as upstream does.
            other => Ok(other),
        }
    }

    /// The target counts twice when it has a value: the expansion names it twice.
    fn opt_map(&mut self, target: Step, slot: usize, body: Step, flat: bool) -> Eval<'a> {
        let before = self.budget.spent();
        let target = self.step(target);
        let again = self.budget.spent() - before;
        if let Err(fault) = target
            && fault.is_final()
        {
            return Err(fault);
        }
        self.budget.charge(1)?;
        let target = target?;
        let Value::Optional(inner) = target else {
            return Err(overload::no_overload(&self.scope, "hasValue", &[target]));
        };
        let Some(inner) = inner else {
            self.budget.charge(1)?;
            return Ok(Value::Optional(None));
        };
        self.budget.charge(again + 1)?;
        self.locals[slot] = *inner;
        let result = self.step(body)?;
        if flat {
            return Ok(result);
        }
        self.budget.charge(1)?;
        Ok(Value::Optional(Some(self.arena().put(result))))
    }
}
