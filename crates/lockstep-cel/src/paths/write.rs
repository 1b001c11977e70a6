//! Write analysis: fields set by an object literal or a list of patches.

use super::pointer::{pointer, text};
use super::segment::{FieldPath, Segment};
use super::{Paths, Write};
use crate::ast::{Ast, Expr, FieldInit, FoldKind, Literal, NodeId};
use crate::env::{Env, Expression};
use crate::mutation::JSON_PATCH;
use crate::types::Type;
use std::collections::BTreeSet;

/// A write nothing is known of.
pub(super) fn anything() -> Write {
    Write {
        path: Vec::new(),
        prefix: true,
        conditional: false,
    }
}

/// Collects the writes of an expression whose result is a mutation.
pub(super) fn collect(expression: &Expression, paths: &mut Paths) {
    let mutates = match &expression.ty {
        Type::Object(object) => is_mutation(&object.name),
        Type::List(element) => {
            matches!(&**element, Type::Object(object) if is_mutation(&object.name))
        }
        _ => false,
    };
    if mutates {
        let mut collector = Collector {
            ast: &expression.ast,
            env: &expression.env,
            paths,
            visited: &mut BTreeSet::new(),
        };
        collector.result(expression.ast.root(), false);
    }
}

pub(super) fn is_mutation(name: &str) -> bool {
    name == JSON_PATCH || name == "Object" || name.starts_with("Object.")
}

struct Collector<'a, 'p> {
    ast: &'a Ast,
    env: &'a Env,
    paths: &'p mut Paths,
    /// Named expressions so far, by address and whether their writes are conditional.
    visited: &'p mut BTreeSet<(usize, bool)>,
}

impl<'a> Collector<'a, '_> {
    fn add(&mut self, path: &[Segment], prefix: bool, conditional: bool) {
        self.paths.writes.insert(Write {
            path: path.to_vec(),
            prefix,
            conditional,
        });
    }

    /// The result of the expression: an object, or a list of patches.
    fn result(&mut self, node: NodeId, conditional: bool) {
        let ast = self.ast;
        match ast.expr(node) {
            Expr::Struct { name, fields } if **name == *JSON_PATCH => {
                self.patch(fields, conditional);
            }
            Expr::Struct { .. } => self.value(node, &mut Vec::new(), conditional),
            Expr::List(elements) => {
                for element in elements {
                    self.result(element.value, conditional || element.optional);
                }
            }
            Expr::Call { function, args, .. } if &**function == "_+_" => {
                for &arg in args {
                    self.result(arg, conditional);
                }
            }
            Expr::Conditional { yes, no, .. } => {
                self.result(*yes, true);
                self.result(*no, true);
            }
            Expr::Fold(fold) if fold.kind == FoldKind::List => {
                self.result(fold.body, conditional || fold.filter.is_some());
            }
            Expr::OptMap { body, .. } => self.result(*body, true),
            Expr::Bind { body, .. } => self.result(*body, conditional),
            _ => self.named(node, conditional),
        }
    }

    /// `variables.name` writes what its expression builds; anything else may write everything.
    fn named(&mut self, node: NodeId, conditional: bool) {
        let name = match self.ast.expr(node) {
            Expr::Select { operand, field, .. } if self.is_variables(*operand) => field,
            _ => {
                self.paths.writes.insert(Write {
                    conditional,
                    ..anything()
                });
                return;
            }
        };
        let env = self.env;
        let expression = env
            .lazies
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, expression)| expression);
        match expression {
            Some(expression) => {
                let address = std::ptr::from_ref(&**expression).addr();
                if !self.visited.insert((address, conditional)) {
                    return;
                }
                let mut inner = Collector {
                    ast: &expression.ast,
                    env: &expression.env,
                    paths: self.paths,
                    visited: self.visited,
                };
                inner.result(expression.ast.root(), conditional);
            }
            None => {
                self.paths.writes.insert(Write {
                    conditional,
                    ..anything()
                });
            }
        }
    }

    fn is_variables(&self, node: NodeId) -> bool {
        matches!(self.ast.expr(node), Expr::Ident(name) if &**name == "variables")
    }

    /// A value placed at a path.
    fn value(&mut self, node: NodeId, path: &mut Vec<Segment>, conditional: bool) {
        let ast = self.ast;
        match ast.expr(node) {
            Expr::Struct { fields, .. } if !fields.is_empty() => {
                for field in fields {
                    let segment = Segment::Field(field.name.clone());
                    self.below(field.value, path, segment, conditional || field.optional);
                }
            }
            Expr::Map(entries) if !entries.is_empty() => {
                for entry in entries {
                    let segment = match ast.expr(entry.key) {
                        Expr::Literal(Literal::String(key)) => Segment::Field(key.clone()),
                        _ => Segment::Any,
                    };
                    self.below(entry.value, path, segment, conditional || entry.optional);
                }
            }
            Expr::List(elements)
                if elements.iter().any(|element| self.is_object(element.value)) =>
            {
                for element in elements {
                    self.below(
                        element.value,
                        path,
                        Segment::Any,
                        conditional || element.optional,
                    );
                }
            }
            Expr::Fold(fold) if fold.kind == FoldKind::List && self.is_object(fold.body) => {
                self.below(
                    fold.body,
                    path,
                    Segment::Any,
                    conditional || fold.filter.is_some(),
                );
            }
            Expr::Conditional { yes, no, .. } => {
                self.value(*yes, path, true);
                self.value(*no, path, true);
            }
            Expr::Struct { .. } if path.is_empty() => {}
            _ => self.add(path, false, conditional),
        }
    }

    fn is_object(&self, node: NodeId) -> bool {
        matches!(self.ast.expr(node), Expr::Struct { .. } | Expr::Map(_))
    }

    fn below(
        &mut self,
        node: NodeId,
        path: &mut Vec<Segment>,
        segment: Segment,
        conditional: bool,
    ) {
        path.push(segment);
        self.value(node, path, conditional);
        path.pop();
    }

    // --- patches ---

    fn patch(&mut self, fields: &'a [FieldInit], conditional: bool) {
        let field = |name: &str| {
            fields
                .iter()
                .rev()
                .find(|field| &*field.name == name)
                .map(|field| field.value)
        };
        let op = field("op").and_then(|op| text(self.ast, op));
        let path = pointer(self.ast, field("path"));
        let from = pointer(self.ast, field("from"));
        match op {
            Some("test") => return self.read(&path),
            Some("copy") => self.read(&from),
            Some("move") => {
                self.read(&from);
                self.add(&from.0, from.1, conditional);
            }
            _ => {}
        }
        self.add(&path.0, path.1, conditional);
    }

    fn read(&mut self, (path, _): &(Vec<Segment>, bool)) {
        let segments = path.clone();
        self.paths.reads.insert(FieldPath {
            variable: "object".into(),
            segments,
        });
    }
}
