//! Compilation of the expressions of one policy, with a field error for each that fails.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_cel::{Env, Program, Type, Version, issue};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Object, Value};

use super::expressions::{ExpressionKind, StoredExpressions};
use super::{Variable, has_params};
use crate::envs::{self, HasParams, Use};
use crate::look::{list, text};

/// Compiles expressions, in the order in which they may refer to one another.
pub(crate) struct Compiler<'a> {
    stored: &'a StoredExpressions,
    /// Version of new expressions; none if all expressions are stored.
    version: Option<Version>,
    params: HasParams,
    /// Successfully compiled variables so far, which later expressions see.
    variables: Vec<(Box<str>, Arc<Program>)>,
    /// Environments with the first variables, by version and use, so that each variable is added once.
    envs: BTreeMap<(Version, Use), (usize, Env)>,
    errors: FieldErrors,
}

/// Largest number of variables of a policy.
const VARIABLES_MAX: usize = 256;

impl<'a> Compiler<'a> {
    /// For validation.
    pub(crate) fn new(policy: &Object, stored: &'a StoredExpressions, version: Version) -> Self {
        let null = Value::Null;
        Self {
            stored,
            version: Some(version),
            params: has_params(policy.at(&["spec"]).unwrap_or(&null)),
            variables: Vec::new(),
            envs: BTreeMap::new(),
            errors: FieldErrors::new(),
        }
    }

    /// For evaluation of a stored policy.
    pub(crate) fn of_stored(policy: &Object, none: &'a StoredExpressions) -> Self {
        Self {
            version: None,
            ..Self::new(policy, none, Version::LATEST)
        }
    }

    pub(crate) fn into_errors(self) -> FieldErrors {
        self.errors
    }

    pub(crate) fn error(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// The environment of an expression.
    pub(crate) fn env(&mut self, kind: ExpressionKind, purpose: Use, expression: &str) -> Env {
        let version = match self.version {
            Some(version) if !self.stored.has(kind, expression) => version,
            _ => Version::LATEST,
        };
        let params = self.params;
        if purpose == Use::Conditions {
            return Env::clone(&envs::of_version(version, purpose, params));
        }
        let known = self.envs.entry((version, purpose));
        let (added, env) =
            known.or_insert_with(|| (0, Env::clone(&envs::of_version(version, purpose, params))));
        for (name, program) in &self.variables[*added..] {
            *env = env.clone().with_lazy_variable(name, program);
        }
        *added = self.variables.len();
        env.clone()
    }

    /// Compiles the variables of a policy.
    pub(crate) fn variables(&mut self, spec: &Value) -> Vec<Variable> {
        let path = Path::ROOT.field("spec");
        let path = path.field("variables");
        let mut variables = Vec::new();
        let count = list(spec, "variables").len();
        if count > VARIABLES_MAX && self.version.is_some() {
            self.error(FieldError::too_many(&path, count, VARIABLES_MAX));
            return variables;
        }
        for (index, variable) in list(spec, "variables").iter().enumerate() {
            let path = path.index(index);
            let name = text(variable, "name");
            self.check_name(name, &path.field("name"));
            let expression = text(variable, "expression");
            let place = path.field("expression");
            if expression.trim().is_empty() {
                self.error(FieldError::required(&place, "expression is not specified"));
                continue;
            }
            let env = self.env(ExpressionKind::Value, Use::Variables, expression);
            let program = self.compile(&env, expression, &[], &place).map(Arc::new);
            if let Ok(program) = &program {
                self.variables.push((name.into(), Arc::clone(program)));
            }
            variables.push(Variable {
                name: name.into(),
                program,
            });
        }
        variables
    }

    fn check_name(&mut self, name: &str, path: &Path<'_>) {
        if name.trim().is_empty() {
            self.error(FieldError::required(path, "name is not specified"));
        } else if !lockstep_cel::is_identifier(name) {
            let why = "must be a valid CEL identifier";
            self.error(FieldError::invalid(path, name, why));
        }
    }

    /// Compiles an expression whose type must be one of `types`; of any type if there is none.
    pub(crate) fn compile(
        &mut self,
        env: &Env,
        expression: &str,
        types: &[Type],
        path: &Path<'_>,
    ) -> Result<Program, String> {
        let problem = match env.compile(expression) {
            Ok(program) if types.is_empty() || types.contains(program.static_type()) => {
                return Ok(program);
            }
            Ok(program) => must_be(types, program.static_type()),
            Err(issues) => {
                let mixes = issues.iter().any(|issue| mixes_types(&issue.message));
                let hint = if mixes { MIXED_TYPES_HINT } else { "" };
                format!("compilation failed: {}{hint}", issue::render(&issues))
            }
        };
        self.error(FieldError::invalid(
            path,
            expression.trim(),
            problem.as_str(),
        ));
        Err(format!("compilation error: {problem}"))
    }
}

const MIXED_TYPES_HINT: &str = "\nhint: elements of one literal have one type; dyn(...) around each, or string(...), mixes them";

/// True for the error of a list or map literal whose elements have several types.
fn mixes_types(message: &str) -> bool {
    message.starts_with("expected type '") && !message.starts_with("expected type 'bool'")
}

fn must_be(types: &[Type], found: &Type) -> String {
    match types {
        [one] => format!("must evaluate to {one} but got {found}"),
        several => {
            let several: Vec<String> = several.iter().map(Type::to_string).collect();
            format!(
                "must evaluate to one of [{}] but got {found}",
                several.join(" ")
            )
        }
    }
}

/// The static type with this name.
pub(crate) fn object_type(name: &str) -> Option<Type> {
    lockstep_cel::mutation::type_named(name)
}
