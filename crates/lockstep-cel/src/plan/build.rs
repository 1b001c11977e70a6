//! Translation of the AST to a plan.

use super::{FieldPart, ListPart, MapPart, Op, Plan, Step};
use crate::ast::{Ast, Element, Entry, Expr, FieldInit, Literal, NodeId, SelectMode};
use crate::check::{Checked, Reference};
use crate::dialect::Profile;
use crate::env::{Env, Resolved};
use crate::issue::{Issue, Phase};
use crate::types::Type;
use crate::value::{Arena, Constant, Value};

/// Plans a tree; without `checked`, names and overloads are found by name and number of arguments.
pub(crate) fn plan(ast: &Ast, env: &Env, checked: Option<&Checked>) -> Result<Plan, Vec<Issue>> {
    let mut planner = Planner {
        ast,
        env,
        checked,
        steps: Vec::new(),
        locals: Vec::new(),
        slots: 0,
        issues: Vec::new(),
        arena: Arena::new(),
    };
    let root = planner.node(ast.root());
    if !planner.issues.is_empty() {
        return Err(planner.issues);
    }
    let depth = ast.depth(ast.root());
    Ok(Plan {
        steps: planner.steps,
        root,
        slots: planner.slots,
        depth,
        profile: env.profile,
    })
}

pub(super) struct Planner<'a> {
    pub(super) ast: &'a Ast,
    pub(super) env: &'a Env,
    pub(super) checked: Option<&'a Checked>,
    pub(super) steps: Vec<Op>,
    pub(super) locals: Vec<Box<str>>,
    pub(super) slots: usize,
    pub(super) issues: Vec<Issue>,
    pub(super) arena: Arena,
}

impl Planner<'_> {
    pub(super) fn push(&mut self, op: Op) -> Step {
        self.steps.push(op);
        Step(crate::source::offset(self.steps.len() - 1))
    }

    pub(super) fn constant(&mut self, constant: Constant) -> Step {
        self.push(Op::Constant(constant))
    }

    pub(super) fn constant_of(&self, step: Step) -> Option<&Constant> {
        match &self.steps[step.0 as usize] {
            Op::Constant(constant) => Some(constant),
            _ => None,
        }
    }

    pub(super) fn op(&self, step: Step) -> &Op {
        &self.steps[step.0 as usize]
    }

    pub(super) fn is_kubernetes(&self) -> bool {
        self.env.profile == Profile::Kubernetes
    }

    /// The expression cannot run, whatever the data.
    pub(super) fn refuse(&mut self, message: impl Into<String>) {
        self.issues.push(Issue::whole(Phase::Program, message));
    }

    pub(super) fn reference(&self, node: NodeId) -> &Reference {
        self.checked
            .map_or(&Reference::None, |checked| checked.reference(node))
    }

    /// Runs `build` with one more local variable; its slot is its depth.
    pub(super) fn with_local<T>(
        &mut self,
        name: &str,
        build: impl FnOnce(&mut Self, usize) -> T,
    ) -> T {
        let slot = self.locals.len();
        self.locals.push(name.into());
        self.slots = self.slots.max(self.locals.len());
        let result = build(self, slot);
        self.locals.pop();
        result
    }

    pub(super) fn node(&mut self, node: NodeId) -> Step {
        let ast = self.ast;
        match ast.expr(node) {
            Expr::Literal(literal) => self.constant(literal_constant(literal)),
            Expr::Ident(_) | Expr::Select { .. } | Expr::Index { .. } => self.attribute(node, true),
            Expr::Call {
                function,
                target,
                args,
            } => self.call(node, function, *target, args),
            Expr::And(terms) => {
                let terms = self.nodes(terms);
                self.push(Op::And(terms))
            }
            Expr::Or(terms) => {
                let terms = self.nodes(terms);
                self.push(Op::Or(terms))
            }
            Expr::Conditional { condition, yes, no } => self.conditional(*condition, *yes, *no),
            Expr::List(elements) => self.list(elements),
            Expr::Map(entries) => self.map(entries),
            Expr::Struct { name, fields } => self.object(name, fields),
            Expr::Fold(fold) => self.fold(fold),
            Expr::OptMap {
                target,
                variable,
                body,
                flat,
            } => {
                let target = self.node(*target);
                let (slot, body) =
                    self.with_local(variable, |planner, slot| (slot, planner.node(*body)));
                self.push(Op::OptMap {
                    target,
                    slot,
                    body,
                    flat: *flat,
                })
            }
            Expr::SortBy {
                target,
                variable,
                key,
            } => self.sort_by(node, *target, variable, *key),
            Expr::Bind {
                variable,
                init,
                body,
            } => {
                let init = self.node(*init);
                let (slot, body) =
                    self.with_local(variable, |planner, slot| (slot, planner.node(*body)));
                self.push(Op::Bind { slot, init, body })
            }
        }
    }

    pub(super) fn nodes(&mut self, nodes: &[NodeId]) -> Box<[Step]> {
        nodes.iter().map(|&node| self.node(node)).collect()
    }

    fn conditional(&mut self, condition: NodeId, yes: NodeId, no: NodeId) -> Step {
        let condition = self.node(condition);
        let (yes, no) = (self.branch(yes), self.branch(no));
        self.push(Op::Conditional { condition, yes, no })
    }

    /// A branch of a conditional, whose root is read without charge unless it is tested with `has`.
    pub(super) fn branch(&mut self, node: NodeId) -> Step {
        match self.ast.expr(node) {
            Expr::Select {
                mode: SelectMode::Test,
                ..
            } => self.node(node),
            Expr::Ident(_) | Expr::Select { .. } | Expr::Index { .. } => {
                self.attribute(node, false)
            }
            _ => self.node(node),
        }
    }

    // --- literals ---

    fn list(&mut self, elements: &[Element]) -> Step {
        let parts: Box<[ListPart]> = elements
            .iter()
            .map(|element| ListPart {
                value: self.node(element.value),
                optional: element.optional,
            })
            .collect();
        let constants = parts.iter().map(|part| {
            self.constant_of(part.value)
                .filter(|_| !part.optional)
                .cloned()
        });
        match constants.collect::<Option<Box<[_]>>>() {
            Some(constants) => self.constant(Constant::List(constants)),
            None => self.push(Op::List(parts)),
        }
    }

    fn map(&mut self, entries: &[Entry]) -> Step {
        let parts: Box<[MapPart]> = entries
            .iter()
            .map(|entry| MapPart {
                key: self.node(entry.key),
                value: self.node(entry.value),
                optional: entry.optional,
            })
            .collect();
        match self.constant_map(&parts) {
            Some(constant) => self.constant(constant),
            None => self.push(Op::Map(parts)),
        }
    }

    /// The map of constant keys and values, unless it is one that fails when it is built.
    fn constant_map(&self, parts: &[MapPart]) -> Option<Constant> {
        let mut pairs = Vec::new();
        for part in parts {
            if part.optional {
                return None;
            }
            pairs.push((
                self.constant_of(part.key)?.view(),
                self.constant_of(part.value)?.view(),
            ));
        }
        let built = crate::eval::build_map(&self.arena, &mut pairs, &[], self.env.profile).ok()?;
        Constant::of(&built)
    }

    fn object(&mut self, name: &str, fields: &[FieldInit]) -> Step {
        let candidates = self.env.candidates(name);
        let Some(full) = candidates
            .into_iter()
            .find(|full| self.env.object_type(full).is_some())
        else {
            return self.push(Op::Fail(format!("unknown type: {name}").into()));
        };
        let fields = fields
            .iter()
            .map(|init| FieldPart {
                name: init.name.clone(),
                value: self.node(init.value),
                optional: init.optional,
            })
            .collect();
        self.push(Op::Object {
            name: crate::mutation::canonical_name(&full),
            fields,
        })
    }

    /// Resolves a name in an unchecked AST.
    pub(super) fn unchecked(&self, name: &str) -> Option<Resolved> {
        let local = |name: &str| {
            self.locals
                .iter()
                .any(|local| **local == *name)
                .then_some(Type::Dyn)
        };
        crate::check::lookup(self.env, name, local)
    }

    pub(super) fn view(&self, step: Step) -> Option<Value<'_>> {
        self.constant_of(step).map(Constant::view)
    }
}

fn literal_constant(literal: &Literal) -> Constant {
    match literal {
        Literal::Null => Constant::Null,
        Literal::Bool(value) => Constant::Bool(*value),
        Literal::Int(value) => Constant::Int(*value),
        Literal::Uint(value) => Constant::Uint(*value),
        Literal::Double(value) => Constant::Double(*value),
        Literal::String(text) => Constant::String(text.clone()),
        Literal::Bytes(bytes) => Constant::Bytes(bytes.clone()),
    }
}
