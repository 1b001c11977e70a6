//! Read analysis: follows selection chains from their variable through macros and named expressions.

use super::segment::{FieldPath, Segment};
use crate::ast::{Ast, Expr, Fold, FoldKind, Literal, NodeId, SelectMode, for_each_child};
use crate::check::{Checked, Reference};
use crate::env::{Env, Expression};
use crate::schema::Fields;
use crate::types::Type;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Origin of a value.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    /// It is what lies at a path.
    Place(FieldPath),
    /// A list of values of one origin.
    List(Box<Origin>),
    /// Computed.
    Computed,
}

/// Walks one expression.
pub(super) struct Walker<'a> {
    ast: &'a Ast,
    checked: &'a Checked,
    env: &'a Env,
    locals: Vec<(&'a str, Origin)>,
    pub(super) reads: BTreeSet<FieldPath>,
    /// Paths tested for presence.
    pub(super) probed: BTreeSet<FieldPath>,
    /// Named expressions so far, by address: each is analyzed once, however often others refer to it.
    named: Rc<RefCell<BTreeMap<usize, Rc<NamedReads>>>>,
}

impl<'a> Walker<'a> {
    /// A walker for a checked expression.
    pub(super) fn of(expression: &'a Expression) -> Option<Self> {
        let checked = expression.checked.as_ref()?;
        let (ast, env) = (&expression.ast, &expression.env);
        Some(Self {
            ast,
            checked,
            env,
            locals: Vec::new(),
            reads: BTreeSet::new(),
            probed: BTreeSet::new(),
            named: Rc::default(),
        })
    }

    /// Visits a node whose value is used as a whole.
    pub(super) fn read(&mut self, node: NodeId) {
        let origin = self.origin(node);
        self.consume(&origin);
    }

    fn consume(&mut self, origin: &Origin) {
        match origin {
            Origin::Place(path) => {
                self.reads.insert(path.clone());
            }
            Origin::List(inner) => self.consume(inner),
            Origin::Computed => {}
        }
    }

    /// Visits a node and returns the origin of its value; a place does not count as read yet.
    fn origin(&mut self, node: NodeId) -> Origin {
        let ast = self.ast;
        if let Reference::Variable(name) = self.checked.reference(node) {
            return Origin::Place(FieldPath::variable(name));
        }
        match ast.expr(node) {
            Expr::Ident(name) => self.local(name),
            Expr::Select { operand, field, .. } => {
                let origin = self.select(*operand, field);
                self.probed_by(ast.expr(node), origin)
            }
            Expr::Index { operand, index, .. } => {
                let origin = self.index(*operand, *index);
                self.probed_by(ast.expr(node), origin)
            }
            Expr::Fold(fold) => self.fold(fold),
            Expr::OptMap {
                target,
                variable,
                body,
                ..
            } => {
                let target = self.origin(*target);
                self.bound(variable, &target, &target, |walker| walker.origin(*body))
            }
            Expr::Bind {
                variable,
                init,
                body,
            } => {
                let init = self.origin(*init);
                self.bound(variable, &init, &init, |walker| walker.origin(*body))
            }
            Expr::SortBy {
                target,
                variable,
                key,
            } => {
                let target = self.origin(*target);
                let element = element(&target);
                self.bound(variable, &element, &target, |walker| {
                    walker.read(*key);
                    Origin::Computed
                });
                target
            }
            expr => {
                let mut children = Vec::new();
                for_each_child(expr, |child| children.push(child));
                if let Expr::Call {
                    target: Some(target),
                    ..
                } = expr
                    && matches!(
                        self.checked.reference(node),
                        Reference::Call {
                            namespaced: true,
                            ..
                        }
                    )
                {
                    children.retain(|child| child != target);
                }
                for child in children {
                    self.read(child);
                }
                Origin::Computed
            }
        }
    }

    /// The origin that an expression selects, noted if the expression does not need it to be there.
    fn probed_by(&mut self, expr: &Expr, origin: Origin) -> Origin {
        let is_probed = match expr {
            Expr::Select { mode, .. } => *mode != SelectMode::Value,
            Expr::Index { optional, .. } => *optional,
            _ => false,
        };
        if let (Origin::Place(path), true) = (&origin, is_probed) {
            self.probed.insert(path.clone());
        }
        origin
    }

    fn local(&self, name: &str) -> Origin {
        let local = self.locals.iter().rev().find(|(local, _)| *local == name);
        local.map_or(Origin::Computed, |(_, origin)| origin.clone())
    }

    fn select(&mut self, operand: NodeId, field: &str) -> Origin {
        if self.is_lazies(operand) {
            return self.lazy(field);
        }
        match self.origin(operand) {
            Origin::Place(path) => {
                let name = self.json_name(operand, field);
                Origin::Place(path.then(Segment::Field(name)))
            }
            other => {
                self.consume(&other);
                Origin::Computed
            }
        }
    }

    /// JSON property name of a field.
    fn json_name(&self, operand: NodeId, field: &str) -> Box<str> {
        let ty = match self.checked.ty(operand) {
            Type::Optional(inner) => inner,
            ty => ty,
        };
        match ty {
            Type::Object(object) => match &object.fields {
                Fields::Declared(fields) => fields
                    .get(field)
                    .map_or_else(|| field.into(), |field| field.json_name.clone()),
                _ => field.into(),
            },
            _ => field.into(),
        }
    }

    fn index(&mut self, operand: NodeId, index: NodeId) -> Origin {
        let segment = match self.ast.expr(index) {
            Expr::Literal(Literal::String(key)) => Segment::Field(key.clone()),
            Expr::Literal(Literal::Int(at)) => Segment::Index(*at),
            _ => {
                self.read(index);
                Segment::Any
            }
        };
        match self.origin(operand) {
            Origin::Place(path) => Origin::Place(path.then(segment)),
            Origin::List(inner) => *inner,
            Origin::Computed => Origin::Computed,
        }
    }

    // --- macros ---

    fn fold(&mut self, fold: &'a Fold) -> Origin {
        let range = self.origin(fold.range);
        let each = element(&range);
        let (first, second) = match &fold.value {
            Some(_) => (Origin::Computed, each.clone()),
            None => (each.clone(), Origin::Computed),
        };
        let before = self.locals.len();
        self.locals.push((&fold.variable, first));
        if let Some(value) = &fold.value {
            self.locals.push((value, second));
        }
        let body = self.noticing(&each, &range, |walker| {
            if let Some(filter) = fold.filter {
                walker.read(filter);
            }
            if fold.kind == FoldKind::List {
                return walker.origin(fold.body);
            }
            walker.read(fold.body);
            Origin::Computed
        });
        self.locals.truncate(before);
        match fold.kind {
            FoldKind::List => Origin::List(Box::new(body)),
            _ => Origin::Computed,
        }
    }

    fn bound(
        &mut self,
        name: &'a str,
        origin: &Origin,
        whole: &Origin,
        run: impl FnOnce(&mut Self) -> Origin,
    ) -> Origin {
        self.locals.push((name, origin.clone()));
        let result = self.noticing(origin, whole, run);
        self.locals.pop();
        result
    }

    /// Runs a body; when it reads nothing of the elements, that there are any is still read.
    fn noticing(
        &mut self,
        each: &Origin,
        whole: &Origin,
        run: impl FnOnce(&mut Self) -> Origin,
    ) -> Origin {
        let before = std::mem::take(&mut self.reads);
        let result = run(self);
        let read = match each {
            Origin::Place(path) => {
                let returned = innermost(&result).into_iter();
                returned.chain(&self.reads).any(|read| read.is_within(path))
            }
            _ => true,
        };
        self.reads.extend(before);
        if !read {
            self.consume(whole);
        }
        result
    }

    // --- named expressions ---

    fn is_lazies(&self, node: NodeId) -> bool {
        matches!(self.checked.ty(node), Type::Object(object) if matches!(object.fields, Fields::Typed(_)))
    }

    /// `variables.name`: what its expression reads, or the place it names.
    fn lazy(&mut self, name: &str) -> Origin {
        let env = self.env;
        let expression = env
            .lazies
            .iter()
            .find(|(known, _)| **known == *name)
            .map(|(_, expression)| expression);
        let Some(expression) = expression else {
            return Origin::Computed;
        };
        let named = self.known(expression).unwrap_or_else(|| {
            // An expression refers to earlier ones only, so in this order a chain of names is no recursion.
            for (_, earlier) in &env.lazies {
                if self.known(earlier).is_none() {
                    let analyzed = Rc::new(self.analyze(earlier));
                    self.named.borrow_mut().insert(address(earlier), analyzed);
                }
            }
            self.known(expression).expect("it is one of them")
        });
        self.reads.extend(named.reads.iter().cloned());
        self.probed.extend(named.probed.iter().cloned());
        named.origin.clone()
    }

    fn known(&self, expression: &Expression) -> Option<Rc<NamedReads>> {
        self.named.borrow().get(&address(expression)).cloned()
    }

    fn analyze(&self, expression: &Expression) -> NamedReads {
        let Some(mut walker) = Walker::of(expression) else {
            return NamedReads {
                origin: Origin::Computed,
                reads: BTreeSet::new(),
                probed: BTreeSet::new(),
            };
        };
        walker.named = Rc::clone(&self.named);
        let origin = walker.origin(walker.ast.root());
        NamedReads {
            origin,
            reads: walker.reads,
            probed: walker.probed,
        }
    }
}

fn address(expression: &Expression) -> usize {
    std::ptr::from_ref(expression).addr()
}

/// Reads of a named expression, and the origin of its value.
#[derive(Debug)]
struct NamedReads {
    origin: Origin,
    reads: BTreeSet<FieldPath>,
    probed: BTreeSet<FieldPath>,
}

/// The place the values of an origin come from.
fn innermost(origin: &Origin) -> Option<&FieldPath> {
    match origin {
        Origin::Place(path) => Some(path),
        Origin::List(inner) => innermost(inner),
        Origin::Computed => None,
    }
}

/// Origin of the elements of a list or map.
fn element(range: &Origin) -> Origin {
    match range {
        Origin::Place(path) => Origin::Place(path.then(Segment::Any)),
        Origin::List(inner) => (**inner).clone(),
        Origin::Computed => Origin::Computed,
    }
}
