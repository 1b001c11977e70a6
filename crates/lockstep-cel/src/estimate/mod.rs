//! Static cost estimation, from the AST and the maximum sizes in schemas.

mod call;
mod fold;
mod range;

pub use range::Estimate;

use crate::ast::{Ast, Expr, Literal, NodeId, SelectMode};
use crate::check::{Checked, Reference};
use crate::cost;
use crate::env::Env;
use crate::schema::{Fields, Schema, Shape, Sizes};
use crate::types::Type;
use crate::value::code_points;

/// Estimates a checked expression.
pub(crate) fn estimate(ast: &Ast, checked: &Checked, env: &Env) -> Estimate {
    let root = env
        .variables
        .get("self")
        .and_then(|variable| variable.schema.as_deref());
    let mut estimator = Estimator {
        ast,
        checked,
        env,
        root,
        locals: Vec::new(),
    };
    estimator.node(ast.root()).cost
}

/// Estimates of one node.
#[derive(Debug, Clone, Copy)]
struct Known<'a> {
    cost: Estimate,
    /// The size found from the tree.
    size: Option<Estimate>,
    /// Sizes of keys and values, if both are known from the AST.
    entries: Option<(Estimate, Estimate)>,
    path: Path<'a>,
}

/// Schema path that a value comes from.
#[derive(Debug, Clone, Copy)]
enum Path<'a> {
    /// Computed: from nowhere.
    Nowhere,
    /// Below a variable; without a schema when the way there is not described by one.
    At(Option<&'a Schema>),
}

impl<'a> Known<'a> {
    fn costing(cost: Estimate) -> Self {
        Self {
            cost,
            size: None,
            entries: None,
            path: Path::Nowhere,
        }
    }

    fn sized(cost: Estimate, size: Estimate) -> Self {
        Self {
            size: Some(size),
            ..Self::costing(cost)
        }
    }

    fn at(cost: Estimate, path: Path<'a>) -> Self {
        Self {
            path,
            ..Self::costing(cost)
        }
    }
}

struct Estimator<'a> {
    ast: &'a Ast,
    checked: &'a Checked,
    env: &'a Env,
    /// The schema paths without a variable are looked up in.
    root: Option<&'a Schema>,
    locals: Vec<(&'a str, Known<'a>)>,
}

impl<'a> Estimator<'a> {
    fn node(&mut self, node: NodeId) -> Known<'a> {
        let ast = self.ast;
        match ast.expr(node) {
            Expr::Literal(literal) => Known::sized(Estimate::ZERO, literal_size(literal)),
            Expr::Ident(name) => self.ident(node, name),
            Expr::Select {
                operand,
                field,
                mode,
            } => self.select(node, *operand, field, *mode),
            Expr::Index {
                operand,
                index,
                optional,
            } => self.index(*operand, *index, *optional),
            Expr::Call {
                function,
                target,
                args,
            } => self.call(node, function, *target, args),
            Expr::And(terms) | Expr::Or(terms) => self.logic(terms),
            Expr::Conditional { condition, yes, no } => self.conditional(*condition, *yes, *no),
            Expr::List(elements) => {
                let parts: Vec<NodeId> = elements.iter().map(|element| element.value).collect();
                self.literal(cost::LIST, &[], &parts)
            }
            Expr::Map(entries) => {
                let keys: Vec<NodeId> = entries.iter().map(|entry| entry.key).collect();
                let values: Vec<NodeId> = entries.iter().map(|entry| entry.value).collect();
                self.literal(cost::MAP, &keys, &values)
            }
            Expr::Struct { fields, .. } => {
                let mut total = Estimate::exactly(cost::OBJECT);
                for field in fields {
                    total = total.plus(self.node(field.value).cost);
                }
                Known::costing(total)
            }
            Expr::Fold(fold) => self.fold(fold),
            Expr::OptMap {
                target,
                variable,
                body,
                flat,
            } => self.opt_map(*target, variable, *body, *flat),
            Expr::SortBy {
                target,
                variable,
                key,
            } => self.sort_by(*target, variable, *key),
            Expr::Bind {
                variable,
                init,
                body,
            } => {
                let init = self.node(*init);
                let body = self.within(&[(variable, init)], |estimator| estimator.node(*body));
                Known {
                    cost: init
                        .cost
                        .plus(body.cost)
                        .plus(Estimate::exactly(cost::LIST)),
                    ..body
                }
            }
        }
    }

    fn within<T>(&mut self, names: &[(&'a str, Known<'a>)], run: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.locals.len();
        self.locals.extend_from_slice(names);
        let result = run(self);
        self.locals.truncate(before);
        result
    }

    // --- sizes ---

    /// The size of a value: from the tree, else from its schema, else one for scalars.
    fn size(&self, node: NodeId, known: &Known<'a>) -> Option<Estimate> {
        if matches!(self.ast.expr(node), Expr::Ident(_)) {
            return path_size(known)
                .or_else(|| scalar_size(self.checked.ty(node)))
                .or(known.size);
        }
        known
            .size
            .or_else(|| path_size(known))
            .or_else(|| scalar_size(self.checked.ty(node)))
    }

    fn size_or_unknown(&self, node: NodeId, known: &Known<'a>) -> Estimate {
        self.size(node, known).unwrap_or(Estimate::UNKNOWN)
    }

    // --- paths ---

    /// One step down; a step from a computed value starts at the root.
    fn step(
        &self,
        path: Path<'a>,
        down: impl FnOnce(&'a Schema) -> Option<&'a Schema>,
    ) -> Path<'a> {
        match path {
            Path::Nowhere => Path::At(self.root),
            Path::At(schema) => Path::At(schema.and_then(down)),
        }
    }

    fn items(&self, path: Path<'a>) -> Path<'a> {
        self.step(path, |schema| match &schema.shape {
            Shape::List(items, _) => Some(items),
            Shape::Map(values) => Some(values),
            _ => None,
        })
    }

    fn ident(&mut self, node: NodeId, name: &str) -> Known<'a> {
        if matches!(self.checked.reference(node), Reference::None)
            && let Some((_, local)) = self.locals.iter().rev().find(|(local, _)| *local == name)
        {
            return Known {
                cost: Estimate::ONE,
                ..*local
            };
        }
        self.variable(node)
    }

    fn variable(&self, node: NodeId) -> Known<'a> {
        let schema = match self.checked.reference(node) {
            Reference::Variable(name) => self
                .env
                .variables
                .get(name)
                .and_then(|variable| variable.schema.as_deref()),
            _ => None,
        };
        Known::at(Estimate::ONE, Path::At(schema.or(self.root)))
    }

    fn select(
        &mut self,
        node: NodeId,
        operand: NodeId,
        field: &str,
        mode: SelectMode,
    ) -> Known<'a> {
        if matches!(
            self.checked.reference(node),
            Reference::Variable(_) | Reference::TypeName(_)
        ) {
            return self.variable(node);
        }
        let known = self.node(operand);
        match mode {
            SelectMode::Test => return Known::costing(known.cost),
            SelectMode::Optional => return Known::costing(known.cost.plus(Estimate::ONE)),
            SelectMode::Value => {}
        }
        let charged = matches!(
            self.checked.ty(operand),
            Type::Map(_) | Type::Object(_) | Type::Var(_)
        );
        let path = self.step(known.path, |schema| match &schema.shape {
            Shape::Object(object) => match &object.fields {
                Fields::Declared(fields) => fields.get(field).map(|field| &*field.schema),
                _ => None,
            },
            _ => None,
        });
        Known::at(known.cost.plus(Estimate::exactly(u64::from(charged))), path)
    }

    fn index(&mut self, operand: NodeId, index: NodeId, optional: bool) -> Known<'a> {
        let (known, key) = (self.node(operand), self.node(index));
        let total = known.cost.plus(key.cost).plus(Estimate::ONE);
        let plain = matches!(
            self.checked.ty(operand),
            Type::List(_) | Type::Map(_) | Type::Dyn
        );
        if optional || !plain {
            return Known::costing(total);
        }
        Known {
            size: known.entries.map(|(_, value)| value),
            ..Known::at(total, self.items(known.path))
        }
    }

    // --- operators and literals ---

    fn logic(&mut self, terms: &[NodeId]) -> Known<'a> {
        let costs: Vec<Estimate> = terms.iter().map(|&term| self.node(term).cost).collect();
        let max = costs
            .iter()
            .fold(Estimate::ZERO, |sum, cost| sum.plus(*cost))
            .max;
        let min = costs.first().map_or(0, |cost| cost.min);
        Known::costing(Estimate { min, max })
    }

    fn conditional(&mut self, condition: NodeId, yes: NodeId, no: NodeId) -> Known<'a> {
        let (condition, left, right) = (self.node(condition), self.node(yes), self.node(no));
        let size = self
            .size_or_unknown(yes, &left)
            .or(self.size_or_unknown(no, &right));
        let entries = match (left.entries, right.entries) {
            (Some(a), Some(b)) => Some((a.0.or(b.0), a.1.or(b.1))),
            _ => None,
        };
        Known {
            entries,
            ..Known::sized(condition.cost.plus(left.cost.or(right.cost)), size)
        }
    }

    fn literal(&mut self, base: u64, keys: &[NodeId], values: &[NodeId]) -> Known<'a> {
        let mut total = Estimate::exactly(base);
        let mut widest = |estimator: &mut Self, nodes: &[NodeId]| {
            let mut size: Option<Estimate> = None;
            for &node in nodes {
                let known = estimator.node(node);
                total = total.plus(known.cost);
                let found = estimator.size_or_unknown(node, &known);
                size = Some(size.map_or(found, |size| size.or(found)));
            }
            size.unwrap_or(Estimate::ZERO)
        };
        let key = if base == cost::LIST {
            Estimate::ONE
        } else {
            widest(self, keys)
        };
        let value = widest(self, values);
        let size = Estimate::exactly(values.len() as u64);
        Known {
            entries: Some((key, value)),
            ..Known::sized(total, size)
        }
    }
}

/// Scalars and objects of a schema have no size at all.
fn path_size(known: &Known<'_>) -> Option<Estimate> {
    match known.path {
        Path::At(Some(schema)) => Some(Estimate::up_to(schema_size(schema))),
        _ => None,
    }
}

fn schema_size(schema: &Schema) -> u64 {
    match schema.shape {
        Shape::Any => u64::MAX,
        _ => Sizes::max(schema).unwrap_or(0),
    }
}

fn literal_size(literal: &Literal) -> Estimate {
    Estimate::exactly(match literal {
        Literal::String(text) => code_points(text),
        Literal::Bytes(bytes) => bytes.len() as u64,
        _ => 1,
    })
}

/// Types whose values all have one size.
fn scalar_size(ty: &Type) -> Option<Estimate> {
    match ty {
        Type::Bool | Type::Int | Type::Uint | Type::Double | Type::Duration | Type::Timestamp => {
            Some(Estimate::ONE)
        }
        Type::Optional(inner) => scalar_size(inner),
        _ => None,
    }
}
