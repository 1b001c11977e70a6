//! Overload resolution of calls.

use super::expr::dotted;
use super::{Checker, Reference};
use crate::ast::NodeId;
use crate::types::Type;

impl Checker<'_> {
    /// A function or method call.
    pub(super) fn call(
        &mut self,
        node: NodeId,
        function: &str,
        target: Option<NodeId>,
        args: &[NodeId],
    ) -> Type {
        let Some(target) = target else {
            return self.global_call(node, function, args);
        };
        if let Some(full) = self.namespaced(function, target) {
            let arguments = self.nodes(args);
            let ty = self.resolve(node, &full, &arguments, false);
            if let Reference::Call { namespaced, .. } = &mut self.references[node.index()] {
                *namespaced = true;
            }
            return ty;
        }
        let mut arguments = vec![self.node(target)];
        arguments.extend(self.nodes(args));
        if self.env.functions.named(function).is_none() {
            self.undeclared(self.ast.offset(node), function);
            return Type::Error;
        }
        self.resolve(node, function, &arguments, true)
    }

    fn global_call(&mut self, node: NodeId, function: &str, args: &[NodeId]) -> Type {
        let arguments = self.nodes(args);
        let candidates = self.env.candidates(function);
        let functions = &self.env.functions;
        if let Some(full) = candidates
            .iter()
            .find(|full| functions.named(full).is_some())
        {
            return self.resolve(node, full, &arguments, false);
        }
        self.undeclared(self.ast.offset(node), function.trim_start_matches('.'));
        Type::Error
    }

    /// An operator on already parsed operands.
    pub(super) fn operator(&mut self, node: NodeId, function: &str, args: &[NodeId]) -> Type {
        let arguments = self.nodes(args);
        self.resolve(node, function, &arguments, false)
    }

    fn nodes(&mut self, nodes: &[NodeId]) -> Vec<Type> {
        nodes.iter().map(|&node| self.node(node)).collect()
    }

    /// `a.b.f` as the name of a function, if there is one.
    fn namespaced(&self, function: &str, target: NodeId) -> Option<Box<str>> {
        let name = format!("{}.{function}", dotted(self.ast, target)?);
        self.env
            .candidates(&name)
            .into_iter()
            .find(|full| self.env.functions.named(full).is_some())
    }

    /// Finds the overloads that fit; the receiver of a method is the first argument.
    pub(super) fn resolve(
        &mut self,
        node: NodeId,
        function: &str,
        arguments: &[Type],
        member: bool,
    ) -> Type {
        let env = self.env;
        let mut result: Option<Type> = None;
        let mut overloads = Vec::new();
        for &index in env.functions.named(function).unwrap_or_default() {
            let overload = env.functions.overload(index);
            if overload.member != member || overload.params.len() != arguments.len() {
                continue;
            }
            let mut letters = Vec::new();
            let params: Vec<Type> = overload
                .params
                .iter()
                .map(|param| self.unifier.instantiate(param, &mut letters))
                .collect();
            let pairs: Vec<_> = arguments.iter().zip(&params).collect();
            if !self.unifier.all_assignable(&pairs) {
                continue;
            }
            overloads.push(index);
            let found = self.unifier.instantiate(&overload.result, &mut letters);
            let found = self.unifier.substitute(&found);
            result = Some(match result {
                None => found,
                Some(Type::Dyn) => Type::Dyn,
                Some(before) if before == found => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            self.no_overload(node, function, arguments, member);
            return Type::Error;
        };
        self.references[node.index()] = Reference::Call {
            overloads,
            namespaced: false,
        };
        result
    }

    fn no_overload(&mut self, node: NodeId, function: &str, arguments: &[Type], member: bool) {
        let shown: Vec<String> = arguments
            .iter()
            .map(|ty| self.unifier.settle(ty).in_message())
            .collect();
        let applied = match shown.split_first() {
            Some((receiver, rest)) if member => format!("{receiver}.({})", rest.join(", ")),
            _ => format!("({})", shown.join(", ")),
        };
        self.error_at(
            node,
            format!("found no matching overload for '{function}' applied to '{applied}'"),
        );
    }
}
