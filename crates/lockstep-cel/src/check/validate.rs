//! AST validators that run after type checking: homogeneous literals and constant arguments.

use lockstep_gotext::duration::Duration;
use lockstep_gotext::re2::Pattern;
use lockstep_gotext::timestamp::Timestamp;

use super::{Checked, Reference, format, type_mismatch};
use crate::ast::{Ast, Element, Entry, Expr, Literal, NodeId, for_each_child};
use crate::dialect::{Feature, Profile};
use crate::env::Env;
use crate::issue::{Issue, Phase};
use crate::types::Type;

/// The functions whose arguments may mix types.
const MIXED_ARGUMENTS: [&str; 1] = ["format"];

pub(super) fn validate(ast: &Ast, env: &Env, checked: &Checked) -> Vec<Issue> {
    if env.profile == Profile::Spec {
        return Vec::new();
    }
    let mut validator = Validator {
        ast,
        env,
        checked,
        issues: Vec::new(),
    };
    validator.node(ast.root(), false);
    validator.issues
}

struct Validator<'a> {
    ast: &'a Ast,
    env: &'a Env,
    checked: &'a Checked,
    issues: Vec<Issue>,
}

impl Validator<'_> {
    fn error(&mut self, node: NodeId, message: impl Into<String>) {
        self.issues.push(Issue::at(
            Phase::Check,
            self.ast.source(),
            self.ast.offset(node),
            message,
        ));
    }

    fn node(&mut self, node: NodeId, mixed: bool) {
        let ast = self.ast;
        let expr = ast.expr(node);
        let mut mixed = mixed;
        match expr {
            Expr::List(elements) if !mixed => self.list(elements),
            Expr::Map(entries) if !mixed => self.map(entries),
            Expr::Call {
                function,
                target,
                args,
            } => {
                mixed = mixed || MIXED_ARGUMENTS.contains(&&**function);
                self.call(node, function, *target, args);
            }
            _ => {}
        }
        for_each_child(expr, |child| self.node(child, mixed));
    }

    fn part(&self, node: NodeId, optional: bool) -> Type {
        match self.checked.ty(node) {
            Type::Optional(inner) if optional => (**inner).clone(),
            ty => ty.clone(),
        }
    }

    fn list(&mut self, elements: &[Element]) {
        let Some((first, rest)) = elements.split_first() else {
            return;
        };
        let expected = self.part(first.value, first.optional);
        for element in rest {
            let found = self.part(element.value, element.optional);
            if found != expected {
                return self.error(element.value, type_mismatch(&expected, &found));
            }
        }
    }

    fn map(&mut self, entries: &[Entry]) {
        let Some((first, rest)) = entries.split_first() else {
            return;
        };
        let key = self.checked.ty(first.key).clone();
        let value = self.part(first.value, first.optional);
        for entry in rest {
            let found = self.checked.ty(entry.key).clone();
            if found != key {
                self.error(entry.key, type_mismatch(&key, &found));
            }
            let found = self.part(entry.value, entry.optional);
            if found != value {
                self.error(entry.value, type_mismatch(&value, &found));
            }
        }
    }

    fn call(&mut self, node: NodeId, function: &str, target: Option<NodeId>, args: &[NodeId]) {
        if !matches!(self.checked.reference(node), Reference::Call { .. }) {
            return;
        }
        if function == "format" && self.env.has(Feature::StringsV2) {
            if let (Some(target), [list]) = (target, args) {
                self.issues.extend(format::validate(
                    self.ast,
                    self.checked,
                    node,
                    target,
                    *list,
                ));
            }
            return;
        }
        if !self.env.has(Feature::LiteralValidators) {
            return;
        }
        let Some(&argument) = args.last() else { return };
        let Expr::Literal(literal) = self.ast.expr(argument) else {
            return;
        };
        let valid = match (function, literal) {
            ("duration", Literal::String(text)) => Duration::parse(text).is_ok(),
            ("duration", Literal::Int(_)) => false,
            ("timestamp", Literal::String(text)) => Timestamp::parse(text).is_ok(),
            ("timestamp", Literal::Int(seconds)) => Timestamp::from_unix_seconds(*seconds).is_ok(),
            ("matches", Literal::String(text)) => Pattern::compile(text).is_ok(),
            _ => true,
        };
        if !valid {
            self.error(argument, format!("invalid {function} argument"));
        }
    }
}
