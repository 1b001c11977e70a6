//! Parsing of macros, which become dedicated nodes because they bind variables.

use super::Parser;
use crate::ast::{Element, Expr, Fold, FoldKind, NodeId, SelectMode};
use crate::lexer::Token;

const NOT_SORTABLE: &str =
    "sortBy can only be applied to a list, identifier, comprehension, call or select expression";

impl Parser<'_> {
    /// `name(args)`, or the macro `has`.
    pub(super) fn global_call(&mut self, name: &str, args: Vec<NodeId>, open: Token) -> NodeId {
        if name == "has" && args.len() == 1 {
            return self.has(args[0], open);
        }
        self.push(
            Expr::Call {
                function: name.into(),
                target: None,
                args,
            },
            open.start,
        )
    }

    fn has(&mut self, arg: NodeId, open: Token) -> NodeId {
        match self.ast.expr(arg) {
            Expr::Select {
                operand,
                field,
                mode: SelectMode::Value,
            } => {
                let select = Expr::Select {
                    operand: *operand,
                    field: field.clone(),
                    mode: SelectMode::Test,
                };
                self.push(select, open.start)
            }
            _ => self.error_node(self.ast.offset(arg), "invalid argument to has() macro"),
        }
    }

    /// `target.name(args)`, or one of the receiver macros.
    pub(super) fn member_call(
        &mut self,
        target: NodeId,
        name: &str,
        args: Vec<NodeId>,
        open: Token,
    ) -> NodeId {
        let expanded = match (name, args.len()) {
            ("all", 2) => self.fold(FoldKind::All, target, &args),
            ("exists", 2) => self.fold(FoldKind::Exists, target, &args),
            ("exists_one", 2) => self.fold(FoldKind::ExistsOne, target, &args),
            ("map", 2 | 3) => self.fold(FoldKind::List, target, &args),
            ("filter", 2) => self.filter(target, &args),
            ("optMap", 2) if self.syntax.optionals => self.opt_map(target, &args, false),
            ("optFlatMap", 2) if self.syntax.optionals => self.opt_map(target, &args, true),
            ("sortBy", 2) if self.syntax.sort_by && self.is_written_whole(target) => {
                return self.error_node(self.ast.offset(target), NOT_SORTABLE);
            }
            ("sortBy", 2) if self.syntax.sort_by => self.sort_by(target, &args),
            ("bind", 3) if self.syntax.bind && self.is_name(target, "cel") => self.bind(&args),
            ("greatest", 1..) if self.syntax.math && self.is_name(target, "math") => {
                Ok(self.extreme("math.@max", args, open))
            }
            ("least", 1..) if self.syntax.math && self.is_name(target, "math") => {
                Ok(self.extreme("math.@min", args, open))
            }
            _ => match two_variable_kind(name, args.len()) {
                Some(kind) if self.syntax.two_variables => self.fold_pairs(kind, target, &args),
                _ => {
                    let call = Expr::Call {
                        function: name.into(),
                        target: Some(target),
                        args,
                    };
                    return self.push(call, open.start);
                }
            },
        };
        match expanded {
            Ok(expr) => self.push(expr, open.start),
            Err(at) => self.error_node(at, "argument must be a simple name"),
        }
    }

    /// `math.greatest(a, b, c, …)`: three and more arguments are a list.
    fn extreme(&mut self, function: &str, args: Vec<NodeId>, open: Token) -> Expr {
        let args = if args.len() > 2 {
            let element = |value| Element {
                value,
                optional: false,
            };
            let elements = args.into_iter().map(element).collect();
            vec![self.push(Expr::List(elements), open.start)]
        } else {
            args
        };
        Expr::Call {
            function: function.into(),
            target: None,
            args,
        }
    }

    fn is_name(&self, node: NodeId, name: &str) -> bool {
        matches!(self.ast.expr(node), Expr::Ident(ident) if &**ident == name)
    }

    /// The name a macro binds, or the offset of the argument that is none.
    fn variable(&self, arg: NodeId) -> Result<Box<str>, u32> {
        match self.ast.expr(arg) {
            Expr::Ident(name) if !name.starts_with('.') => Ok(name.clone()),
            _ => Err(self.ast.offset(arg)),
        }
    }

    fn fold(&mut self, kind: FoldKind, range: NodeId, args: &[NodeId]) -> Result<Expr, u32> {
        let variable = self.variable(args[0])?;
        let (filter, body) = if args.len() == 3 {
            (Some(args[1]), args[2])
        } else {
            (None, args[1])
        };
        Ok(Expr::Fold(Fold {
            kind,
            range,
            variable,
            value: None,
            filter,
            body,
        }))
    }

    fn filter(&mut self, range: NodeId, args: &[NodeId]) -> Result<Expr, u32> {
        let variable = self.variable(args[0])?;
        Ok(Expr::Fold(Fold {
            kind: FoldKind::List,
            range,
            variable,
            value: None,
            filter: Some(args[1]),
            body: args[0],
        }))
    }

    fn fold_pairs(&mut self, kind: FoldKind, range: NodeId, args: &[NodeId]) -> Result<Expr, u32> {
        let variable = self.variable(args[0])?;
        let value = Some(self.variable(args[1])?);
        if value.as_ref() == Some(&variable) {
            return Err(self.ast.offset(args[1]));
        }
        let (filter, body) = if args.len() == 4 {
            (Some(args[2]), args[3])
        } else {
            (None, args[2])
        };
        Ok(Expr::Fold(Fold {
            kind,
            range,
            variable,
            value,
            filter,
            body,
        }))
    }

    fn opt_map(&mut self, target: NodeId, args: &[NodeId], flat: bool) -> Result<Expr, u32> {
        Ok(Expr::OptMap {
            target,
            variable: self.variable(args[0])?,
            body: args[1],
            flat,
        })
    }

    /// True for a constant, map or object literal, which cannot evaluate to a list.
    fn is_written_whole(&self, node: NodeId) -> bool {
        matches!(
            self.ast.expr(node),
            Expr::Literal(_) | Expr::Map(_) | Expr::Struct { .. }
        )
    }

    fn sort_by(&mut self, target: NodeId, args: &[NodeId]) -> Result<Expr, u32> {
        Ok(Expr::SortBy {
            target,
            variable: self.variable(args[0])?,
            key: args[1],
        })
    }

    fn bind(&mut self, args: &[NodeId]) -> Result<Expr, u32> {
        Ok(Expr::Bind {
            variable: self.variable(args[0])?,
            init: args[1],
            body: args[2],
        })
    }
}

fn two_variable_kind(name: &str, args: usize) -> Option<FoldKind> {
    match (name, args) {
        ("all", 3) => Some(FoldKind::All),
        ("exists", 3) => Some(FoldKind::Exists),
        ("exists_one" | "existsOne", 3) => Some(FoldKind::ExistsOne),
        ("transformList", 3 | 4) => Some(FoldKind::List),
        ("transformMap", 3 | 4) => Some(FoldKind::Map),
        ("transformMapEntry", 3 | 4) => Some(FoldKind::MapEntry),
        _ => None,
    }
}
