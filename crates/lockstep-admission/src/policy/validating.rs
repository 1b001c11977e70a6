//! Compiled `ValidatingAdmissionPolicy`.

use lockstep_cel::{Program, Type};
use lockstep_object::field::Path;
use lockstep_object::{Object, Reason, Value};

use super::expressions::ExpressionKind;
use super::{Common, Compiler, StoredExpressions, uses};
use crate::envs::Use;
use crate::look::{list, text};

/// A compiled validating policy.
#[derive(Debug)]
pub struct ValidatingPolicy {
    /// Name, parameters, constraints, conditions, variables, failure policy.
    pub common: Common,
    /// The validations, in order.
    pub validations: Vec<Validation>,
    /// The audit annotations, in order.
    pub audit_annotations: Vec<AuditAnnotation>,
}

/// One of the `validations`.
#[derive(Debug)]
pub struct Validation {
    /// The expression.
    pub expression: Box<str>,
    /// The compiled expression, or the reason why it does not compile.
    pub program: Result<Program, String>,
    /// `message`; or empty.
    pub message: Box<str>,
    /// The compiled `messageExpression`. One that does not compile is ignored, as upstream.
    pub message_program: Option<Program>,
    /// Reason of a denial.
    pub reason: Reason,
}

/// One of the `auditAnnotations`.
#[derive(Debug)]
pub struct AuditAnnotation {
    /// The key, without the name of the policy.
    pub key: Box<str>,
    /// The expression.
    pub expression: Box<str>,
    /// The compiled expression, or the reason why it does not compile.
    pub program: Result<Program, String>,
}

impl ValidatingPolicy {
    /// Compiles a stored policy.
    pub fn compile(policy: &Object) -> Self {
        let none = StoredExpressions::default();
        Self::compile_with(policy, &mut Compiler::of_stored(policy, &none))
    }

    pub(super) fn compile_with(policy: &Object, compiler: &mut Compiler<'_>) -> Self {
        let null = Value::Null;
        let spec = policy.at(&["spec"]).unwrap_or(&null);
        let variables = compiler.variables(spec);
        let path = Path::ROOT.field("spec");
        let validations = path.field("validations");
        let annotations = path.field("auditAnnotations");
        Self {
            common: Common::read(policy, variables),
            validations: list(spec, "validations")
                .iter()
                .enumerate()
                .filter_map(|(index, validation)| {
                    Validation::compile(validation, compiler, &validations.index(index))
                })
                .collect(),
            audit_annotations: list(spec, "auditAnnotations")
                .iter()
                .enumerate()
                .filter_map(|(index, annotation)| {
                    AuditAnnotation::compile(annotation, compiler, &annotations.index(index))
                })
                .collect(),
        }
    }

    /// True if an expression uses this variable of the environment.
    pub fn uses_variable(&self, name: &str) -> bool {
        let validations = self
            .validations
            .iter()
            .map(|validation| &validation.program);
        let annotations = self
            .audit_annotations
            .iter()
            .map(|annotation| &annotation.program);
        let mut programs = validations.chain(annotations);
        self.common.uses_variable(name) || programs.any(|program| uses(program, name))
    }
}

impl Validation {
    fn compile(validation: &Value, compiler: &mut Compiler<'_>, path: &Path<'_>) -> Option<Self> {
        let expression = text(validation, "expression");
        if expression.trim().is_empty() {
            return None;
        }
        let env = compiler.env(ExpressionKind::Value, Use::Variables, expression);
        let place = path.field("expression");
        let program = compiler.compile(&env, expression, &[Type::Bool], &place);
        let message_expression = text(validation, "messageExpression");
        let message_program = if message_expression.trim().is_empty() {
            None
        } else {
            let env = compiler.env(ExpressionKind::Message, Use::Message, message_expression);
            let place = path.field("messageExpression");
            let program = compiler.compile(&env, message_expression, &[Type::String], &place);
            program.ok()
        };
        Some(Self {
            expression: expression.into(),
            program,
            message: text(validation, "message").into(),
            message_program,
            reason: match text(validation, "reason") {
                "Forbidden" => Reason::Forbidden,
                "Unauthorized" => Reason::Unauthorized,
                "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
                _ => Reason::Invalid,
            },
        })
    }
}

impl AuditAnnotation {
    fn compile(annotation: &Value, compiler: &mut Compiler<'_>, path: &Path<'_>) -> Option<Self> {
        let expression = text(annotation, "valueExpression");
        if expression.trim().is_empty() {
            return None;
        }
        let env = compiler.env(ExpressionKind::Audit, Use::Variables, expression);
        let place = path.field("valueExpression");
        let types = [Type::String, Type::Null];
        Some(Self {
            key: text(annotation, "key").into(),
            expression: expression.into(),
            program: compiler.compile(&env, expression, &types, &place),
        })
    }
}
