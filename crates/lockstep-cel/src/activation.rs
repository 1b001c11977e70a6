//! Evaluation inputs: variable bindings and the cost budget.

use crate::mutation::Merger;
use crate::plan::Plan;
use crate::value::{Fault, Opaque, Value};
use serde_json::Value as Json;
use std::cell::OnceCell;

/// Runtime cost of one expression.
pub const EXPRESSION_COST_MAX: u64 = 1_000_000;
/// Number of loop steps between two cancellation checks.
const STEPS_BETWEEN_CHECKS: u32 = 100;

/// The variable bindings of one evaluation. JSON is not converted up front, but read lazily.
///
/// Values of lazy `variables` are cached here, so everything they borrow from must live as long: create the programs
/// and the [`Arena`](crate::Arena) before the activation.
#[derive(Debug, Default)]
pub struct Activation<'a> {
    /// Inline storage for the first bindings, so that a few variables need no allocation.
    first: [(&'a str, Binding<'a>); INLINE_BINDINGS],
    count: usize,
    more: Vec<(&'a str, Binding<'a>)>,
    lazies: Vec<Lazy<'a>>,
    merger: Option<&'a dyn Merger>,
}

/// As many as policies have.
const INLINE_BINDINGS: usize = 6;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Binding<'a> {
    Json(&'a Json),
    Value(Value<'a>),
    #[default]
    Absent,
}

#[derive(Debug)]
pub(crate) struct Lazy<'a> {
    pub(crate) name: &'a str,
    pub(crate) plan: &'a Plan,
    pub(crate) outcome: OnceCell<Result<Value<'a>, Fault<'a>>>,
}

impl<'a> Activation<'a> {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds JSON; it is read by the schema the environment declared the variable with.
    #[must_use]
    pub fn with_json(mut self, name: &'a str, json: &'a Json) -> Self {
        self.bind(name, Binding::Json(json));
        self
    }

    /// Binds a value.
    #[must_use]
    pub fn with_value(mut self, name: &'a str, value: Value<'a>) -> Self {
        self.bind(name, Binding::Value(value));
        self
    }

    /// Binds an opaque value, such as an authorizer.
    #[must_use]
    pub fn with_opaque(self, name: &'a str, opaque: &'a Opaque) -> Self {
        self.with_value(name, Value::Opaque(opaque))
    }

    /// Binds an optional variable to nothing.
    #[must_use]
    pub fn with_absent(mut self, name: &'a str) -> Self {
        self.bind(name, Binding::Absent);
        self
    }

    pub(crate) fn with_lazy_plan(mut self, name: &'a str, plan: &'a Plan) -> Self {
        self.lazies.push(Lazy {
            name,
            plan,
            outcome: OnceCell::new(),
        });
        self
    }

    /// Merges objects with this in `objects.apply`.
    #[must_use]
    pub fn with_merger(self, merger: &'a dyn Merger) -> Self {
        let merger = Some(merger);
        Self { merger, ..self }
    }

    pub(crate) fn merger(&self) -> Option<&'a dyn Merger> {
        self.merger
    }

    fn bind(&mut self, name: &'a str, binding: Binding<'a>) {
        if let Some(slot) = self.first.get_mut(self.count) {
            *slot = (name, binding);
            self.count += 1;
        } else {
            self.more.push((name, binding));
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<Binding<'a>> {
        let mut bindings = self.first[..self.count].iter().chain(&self.more);
        bindings
            .find(|(bound, _)| *bound == name)
            .map(|(_, binding)| *binding)
    }

    pub(crate) fn lazy(&self, name: &str) -> Option<&Lazy<'a>> {
        self.lazies.iter().find(|lazy| lazy.name == name)
    }

    pub(crate) fn lazies(&self) -> &[Lazy<'a>] {
        &self.lazies
    }
}

/// Cost budget of an evaluation, and the cost spent so far.
pub struct Budget<'a> {
    limit: u64,
    spent: u64,
    /// Limit of the expression and of its variables together, if each of them has the limit for itself.
    total_limit: Option<u64>,
    /// Spent by variables that have the limit for themselves.
    spent_by_variables: u64,
    steps: u32,
    cancelled: Option<&'a dyn Fn() -> bool>,
}

impl std::fmt::Debug for Budget<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget")
            .field("limit", &self.limit)
            .field("spent", &self.spent())
            .finish_non_exhaustive()
    }
}

impl Default for Budget<'_> {
    fn default() -> Self {
        Self::new(EXPRESSION_COST_MAX)
    }
}

impl<'a> Budget<'a> {
    /// A budget of this many units.
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            spent: 0,
            total_limit: None,
            spent_by_variables: 0,
            steps: 0,
            cancelled: None,
        }
    }

    /// Gives this many units to the expression and to each of its variables, and `total_limit` to all together.
    pub fn of_policy(limit: u64, total_limit: u64) -> Self {
        Self {
            total_limit: Some(total_limit),
            ..Self::new(limit)
        }
    }

    /// Polls this callback periodically and cancels the evaluation if it returns true; used for deadlines.
    #[must_use]
    pub fn cancelled_by(mut self, cancelled: &'a dyn Fn() -> bool) -> Self {
        self.cancelled = Some(cancelled);
        self
    }

    /// Units spent so far.
    pub fn spent(&self) -> u64 {
        self.spent.saturating_add(self.spent_by_variables)
    }

    /// True if the units of all expressions together are used up.
    pub fn is_out_of_total(&self) -> bool {
        self.total_limit.is_some_and(|total| self.spent() > total)
    }

    /// Starts the evaluation of a variable; returns what [`end_variable`](Self::end_variable) needs.
    pub(crate) fn begin_variable(&mut self) -> u64 {
        match self.total_limit {
            None => self.spent,
            Some(_) => std::mem::take(&mut self.spent),
        }
    }

    /// Ends the evaluation of a variable.
    pub(crate) fn end_variable(&mut self, before: u64) {
        if self.total_limit.is_some() {
            let spent = std::mem::replace(&mut self.spent, before);
            self.spent_by_variables = self.spent_by_variables.saturating_add(spent);
        }
    }

    #[inline]
    pub(crate) fn charge<'v>(&mut self, cost: u64) -> Result<(), Fault<'v>> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit || self.is_out_of_total() {
            Err(Fault::CostLimit)
        } else {
            Ok(())
        }
    }

    /// Takes back what a presence test did not cost.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.spent = self.spent.saturating_sub(cost);
    }

    /// Looks at the caller's wish to stop now, before something that may take long for its price.
    pub(crate) fn poll<'v>(&mut self) -> Result<(), Fault<'v>> {
        self.steps = STEPS_BETWEEN_CHECKS;
        self.step()
    }

    /// Counts one step of a loop.
    #[inline]
    pub(crate) fn step<'v>(&mut self) -> Result<(), Fault<'v>> {
        self.steps += 1;
        if self.steps < STEPS_BETWEEN_CHECKS {
            return Ok(());
        }
        self.steps = 0;
        match self.cancelled {
            Some(cancelled) if cancelled() => Err(Fault::Cancelled),
            _ => Ok(()),
        }
    }
}
