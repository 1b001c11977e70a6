//! Compiled programs: the public handle of an expression.

use crate::activation::{Activation, Budget};
use crate::ast::Ast;
use crate::check::{self, Checked, Reference};
use crate::env::{Env, Expression};
use crate::estimate::{self, Estimate};
use crate::eval;
use crate::issue::{Issue, Phase};
use crate::parser;
use crate::plan::{self, Plan};
use crate::types::Type;
use crate::value::{Arena, Fault, List, Map, Value};
use std::sync::Arc;

/// A compiled expression. It can be shared between threads and run any number of times.
#[derive(Debug)]
pub struct Program {
    pub(crate) expression: Arc<Expression>,
    plan: Plan,
}

/// A checked expression that was not planned: enough for types, estimates and paths.
#[derive(Debug)]
pub struct CheckedExpression {
    pub(crate) ast: Ast,
    pub(crate) checked: Checked,
}

impl CheckedExpression {
    /// The type of the result.
    pub fn static_type(&self) -> &Type {
        self.checked.ty(self.ast.root())
    }
}

/// Errors of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The expression failed on this data.
    #[error("{0}")]
    Failed(String),
    /// The cost limit was reached.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimit,
    /// The caller cancelled the evaluation.
    #[error("operation interrupted")]
    Cancelled,
    /// More was built than an evaluation may hold.
    #[error("operation cancelled: memory limit exceeded")]
    Memory,
    /// More data was gone over than the price of the expression covers.
    #[error("operation cancelled: work limit exceeded")]
    Work,
}

impl From<Fault<'_>> for EvalError {
    fn from(fault: Fault<'_>) -> Self {
        match fault {
            Fault::CostLimit => Self::CostLimit,
            Fault::Cancelled => Self::Cancelled,
            Fault::Memory => Self::Memory,
            Fault::Work => Self::Work,
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Env {
    /// Parses, checks and plans an expression.
    pub fn compile(&self, text: &str) -> Result<Program, Vec<Issue>> {
        let CheckedExpression { ast, checked } = self.check(text)?;
        let plan = plan::plan(&ast, self, Some(&checked))?;
        let ty = checked.ty(ast.root()).clone();
        Ok(self.program(ast, Some(checked), ty, plan))
    }

    /// Compiles an expression whose result type must be exactly one of these; `dyn` does not match.
    ///
    /// `message` is the error for other types, such as `cel expression must evaluate to a bool`.
    pub fn compile_to(
        &self,
        text: &str,
        types: &[Type],
        message: &str,
    ) -> Result<Program, Vec<Issue>> {
        let program = self.compile(text)?;
        if types.contains(program.static_type()) {
            return Ok(program);
        }
        Err(vec![Issue::whole(Phase::ResultType, message)])
    }

    /// Parses and checks an expression.
    pub fn check(&self, text: &str) -> Result<CheckedExpression, Vec<Issue>> {
        let ast = parser::parse(text, self.syntax())?;
        let checked = check::check(&ast, self)?;
        Ok(CheckedExpression { ast, checked })
    }

    /// Parses and plans an expression without checking types; the result's type is `dyn`.
    pub fn compile_unchecked(&self, text: &str) -> Result<Program, Vec<Issue>> {
        let ast = parser::parse(text, self.syntax())?;
        let plan = plan::plan(&ast, self, None)?;
        Ok(self.program(ast, None, Type::Dyn, plan))
    }

    fn program(&self, ast: Ast, checked: Option<Checked>, ty: Type, plan: Plan) -> Program {
        let env = self.clone();
        Program {
            expression: Arc::new(Expression {
                ast,
                checked,
                env,
                ty,
            }),
            plan,
        }
    }

    /// Adds `variables.name`, computed by a compiled expression when it is first used.
    ///
    /// Only expressions compiled after this call see the name.
    #[must_use]
    pub fn with_lazy_variable(self, name: &str, program: &Program) -> Self {
        self.with_lazy_expression(name, Arc::clone(&program.expression))
    }
}

impl Program {
    /// The type of the result.
    pub fn static_type(&self) -> &Type {
        &self.expression.ty
    }

    /// The expression's text.
    pub fn text(&self) -> &str {
        self.expression.ast.source().text()
    }

    /// True if the expression refers to this variable.
    pub fn uses_variable(&self, name: &str) -> bool {
        let references = self
            .expression
            .checked
            .iter()
            .flat_map(|checked| &checked.references);
        references
            .into_iter()
            .any(|reference| matches!(reference, Reference::Variable(used) if **used == *name))
    }

    /// The most this expression can cost on data its environment's schemas allow; nothing when it was not checked.
    pub fn estimate(&self) -> Option<Estimate> {
        let Expression {
            ast, checked, env, ..
        } = &*self.expression;
        checked
            .as_ref()
            .map(|checked| estimate::estimate(ast, checked, env))
    }

    /// Runs the expression. The value borrows from the data, this program and the arena; what was spent is in the
    /// budget, also after an error.
    pub fn evaluate<'a>(
        &'a self,
        activation: &Activation<'a>,
        arena: &'a Arena,
        budget: &mut Budget<'_>,
    ) -> Result<Value<'a>, EvalError> {
        eval::run(&self.plan, activation, arena, budget, 0).map_err(EvalError::from)
    }
}

impl<'a> List<'a> {
    /// All elements in order.
    pub fn elements(self) -> impl Iterator<Item = Result<Value<'a>, EvalError>> {
        self.values().map(|value| value.map_err(EvalError::from))
    }
}

impl<'a> Map<'a> {
    /// All entries, sorted by key.
    pub fn pairs(self) -> impl Iterator<Item = (Value<'a>, Result<Value<'a>, EvalError>)> {
        let entries = self.entries();
        entries.map(|(key, value)| (key, value.map_err(EvalError::from)))
    }
}

impl<'a> Activation<'a> {
    /// Adds `variables.name`, computed at most once for this activation.
    #[must_use]
    pub fn with_lazy(self, name: &'a str, program: &'a Program) -> Self {
        self.with_lazy_plan(name, &program.plan)
    }
}
