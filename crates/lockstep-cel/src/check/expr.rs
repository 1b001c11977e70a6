//! Type rules of expressions.

use super::unify::most_general;
use super::{Checker, Reference};
use crate::ast::{Element, Entry, Expr, FieldInit, Literal, NodeId, SelectMode};
use crate::dialect::{Feature, Profile};
use crate::env::Resolved;
use crate::schema::{ObjectType, is_reserved};
use crate::types::Type;

impl Checker<'_> {
    /// Checks a node and remembers its type.
    pub(super) fn node(&mut self, node: NodeId) -> Type {
        let ty = self.expr(node);
        self.types[node.index()] = ty.clone();
        ty
    }

    fn expr(&mut self, node: NodeId) -> Type {
        let ast = self.ast;
        match ast.expr(node) {
            Expr::Literal(literal) => literal_type(literal),
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
            } => self.index(node, *operand, *index, *optional),
            Expr::Call {
                function,
                target,
                args,
            } => self.call(node, function, *target, args),
            Expr::And(terms) | Expr::Or(terms) => self.logic(terms),
            Expr::Conditional { condition, yes, no } => {
                self.operator(node, "_?_:_", &[*condition, *yes, *no])
            }
            Expr::List(elements) => self.list(elements),
            Expr::Map(entries) => self.map(entries),
            Expr::Struct { name, fields } => self.object(node, name, fields),
            Expr::Fold(fold) => self.fold(node, fold),
            Expr::OptMap {
                target,
                variable,
                body,
                flat,
            } => self.opt_map(node, *target, variable, *body, *flat),
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
                let ty = self.node(*init);
                self.within(&[(variable, ty)], |checker| checker.node(*body))
            }
        }
    }

    // --- names and fields ---

    fn ident(&mut self, node: NodeId, name: &str) -> Type {
        if let Some(resolved) = self.name(name) {
            return self.refer(node, resolved);
        }
        self.undeclared(self.ast.offset(node), name.trim_start_matches('.'));
        Type::Error
    }

    fn refer(&mut self, node: NodeId, resolved: Resolved) -> Type {
        let (reference, ty) = match resolved {
            Resolved::Variable(name, ty) if name.is_empty() => (Reference::None, ty),
            Resolved::Variable(name, ty) => (Reference::Variable(name), ty),
            Resolved::TypeName(ty) => (Reference::TypeName(ty.clone()), Type::type_of(ty)),
        };
        self.references[node.index()] = reference;
        ty
    }

    /// `a.b.c` when the whole chain is one declared name.
    fn qualified(&self, node: NodeId) -> Option<Resolved> {
        let name = dotted(self.ast, node)?;
        if self.env.profile == Profile::Spec {
            let root = name.split('.').next().unwrap_or_default();
            if !root.is_empty() && self.locals.iter().any(|(local, _)| **local == *root) {
                return None;
            }
        }
        self.env
            .candidates(&name)
            .iter()
            .find_map(|full| self.env.global(full))
    }

    fn select(&mut self, node: NodeId, operand: NodeId, field: &str, mode: SelectMode) -> Type {
        if mode == SelectMode::Value
            && let Some(resolved) = self.qualified(node)
        {
            return self.refer(node, resolved);
        }
        let ty = self.node(operand);
        let selected = self.field(node, &ty, field, mode == SelectMode::Optional);
        if mode == SelectMode::Test {
            Type::Bool
        } else {
            selected
        }
    }

    fn field(&mut self, node: NodeId, operand: &Type, field: &str, optional: bool) -> Type {
        let operand = self.unifier.substitute(operand);
        let (target, viral) = match operand {
            Type::Optional(inner) => ((*inner).clone(), true),
            other => (other, false),
        };
        let found = match &target {
            Type::Map(pair) => pair.1.clone(),
            Type::Object(object) => self.object_field(object, field).unwrap_or_else(|| {
                self.error_at(node, format!("undefined field '{field}'"));
                Type::Error
            }),
            Type::Var(_) => {
                self.unifier.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                let message = format!(
                    "type '{}' does not support field selection",
                    other.in_message()
                );
                self.error_at(node, message);
                Type::Dyn
            }
        };
        if viral || optional {
            Type::optional(found)
        } else {
            found
        }
    }

    /// The type of an object's field; reserved words are only visible where they are allowed.
    fn object_field(&self, object: &ObjectType, field: &str) -> Option<Type> {
        let hidden = is_reserved(field) && !self.env.has(Feature::ReservedFields);
        object.field(field).filter(|_| !hidden)
    }

    fn index(&mut self, node: NodeId, operand: NodeId, index: NodeId, optional: bool) -> Type {
        self.operator(
            node,
            if optional { "_[?_]" } else { "_[_]" },
            &[operand, index],
        )
    }

    // --- logic and literals ---

    fn logic(&mut self, terms: &[NodeId]) -> Type {
        let mut fits = true;
        for &term in terms {
            let ty = self.node(term);
            if !self.unifier.assignable(&ty, &Type::Bool) {
                self.mismatch(term, &Type::Bool, &ty);
                fits = false;
            }
        }
        if fits { Type::Bool } else { Type::Error }
    }

    /// The common type of the parts of a literal, `dyn` when they differ.
    fn join(&mut self, common: Option<Type>, next: Type) -> Type {
        match common {
            None => next,
            Some(common) if self.unifier.assignable(&common, &next) => most_general(&common, &next),
            Some(_) => Type::Dyn,
        }
    }

    /// The type of a part written with `?`: what the optional holds.
    fn unwrapped(&mut self, node: NodeId, ty: Type, optional: bool) -> Type {
        if !optional {
            return ty;
        }
        match self.unifier.substitute(&ty) {
            Type::Optional(inner) => (*inner).clone(),
            other if other.is_dyn_or_error() => other,
            other => {
                self.mismatch(node, &Type::optional(other.clone()), &other);
                other
            }
        }
    }

    fn list(&mut self, elements: &[Element]) -> Type {
        let mut common = None;
        for element in elements {
            let ty = self.node(element.value);
            let ty = self.unwrapped(element.value, ty, element.optional);
            common = Some(self.join(common, ty));
        }
        Type::list(common.unwrap_or_else(|| self.unifier.fresh()))
    }

    fn map(&mut self, entries: &[Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            let key = self.node(entry.key);
            keys = Some(self.join(keys, key));
            let value = self.node(entry.value);
            let value = self.unwrapped(entry.value, value, entry.optional);
            values = Some(self.join(values, value));
        }
        let key = keys.unwrap_or_else(|| self.unifier.fresh());
        Type::map(key, values.unwrap_or_else(|| self.unifier.fresh()))
    }

    fn object(&mut self, node: NodeId, name: &str, fields: &[FieldInit]) -> Type {
        let candidates = self.env.candidates(name);
        let declared = candidates
            .iter()
            .find_map(|full| self.env.object_type(full));
        let Some(ty) = declared else {
            // As upstream, fields of an unknown type are not looked at: one error for each literal.
            self.undeclared(self.ast.offset(node), name.trim_start_matches('.'));
            return Type::Error;
        };
        for init in fields {
            let value = self.node(init.value);
            let value = self.unwrapped(init.value, value, init.optional);
            let Type::Object(object) = &ty else {
                continue;
            };
            match object.field(&init.name) {
                None => self.error(init.at, format!("undefined field '{}'", init.name)),
                Some(declared) if !self.unifier.assignable(&declared, &value) => {
                    let message = format!(
                        "expected type of field '{}' is '{}' but provided type is '{}'",
                        init.name,
                        declared.in_message(),
                        self.unifier.substitute(&value).in_message()
                    );
                    self.error(init.at, message);
                }
                Some(_) => {}
            }
        }
        ty
    }
}

fn literal_type(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// The name a chain of plain selections spells.
pub(crate) fn dotted(ast: &crate::ast::Ast, node: NodeId) -> Option<String> {
    match ast.expr(node) {
        Expr::Ident(name) => Some(name.to_string()),
        Expr::Select {
            operand,
            field,
            mode: SelectMode::Value,
        } => {
            let mut name = dotted(ast, *operand)?;
            name.push('.');
            name.push_str(field);
            Some(name)
        }
        _ => None,
    }
}
