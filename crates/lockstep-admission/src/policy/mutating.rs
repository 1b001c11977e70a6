//! Compiled `MutatingAdmissionPolicy`.

use std::collections::BTreeSet;

use lockstep_cel::paths::{FieldPath, MutationScope, Segment};
use lockstep_cel::{Program, Type};
use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Object, Value};

use super::compile::object_type;
use super::expressions::ExpressionKind;
use super::{Common, Compiler, ScopePath, StoredExpressions, uses};
use crate::envs::Use;
use crate::look::{list, some, text};

/// A compiled mutating policy.
#[derive(Debug)]
pub struct MutatingPolicy {
    /// Name, parameters, constraints, conditions, variables, failure policy.
    pub common: Common,
    /// The mutations, in order.
    pub mutations: Vec<Mutation>,
    /// `reinvocationPolicy`.
    pub reinvocation: Reinvocation,
    /// `convergencePolicy`.
    pub convergence: Convergence,
}

/// `reinvocationPolicy`: whether the policy runs again after others changed the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reinvocation {
    /// It runs once.
    Never,
    /// It runs in a second pass if anything changed the object, as upstream.
    IfNeeded,
    /// It runs again after a write that overlaps what it reads or writes, at most this many times.
    IfAffected(u8),
}

/// `convergencePolicy`: consequence of policies that undo the changes of one another. Ordered by strictness.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Convergence {
    /// Reported in metrics and status.
    Report,
    /// The client is warned, too.
    Warn,
    /// The request is denied.
    Deny,
}

/// Treatment of omitted fields and atomic values in a merged object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dialect {
    /// True if `?field: optional.none()` removes the field.
    pub removes_unset: bool,
    /// True if atomic lists, maps and structs are replaced; false if they are an error.
    pub replaces_atomics: bool,
}

/// Kind of the expression, which decides what its result does to the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// `applyConfiguration`: merged by the schema.
    ApplyConfiguration(Dialect),
    /// `apply`: merged, with removal and replacement; `oldObject` is the current object.
    Apply,
    /// `jsonPatch`: a list of operations.
    JsonPatch,
}

/// One of the `mutations`.
#[derive(Debug)]
pub struct Mutation {
    /// `name`, or `mutations[0]` if it has none.
    pub name: Box<str>,
    /// Form of the expression.
    pub form: Form,
    /// The compiled expression, or the reason why it does not compile.
    pub program: Result<Program, String>,
    /// Explicit `scope`.
    pub declared_scope: Option<ScopePath>,
    /// True if the expression runs once for each value that the scope selects.
    pub is_per_value: bool,
    /// The deeper of the computed and the explicit scope.
    pub scope: MutationScope,
    /// Paths below the object that the expression reads.
    pub reads: BTreeSet<Vec<Segment>>,
    /// Fields set to a value that is computed from them: sets there are complete.
    pub complete: BTreeSet<Vec<Segment>>,
    /// `safety`.
    pub safety: Safety,
}

/// `safety`: what must hold at the end of the mutating phase.
#[derive(Debug)]
pub struct Safety {
    /// The check.
    pub mode: SafetyMode,
    /// Consequence of a violation.
    pub action: SafetyAction,
}

/// `safety.mode`
#[derive(Debug)]
pub enum SafetyMode {
    /// No check: others may overwrite the mutation.
    Overwritable,
    /// Replaying the mutation must change nothing.
    Exact,
    /// These conditions must be true.
    Conditional(Vec<SafetyCondition>),
}

/// One of the `safety.conditions`.
#[derive(Debug)]
pub struct SafetyCondition {
    /// The compiled expression, or the reason why it does not compile.
    pub program: Result<Program, String>,
    /// Message of a violation; or empty.
    pub message: Box<str>,
}

/// `safety.action`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SafetyAction {
    /// The request is denied.
    Fail,
    /// The client is warned.
    Warn,
}

/// Default of `reinvocationLimit`.
const REINVOCATIONS: u64 = 1;

impl MutatingPolicy {
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
        let path = path.field("mutations");
        let mutations = list(spec, "mutations").iter().enumerate();
        let mutations: Vec<Mutation> = mutations
            .filter_map(|(index, mutation)| {
                Mutation::compile(mutation, spec, compiler, &path.index(index), index)
            })
            .collect();
        Self {
            common: Common::read(policy, variables),
            reinvocation: match text(spec, "reinvocationPolicy") {
                "IfNeeded" => Reinvocation::IfNeeded,
                "IfAffected" => {
                    let limit = spec["reinvocationLimit"].as_u64().unwrap_or(REINVOCATIONS);
                    Reinvocation::IfAffected(u8::try_from(limit).unwrap_or(u8::MAX))
                }
                _ => Reinvocation::Never,
            },
            convergence: match text(spec, "convergencePolicy") {
                "Deny" => Convergence::Deny,
                "Warn" => Convergence::Warn,
                _ => Convergence::Report,
            },
            mutations,
        }
    }

    /// Depth of the shallowest mutation, by which policies are ordered.
    pub fn depth(&self) -> usize {
        let depths = self.mutations.iter().map(|mutation| mutation.scope.depth());
        depths.min().unwrap_or_default()
    }

    /// True if an expression uses this variable of the environment.
    pub fn uses_variable(&self, name: &str) -> bool {
        let mut mutations = self.mutations.iter();
        self.common.uses_variable(name) || mutations.any(|mutation| uses(&mutation.program, name))
    }

    /// Paths below the object that a run of the policy reads.
    pub fn reads(&self) -> BTreeSet<Vec<Segment>> {
        let reads = self.mutations.iter().flat_map(|mutation| &mutation.reads);
        reads.cloned().collect()
    }
}

impl Mutation {
    fn compile(
        mutation: &Value,
        spec: &Value,
        compiler: &mut Compiler<'_>,
        path: &Path<'_>,
        index: usize,
    ) -> Option<Self> {
        let configuration = path.field("applyConfiguration");
        let operations = path.field("jsonPatch");
        let (form, expression, place) = if some(mutation, "apply").is_some() {
            (Form::Apply, text(mutation, "apply"), path.field("apply"))
        } else if text(mutation, "patchType") == "JSONPatch" {
            let expression = text(&mutation["jsonPatch"], "expression");
            (Form::JsonPatch, expression, operations.field("expression"))
        } else {
            let settings = &mutation["applyConfiguration"];
            let dialect = Dialect {
                removes_unset: text(settings, "unset") == "Remove",
                replaces_atomics: text(settings, "atomics") == "Replace",
            };
            let form = Form::ApplyConfiguration(dialect);
            (
                form,
                text(settings, "expression"),
                configuration.field("expression"),
            )
        };
        if expression.trim().is_empty() {
            return None;
        }
        let declared = text(mutation, "scope");
        let declared_scope = match ScopePath::parse(declared) {
            _ if declared.is_empty() => None,
            Ok(scope) => Some(scope),
            Err(error) => {
                let why = error.to_string();
                compiler.error(FieldError::invalid(&path.field("scope"), declared, why));
                None
            }
        };
        let (program, is_per_value) =
            compile_expression(form, expression, declared_scope.as_ref(), compiler, &place);
        let objects = form.objects();
        let known = program.as_ref().ok();
        let computed = known.and_then(|program| program.mutation_scope(&|_| Vec::new(), objects));
        let mut scope = computed.unwrap_or_default();
        if let Some(declared) = &declared_scope {
            let explicit = declared.scope();
            if is_per_value {
                scope = explicit;
            } else if !scope.is_within(&explicit) && !explicit.is_within(&scope) {
                let why = format!(
                    "must be a prefix of the scope of the expression, or the other way round: {}",
                    shown(&scope)
                );
                let declared = declared.to_string();
                compiler.error(FieldError::invalid(&path.field("scope"), declared, why));
            } else if explicit.depth() > scope.depth() {
                scope = explicit;
            }
        }
        let reads = known.map(|program| object_paths(&program.paths().reads, &scope));
        let complete = match form {
            Form::Apply => known.map(|program| program.fields_set_from_themselves(objects)),
            Form::ApplyConfiguration(_) | Form::JsonPatch => None,
        };
        let name = match text(mutation, "name") {
            "" => format!("mutations[{index}]").into(),
            name => name.into(),
        };
        Some(Self {
            name,
            form,
            program,
            declared_scope,
            is_per_value,
            scope,
            reads: reads.unwrap_or_default(),
            complete: complete.unwrap_or_default(),
            safety: Safety::compile(mutation, spec, compiler, path),
        })
    }
}

impl Form {
    /// Variables that hold the current object.
    pub fn objects(self) -> &'static [&'static str] {
        match self {
            Self::Apply => &["object", "oldObject"],
            Self::ApplyConfiguration(_) | Self::JsonPatch => &["object"],
        }
    }
}

/// Compiles the expression, and tells whether it runs once for each value of the scope.
fn compile_expression(
    form: Form,
    expression: &str,
    scope: Option<&ScopePath>,
    compiler: &mut Compiler<'_>,
    place: &Path<'_>,
) -> (Result<Program, String>, bool) {
    let object = object_type("Object").into_iter();
    let kind = match form {
        Form::Apply => ExpressionKind::Apply,
        Form::ApplyConfiguration(_) => ExpressionKind::ApplyConfiguration,
        Form::JsonPatch => {
            let patches = object_type("JSONPatch").map(Type::list);
            let env = compiler.env(ExpressionKind::JsonPatch, Use::Mutation, expression);
            let types = Vec::from_iter(patches);
            return (compiler.compile(&env, expression, &types, place), false);
        }
    };
    let element = scope.and_then(|scope| object_type(&scope.type_name()));
    let scoped =
        element.filter(|_| form == Form::Apply && scope.is_some_and(|s| !s.steps.is_empty()));
    let Some(element) = scoped else {
        let env = compiler.env(kind, kind.purpose(), expression);
        let types: Vec<Type> = object.collect();
        return (compiler.compile(&env, expression, &types, place), false);
    };
    let env = compiler.env(kind, Use::Scoped, expression);
    let types: Vec<Type> = object.chain([element.clone()]).collect();
    let program = compiler.compile(&env, expression, &types, place);
    let is_element = |program: &Program| *program.static_type() == element;
    let is_per_value = program.as_ref().is_ok_and(is_element);
    (program, is_per_value)
}

fn shown(scope: &MutationScope) -> String {
    match scope.depth() {
        0 => "the whole object".to_owned(),
        _ => scope.to_string(),
    }
}

/// Paths below the mutated object. Reads of `self` are reads of the scope's values.
fn object_paths(reads: &BTreeSet<FieldPath>, scope: &MutationScope) -> BTreeSet<Vec<Segment>> {
    use lockstep_cel::paths::ScopeStep;
    let to_scope = scope.steps.iter().map(|step| match step {
        ScopeStep::Field(name) | ScopeStep::Key(name) => Segment::Field(name.clone()),
        ScopeStep::Each => Segment::Any,
    });
    let to_scope: Vec<Segment> = to_scope.collect();
    let paths = reads.iter().filter_map(|read| match &*read.variable {
        "object" | "oldObject" => Some(read.segments.clone()),
        "self" => Some([&to_scope[..], &read.segments].concat()),
        _ => None,
    });
    paths.collect()
}

impl Safety {
    fn compile(
        mutation: &Value,
        spec: &Value,
        compiler: &mut Compiler<'_>,
        path: &Path<'_>,
    ) -> Self {
        let overwritable = Self {
            mode: SafetyMode::Overwritable,
            action: SafetyAction::Fail,
        };
        let Some(safety) = some(mutation, "safety") else {
            let action = match text(spec, "mutationValidationPolicy") {
                "Fail" => SafetyAction::Fail,
                "Warn" => SafetyAction::Warn,
                _ => return overwritable,
            };
            let mode = SafetyMode::Exact;
            return Self { mode, action };
        };
        let path = path.field("safety");
        let path = path.field("conditions");
        let conditions = list(safety, "conditions").iter().enumerate();
        let conditions = conditions.filter_map(|(index, condition)| {
            let expression = text(condition, "expression");
            if expression.trim().is_empty() {
                return None;
            }
            let env = compiler.env(ExpressionKind::Safety, Use::Safety, expression);
            let path = path.index(index);
            let place = path.field("expression");
            Some(SafetyCondition {
                program: compiler.compile(&env, expression, &[Type::Bool], &place),
                message: text(condition, "message").into(),
            })
        });
        let conditions: Vec<SafetyCondition> = conditions.collect();
        Self {
            mode: match text(safety, "mode") {
                "Exact" => SafetyMode::Exact,
                "Conditional" => SafetyMode::Conditional(conditions),
                _ => SafetyMode::Overwritable,
            },
            action: match text(safety, "action") {
                "Warn" => SafetyAction::Warn,
                _ => SafetyAction::Fail,
            },
        }
    }
}
