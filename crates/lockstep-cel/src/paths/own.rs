//! Fields of a mutation whose new value is computed from their current value.

use super::read::Walker;
use super::segment::Segment;
use crate::ast::{Ast, Expr, FoldKind, Literal, NodeId};
use crate::env::Expression;
use crate::program::Program;
use std::collections::BTreeSet;

impl Program {
    /// Fields that the resulting object sets to a value whose expression reads them, as in
    /// `Object{spec: Object.spec{l: object.spec.l.filter(e, e != "x")}}`. `objects` names the variables that hold the
    /// object that is mutated.
    pub fn fields_set_from_themselves(&self, objects: &[&str]) -> BTreeSet<Vec<Segment>> {
        let mut finder = Finder {
            expression: &self.expression,
            objects,
            found: BTreeSet::new(),
        };
        finder.value(self.expression.ast.root(), &mut Vec::new());
        finder.found
    }
}

struct Finder<'a> {
    expression: &'a Expression,
    objects: &'a [&'a str],
    found: BTreeSet<Vec<Segment>>,
}

impl Finder<'_> {
    fn ast(&self) -> &Ast {
        &self.expression.ast
    }

    fn value(&mut self, node: NodeId, path: &mut Vec<Segment>) {
        let expression = self.expression;
        match expression.ast.expr(node) {
            Expr::Struct { fields, .. } => {
                for field in fields {
                    self.below(field.value, path, Segment::Field(field.name.clone()));
                }
            }
            Expr::Map(entries) => {
                for entry in entries {
                    if let Expr::Literal(Literal::String(key)) = self.ast().expr(entry.key) {
                        self.below(entry.value, path, Segment::Field(key.clone()));
                    }
                }
            }
            Expr::List(elements) => {
                for element in elements {
                    self.below(element.value, path, Segment::Any);
                }
            }
            Expr::Conditional { yes, no, .. } => {
                self.value(*yes, path);
                self.value(*no, path);
            }
            Expr::Fold(fold) if fold.kind == FoldKind::List => {
                self.leaf(node, path);
                if matches!(self.ast().expr(fold.body), Expr::Struct { .. }) {
                    self.below(fold.body, path, Segment::Any);
                }
            }
            _ => self.leaf(node, path),
        }
    }

    fn below(&mut self, node: NodeId, path: &mut Vec<Segment>, segment: Segment) {
        path.push(segment);
        self.value(node, path);
        path.pop();
    }

    fn leaf(&mut self, node: NodeId, path: &[Segment]) {
        let Some(mut walker) = Walker::of(self.expression) else {
            return;
        };
        walker.read(node);
        let reads_itself = walker.reads.iter().any(|read| {
            let way = read.segments.get(..path.len());
            self.objects.contains(&&*read.variable) && way == Some(path)
        });
        if reads_itself {
            self.found.insert(path.to_vec());
        }
    }
}
