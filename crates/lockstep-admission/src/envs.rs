//! CEL environments of the expressions of policies. Each is built once for a version and shared.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use lockstep_cel::context::admission_environment;
use lockstep_cel::{Env, Type, Version};

/// Whether a policy has a `paramKind`, so that its expressions may use `params`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HasParams {
    /// The variable is declared.
    Yes,
    /// The variable is undeclared.
    No,
}

/// Kind of an expression, which decides its variables and functions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Use {
    /// `matchConditions`: no `variables`.
    Conditions,
    /// `variables`, validations and audit annotations.
    Variables,
    /// `messageExpression`: no authorizer.
    Message,
    /// Mutations: object types and their functions.
    Mutation,
    /// `apply`: as mutations, with `storedObject`.
    Apply,
    /// `apply` with a `scope` whose values are mutated one by one: as `apply`, with `self`.
    Scoped,
    /// Conditions of `safety`: no object types, with `applied`.
    Safety,
}

type Envs = BTreeMap<(Version, Use, HasParams), Arc<Env>>;

/// The environment of expressions that are stored already: every feature is on.
pub fn stored(purpose: Use, params: HasParams) -> Arc<Env> {
    of_version(Version::LATEST, purpose, params)
}

/// The environment of expressions that are new at a compatibility version.
pub fn of_version(version: Version, purpose: Use, params: HasParams) -> Arc<Env> {
    static ENVS: LazyLock<Mutex<Envs>> = LazyLock::new(Mutex::default);
    // A server has one compatibility version, so that there are a few dozen environments at most.
    let mut envs = ENVS.lock().unwrap_or_else(PoisonError::into_inner);
    let env = envs.entry((version, purpose, params));
    Arc::clone(env.or_insert_with(|| Arc::new(build(version, purpose, params))))
}

fn build(version: Version, purpose: Use, params: HasParams) -> Env {
    let mut env = admission_environment(version);
    if params == HasParams::Yes {
        env = env.with_variable("params", Type::Dyn);
    }
    env = match purpose {
        Use::Conditions => return env,
        Use::Message => env
            .without_variable("authorizer")
            .without_variable("authorizer.requestResource"),
        Use::Variables => env,
        Use::Mutation => env.with_mutation(),
        Use::Apply => env.with_mutation().with_variable("storedObject", Type::Dyn),
        Use::Scoped => env
            .with_mutation()
            .with_variable("storedObject", Type::Dyn)
            .with_variable("self", Type::Dyn),
        Use::Safety => env.with_variable("applied", Type::Dyn),
    };
    env.with_no_lazy_variables()
}
