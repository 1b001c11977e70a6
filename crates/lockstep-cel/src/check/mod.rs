//! The type checker: assigns types to nodes and overloads to calls, and reports issues.

mod call;
mod expr;
mod format;
mod macros;
mod unify;
mod validate;

use crate::ast::{Ast, NodeId};
use crate::env::{Env, Resolved};
use crate::issue::{Issue, Phase};
use crate::parser::{ERRORS_MAX, in_text_order};
use crate::types::Type;
pub(crate) use expr::dotted;
use unify::Unifier;

/// Resolved reference of a node.
#[derive(Debug, Clone, Default)]
pub(crate) enum Reference {
    /// Nothing beyond the type.
    #[default]
    None,
    /// The node, a name or a chain of selections, is this variable.
    Variable(Box<str>),
    /// The node is the name of this type.
    TypeName(Type),
    /// A call of one of these overloads; the receiver is a namespace when `namespaced`.
    Call {
        overloads: Vec<u32>,
        namespaced: bool,
    },
}

/// A checked expression.
#[derive(Debug, Clone)]
pub(crate) struct Checked {
    pub(crate) types: Vec<Type>,
    pub(crate) references: Vec<Reference>,
}

impl Checked {
    pub(crate) fn ty(&self, node: NodeId) -> &Type {
        &self.types[node.index()]
    }

    pub(crate) fn reference(&self, node: NodeId) -> &Reference {
        &self.references[node.index()]
    }
}

/// Checks a whole expression.
pub(crate) fn check(ast: &Ast, env: &Env) -> Result<Checked, Vec<Issue>> {
    let mut checker = Checker {
        ast,
        env,
        types: vec![Type::Error; ast.len()],
        references: vec![Reference::None; ast.len()],
        unifier: Unifier::default(),
        locals: Vec::new(),
        issues: Vec::new(),
    };
    checker.node(ast.root());
    checker.finish()
}

struct Checker<'a> {
    ast: &'a Ast,
    env: &'a Env,
    types: Vec<Type>,
    references: Vec<Reference>,
    unifier: Unifier,
    locals: Vec<(Box<str>, Type)>,
    issues: Vec<Issue>,
}

impl Checker<'_> {
    fn finish(mut self) -> Result<Checked, Vec<Issue>> {
        for ty in &mut self.types {
            *ty = self.unifier.settle(ty);
        }
        let checked = Checked {
            types: self.types,
            references: self.references,
        };
        let mut issues = self.issues;
        if issues.is_empty() {
            issues = validate::validate(self.ast, self.env, &checked);
        }
        issues.truncate(ERRORS_MAX);
        if issues.is_empty() {
            Ok(checked)
        } else {
            Err(in_text_order(issues))
        }
    }

    fn error(&mut self, at: u32, message: impl Into<String>) {
        if self.issues.len() < ERRORS_MAX {
            self.issues
                .push(Issue::at(Phase::Check, self.ast.source(), at, message));
        }
    }

    fn error_at(&mut self, node: NodeId, message: impl Into<String>) {
        self.error(self.ast.offset(node), message);
    }

    fn undeclared(&mut self, at: u32, name: &str) {
        let container = &self.env.container;
        let message = format!("undeclared reference to '{name}' (in container '{container}')");
        self.error(at, message);
    }

    fn mismatch(&mut self, node: NodeId, expected: &Type, found: &Type) {
        let message = type_mismatch(
            &self.unifier.substitute(expected),
            &self.unifier.substitute(found),
        );
        self.error_at(node, message);
    }

    /// The type of a name: a local variable, or a global one in one of the container's scopes.
    fn name(&self, name: &str) -> Option<Resolved> {
        lookup(self.env, name, |name| {
            self.locals
                .iter()
                .rev()
                .find(|(local, _)| **local == *name)
                .map(|(_, ty)| ty.clone())
        })
    }
}

pub(crate) fn type_mismatch(expected: &Type, found: &Type) -> String {
    format!(
        "expected type '{}' but found '{}'",
        expected.in_message(),
        found.in_message()
    )
}

/// Resolves a simple name. A resolved local variable has an empty variable name.
pub(crate) fn lookup(
    env: &Env,
    name: &str,
    local: impl Fn(&str) -> Option<Type>,
) -> Option<Resolved> {
    let as_local = |ty| Resolved::Variable("".into(), ty);
    if env.profile == crate::dialect::Profile::Spec {
        return match local(name) {
            Some(ty) => Some(as_local(ty)),
            None => env
                .candidates(name)
                .iter()
                .find_map(|full| env.global(full)),
        };
    }
    env.candidates(name)
        .iter()
        .find_map(|full| local(full).map(as_local).or_else(|| env.global(full)))
}
