//! Type rules of macros.

use super::{Checker, Reference};
use crate::ast::{Fold, FoldKind, NodeId};
use crate::types::Type;

impl Checker<'_> {
    pub(super) fn within<T>(
        &mut self,
        names: &[(&str, Type)],
        run: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let before = self.locals.len();
        self.locals
            .extend(names.iter().map(|(name, ty)| ((*name).into(), ty.clone())));
        let result = run(self);
        self.locals.truncate(before);
        result
    }

    /// Types of the first and second loop variable over a range; issues are reported at `at`.
    fn range(&mut self, range: NodeId, at: NodeId, pairs: bool) -> (Type, Type) {
        let ty = self.node(range);
        match self.unifier.substitute(&ty) {
            Type::List(element) if pairs => (Type::Int, (*element).clone()),
            Type::List(element) => ((*element).clone(), Type::Dyn),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            var @ Type::Var(_) => {
                self.unifier.assignable(&Type::Dyn, &var);
                (Type::Dyn, Type::Dyn)
            }
            Type::Dyn | Type::Error => (Type::Dyn, Type::Dyn),
            other => {
                let shown = other.in_message();
                let message = format!(
                    "expression of type '{shown}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.error_at(at, message);
                (Type::Error, Type::Error)
            }
        }
    }

    pub(super) fn fold(&mut self, node: NodeId, fold: &Fold) -> Type {
        let (first, second) = self.range(fold.range, fold.range, fold.value.is_some());
        let mut names = vec![(&*fold.variable, first.clone())];
        names.extend(fold.value.iter().map(|name| (&**name, second.clone())));
        let body = self.within(&names, |checker| {
            let filter = fold.filter.map(|filter| checker.node(filter));
            let body = match fold.kind {
                FoldKind::All | FoldKind::Exists => checker.condition(fold.body),
                _ => checker.node(fold.body),
            };
            let (predicate, result) = match fold.kind {
                FoldKind::ExistsOne => (Some(body.clone()), Type::Int),
                FoldKind::List => (filter, Type::list(body.clone())),
                _ => (filter, body.clone()),
            };
            if let Some(predicate) = predicate {
                checker.choice(node, &predicate, &result);
            }
            body
        });
        match fold.kind {
            FoldKind::All | FoldKind::Exists | FoldKind::ExistsOne => Type::Bool,
            FoldKind::List => Type::list(body),
            FoldKind::Map => Type::map(first, body),
            FoldKind::MapEntry => self.entry_map(fold.body, &body),
        }
    }

    /// A predicate of `all` and `exists`.
    fn condition(&mut self, node: NodeId) -> Type {
        let ty = self.node(node);
        if !self.unifier.assignable(&ty, &Type::Bool) {
            self.mismatch(node, &Type::Bool, &ty);
        }
        Type::Bool
    }

    /// A predicate of the other macros, which expand to a choice between two accumulators.
    fn choice(&mut self, node: NodeId, predicate: &Type, accumulator: &Type) {
        if self.unifier.assignable(predicate, &Type::Bool) {
            return;
        }
        let predicate = self.unifier.settle(predicate).in_message();
        let accumulator = self.unifier.settle(accumulator).in_message();
        let message = format!(
            "found no matching overload for '_?_:_' applied to '({predicate}, {accumulator}, {accumulator})'"
        );
        self.error_at(node, message);
    }

    fn entry_map(&mut self, node: NodeId, body: &Type) -> Type {
        let expected = Type::map(self.unifier.fresh(), self.unifier.fresh());
        if !self.unifier.assignable(&expected, body) {
            let shown = self.unifier.substitute(body).in_message();
            let message = format!(
                "found no matching overload for 'cel.@mapInsert' applied to '(map(dyn, dyn), {shown})'"
            );
            self.error_at(node, message);
        }
        self.unifier.substitute(&expected)
    }

    pub(super) fn opt_map(
        &mut self,
        node: NodeId,
        target: NodeId,
        variable: &str,
        body: NodeId,
        flat: bool,
    ) -> Type {
        let ty = self.node(target);
        let inner = self.unifier.fresh();
        let inner = match self.unifier.substitute(&ty) {
            Type::Dyn | Type::Error => Type::Dyn,
            found
                if self
                    .unifier
                    .assignable(&Type::optional(inner.clone()), &found) =>
            {
                inner
            }
            found => {
                let shown = self.unifier.settle(&found).in_message();
                // The macro expansion calls both functions, and each call reports.
                for function in ["hasValue", "value"] {
                    let message = format!(
                        "found no matching overload for '{function}' applied to '{shown}.()'"
                    );
                    self.error_at(node, message);
                }
                Type::Error
            }
        };
        let result = self.within(&[(variable, inner)], |checker| checker.node(body));
        if !flat {
            return Type::optional(result);
        }
        match self.unifier.substitute(&result) {
            found @ (Type::Optional(_) | Type::Dyn | Type::Error) => found,
            other => {
                let shown = other.in_message();
                let message = format!(
                    "found no matching overload for '_?_:_' applied to '(bool, {shown}, optional_type(dyn))'"
                );
                self.error_at(node, message);
                Type::Error
            }
        }
    }

    pub(super) fn sort_by(
        &mut self,
        node: NodeId,
        target: NodeId,
        variable: &str,
        key: NodeId,
    ) -> Type {
        let (element, _) = self.range(target, node, false);
        let key = self.within(&[(variable, element.clone())], |checker| checker.node(key));
        let target_type = self.types[target.index()].clone();
        let arguments = [target_type, Type::list(key)];
        let sorted = self.resolve(node, "@sortByAssociatedKeys", &arguments, true);
        match self.unifier.substitute(&arguments[0]) {
            _ if sorted == Type::Error => sorted,
            // With keys of any type there are several results, with keys of one type there is one.
            Type::Dyn if self.is_ambiguous(node) => Type::Dyn,
            _ => Type::list(element),
        }
    }

    fn is_ambiguous(&self, node: NodeId) -> bool {
        matches!(&self.references[node.index()], Reference::Call { overloads, .. } if overloads.len() > 1)
    }
}
