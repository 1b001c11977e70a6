//! An expression, what it may name, and the data it runs on.

use std::{path::PathBuf, sync::Arc};

use clap::ValueEnum;
use lockstep_cel::{
    Activation, Env, Program, Type, Version, context,
    issue::{self, Issue},
    schema::{Resource, Schema},
};
use serde_json::Value;

use crate::{
    document,
    failure::{Exit, Failure},
    output::Format,
};

/// Arguments of a command with one expression.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) expression: Expression,
    /// Output format
    #[arg(long, short, value_name = "FORMAT", default_value = "table")]
    pub(crate) output: Format,
}

/// The expression and where it stands.
#[derive(Debug, clap::Args)]
pub(crate) struct Expression {
    /// The expression
    #[arg(value_name = "EXPRESSION")]
    text: String,
    /// File with a map of variables, `-` for standard input; may be repeated
    #[arg(long, short = 'f', value_name = "FILE")]
    filename: Vec<PathBuf>,
    /// Structural schema that types `self` and `oldSelf`
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Kind of expression, which decides its variables
    #[arg(long, value_name = "WHERE", default_value = "any")]
    context: Context,
    /// Language options; `spec` has all, `kubernetes` those of the API server
    #[arg(long, value_name = "PROFILE", default_value = "kubernetes")]
    profile: ProfileName,
    /// Compatibility version to compile a new expression at; everything is available when not given
    #[arg(long, value_name = "VERSION")]
    compatibility_version: Option<Version>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Context {
    /// Every variable of the files, without types
    Any,
    /// A validation rule of a CRD: `self` and `oldSelf`
    Rule,
    /// A policy: `object`, `oldObject`, `request`, `namespaceObject`, `params`
    Policy,
    /// A mutating policy: the same, and `Object` and `JSONPatch`
    Mutation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum ProfileName {
    Spec,
    Kubernetes,
}

/// A compiled expression with its data.
pub(crate) struct Subject {
    pub(crate) program: Program,
    variables: Vec<(String, Value)>,
    /// Names the expression may use although no file binds them.
    unbound: Vec<&'static str>,
}

impl Expression {
    /// Reads the files and compiles the expression; all compile errors are reported at once.
    pub(crate) fn compile(&self) -> Result<Subject, Failure> {
        let variables = self.variables()?;
        let (env, unbound) = self.environment(&variables)?;
        let program = env.compile(&self.text).map_err(|issues| refused(&issues))?;
        Ok(Subject {
            program,
            variables,
            unbound,
        })
    }

    /// Later files win over earlier ones.
    fn variables(&self) -> Result<Vec<(String, Value)>, Failure> {
        let mut variables = serde_json::Map::new();
        for path in &self.filename {
            match document::read(path)? {
                Value::Object(map) => variables.extend(map),
                Value::Null => {}
                _ => {
                    let message = format!("{}: expected a map of variables", path.display());
                    return Err(Failure::bad_input(message));
                }
            }
        }
        Ok(variables.into_iter().collect())
    }

    fn environment(
        &self,
        variables: &[(String, Value)],
    ) -> Result<(Env, Vec<&'static str>), Failure> {
        let mut env = match self.profile {
            ProfileName::Spec => Env::spec(),
            ProfileName::Kubernetes => {
                Env::kubernetes(self.compatibility_version.unwrap_or(Version::LATEST))
            }
        };
        if self.context == Context::Mutation {
            env = env.with_mutation();
        }
        let schema = self
            .schema
            .as_ref()
            .map(|path| read_schema(path))
            .transpose()?;
        let typed = self.context.typed(schema);
        let untyped = variables.iter().map(|(name, _)| name.as_str());
        let untyped = untyped.chain(self.context.untyped().iter().copied());
        for name in untyped {
            if typed.iter().all(|(known, _)| *known != name) {
                env = env.with_variable(name, Type::Dyn);
            }
        }
        let bound = |name: &str| variables.iter().any(|(known, _)| known == name);
        let names = typed
            .iter()
            .map(|(name, _)| *name)
            .chain(self.context.untyped().iter().copied());
        let unbound = names.filter(|name| !bound(name)).collect();
        for (name, schema) in typed {
            env = env.with_schema_variable(name, schema);
        }
        Ok((env, unbound))
    }
}

impl Context {
    fn typed(self, schema: Option<Arc<Schema>>) -> Vec<(&'static str, Arc<Schema>)> {
        let mut typed = Vec::new();
        if let Some(schema) = schema {
            typed.push(("self", Arc::clone(&schema)));
            typed.push(("oldSelf", schema));
        }
        if matches!(self, Context::Policy | Context::Mutation) {
            typed.push(("request", context::request_schema()));
            typed.push(("namespaceObject", context::namespace_schema()));
        }
        typed
    }

    fn untyped(self) -> &'static [&'static str] {
        match self {
            Context::Any => &[],
            Context::Rule => &["self", "oldSelf"],
            Context::Policy | Context::Mutation => &["object", "oldObject", "params"],
        }
    }
}

impl Subject {
    /// The data; a variable that no file binds is null in a policy and absent elsewhere.
    pub(crate) fn activation(&self) -> Activation<'_> {
        let mut activation = Activation::new();
        for (name, value) in &self.variables {
            activation = activation.with_json(name, value);
        }
        for name in &self.unbound {
            activation = activation.with_absent(name);
        }
        activation
    }

    /// Whether there is data to run on.
    pub(crate) fn has_data(&self) -> bool {
        !self.variables.is_empty()
    }
}

fn read_schema(path: &std::path::Path) -> Result<Arc<Schema>, Failure> {
    let document = document::read(path)?;
    let schema = Schema::from_structural(&document, "Self", Resource::Part);
    let untyped = || {
        let message = format!(
            "{}: the schema has no type an expression could use",
            path.display()
        );
        Failure::bad_input(message)
    };
    schema.map(Arc::new).ok_or_else(untyped)
}

/// An expression that does not compile, with a line and a caret for each mistake.
fn refused(issues: &[Issue]) -> Failure {
    let causes = issues.iter().map(|issue| issue.message.clone()).collect();
    let message = format!("the expression does not compile\n{}", issue::render(issues));
    Failure::of_causes(Exit::BadInput, &message, causes)
}
