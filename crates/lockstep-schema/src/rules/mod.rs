//! `x-kubernetes-validations`: CEL validation rules.

mod field_path;
mod reads;
mod run;

pub(crate) use field_path::{normalised, selectable_path};
pub use reads::{RuleReads, rule_reads};
pub(crate) use run::Evaluation;

use crate::keywords::{flag, list, text};
use lockstep_cel::schema::{Resource, Schema as Shape};
use lockstep_cel::{Env, Issue, Program, Type, Version, issue};
use serde_json::Value;
use std::sync::Arc;

/// A rule that runs.
#[derive(Debug)]
pub(crate) struct Rule {
    /// The rule, or why it does not compile.
    pub(crate) program: Result<Program, String>,
    pub(crate) message_expression: Option<Program>,
    pub(crate) uses_old_self: bool,
    pub(crate) optional_old_self: bool,
    pub(crate) reason: Reason,
    /// Path of the error, relative to the value.
    pub(crate) field_path: Option<String>,
    /// Name of the rule in errors: its message or its expression.
    pub(crate) name: Box<str>,
    /// Error message unless `messageExpression` yields one.
    pub(crate) message: Box<str>,
}

/// The kind of error a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Invalid,
    Forbidden,
    Required,
    Duplicate,
}

/// Words for [`Reason`], sorted.
pub(crate) const REASONS: [(&str, Reason); 4] = [
    ("FieldValueDuplicate", Reason::Duplicate),
    ("FieldValueForbidden", Reason::Forbidden),
    ("FieldValueInvalid", Reason::Invalid),
    ("FieldValueRequired", Reason::Required),
];

/// Type environment of expressions at a position in the schema.
pub(crate) struct Scope {
    shape: Arc<Shape>,
}

impl Scope {
    /// The scope of a schema; none if it has no type that expressions could use.
    pub(crate) fn of(schema: &Value, is_root: bool) -> Option<Self> {
        let is_resource = is_root || flag(schema, "x-kubernetes-embedded-resource");
        let resource = if is_resource {
            Resource::Root
        } else {
            Resource::Part
        };
        let shape = Shape::from_structural(schema, "selfType", resource)?;
        Some(Self {
            shape: Arc::new(shape),
        })
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    fn env(&self, rule: &Value, version: Version) -> Env {
        let env = Env::kubernetes(version).with_schema_variable("self", Arc::clone(&self.shape));
        if flag(rule, "optionalOldSelf") {
            env.with_optional_schema_variable("oldSelf", Arc::clone(&self.shape))
        } else {
            env.with_schema_variable("oldSelf", Arc::clone(&self.shape))
        }
    }

    /// Compiles the `rule` of a rule.
    pub(crate) fn compile_rule(&self, rule: &Value, version: Version) -> Result<Program, String> {
        let program = self.env(rule, version).compile(text(rule, "rule"));
        let program = program.map_err(|issues| failed("compilation failed", &issues))?;
        if *program.static_type() == Type::Bool {
            Ok(program)
        } else {
            Err("cel expression must evaluate to a bool".to_owned())
        }
    }

    /// Compiles the `messageExpression` of a rule.
    pub(crate) fn compile_message(
        &self,
        rule: &Value,
        version: Version,
    ) -> Result<Program, String> {
        let program = self
            .env(rule, version)
            .compile(text(rule, "messageExpression"));
        let program =
            program.map_err(|issues| failed("messageExpression compilation failed", &issues))?;
        if *program.static_type() == Type::String {
            Ok(program)
        } else {
            Err("messageExpression must evaluate to a string".to_owned())
        }
    }
}

fn failed(what: &str, issues: &[Issue]) -> String {
    format!("{what}: {}", issue::render(issues))
}

/// The rules of one schema, ready to run. Rules that do not compile fail when they run.
pub(crate) fn compile_all(schema: &Value, is_root: bool, version: Version) -> Vec<Rule> {
    let rules = list(schema, "x-kubernetes-validations");
    if rules.is_empty() {
        return Vec::new();
    }
    let scope = Scope::of(schema, is_root);
    rules
        .iter()
        .map(|rule| compile_one(schema, rule, scope.as_ref(), version))
        .collect()
}

fn compile_one(schema: &Value, rule: &Value, scope: Option<&Scope>, version: Version) -> Rule {
    let program = match scope {
        Some(scope) => scope.compile_rule(rule, version),
        None => Err("failed to convert to declType for CEL validation rules".to_owned()),
    };
    let message_expression = match scope {
        Some(scope) if !text(rule, "messageExpression").is_empty() => {
            scope.compile_message(rule, version).ok()
        }
        _ => None,
    };
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    let name = if message.is_empty() {
        expression
    } else {
        message.trim()
    };
    let default_message = format!("failed rule: {name}");
    let reason = REASONS
        .iter()
        .find(|(word, _)| *word == text(rule, "reason"));
    Rule {
        uses_old_self: program
            .as_ref()
            .is_ok_and(|program| program.uses_variable("oldSelf")),
        program,
        message_expression,
        optional_old_self: flag(rule, "optionalOldSelf"),
        reason: reason.map_or(Reason::Invalid, |(_, reason)| *reason),
        field_path: normalised(text(rule, "fieldPath"), schema).ok().flatten(),
        name: name.into(),
        message: if message.is_empty() {
            default_message.into()
        } else {
            message.trim().into()
        },
    }
}
