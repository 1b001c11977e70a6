//! Properties of any text, any data and any schema: one body for each, for random tests and for a fuzzer.

use crate::generate::Case;
use lockstep_cel::authorizer::{Attributes, Authorization, Authorizer, Decision};
use lockstep_cel::schema::{Resource, Schema};
use lockstep_cel::{Activation, Arena, Budget, Env, EvalError, Opaque, Program, Type, Version};
use serde_json::Value as Json;
use std::sync::{Arc, LazyLock};

/// Budget of one evaluation: enough for every function to grow something, little enough to try many.
const COST_MAX: u64 = 50_000;

static KUBERNETES: LazyLock<Env> = LazyLock::new(|| {
    Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_variable("self", Type::Dyn)
        .with_variable(
            "authorizer",
            Type::opaque("kubernetes.authorization.Authorizer"),
        )
        .with_mutation()
});

static SPEC: LazyLock<Env> = LazyLock::new(|| {
    Env::spec()
        .with_variable("object", Type::Dyn)
        .with_variable("self", Type::Dyn)
});

fn envs() -> [&'static Env; 2] {
    [&*KUBERNETES, &*SPEC]
}

/// The environment whose data has this case's schema, if that is one.
fn typed(case: &Case) -> Option<Env> {
    let schema = Schema::from_structural(&case.schema, "selfType", Resource::Root)?;
    let schema = Arc::new(schema);
    let env = KUBERNETES.clone();
    Some(
        env.with_schema_variable("object", Arc::clone(&schema))
            .with_schema_variable("self", schema),
    )
}

/// Any text parses and is planned, or is refused with at least one error that can be shown.
pub fn parse(text: &str) {
    for env in envs() {
        if let Err(issues) = env.compile_unchecked(text) {
            assert!(!issues.is_empty(), "refused without a reason: {text:?}");
            lockstep_cel::issue::render(&issues);
        }
    }
}

/// Any text is checked, estimated and analysed, or is refused with at least one error that can be shown; with
/// variables that have no schema and with one that has.
pub fn check(case: &Case) {
    for env in envs().into_iter().chain(&typed(case)) {
        match env.compile(&case.text) {
            Ok(program) => analyse(&program),
            Err(issues) => {
                assert!(
                    !issues.is_empty(),
                    "refused without a reason: {}",
                    case.text
                );
                lockstep_cel::issue::render(&issues);
            }
        }
    }
}

/// A program that was checked has an estimate whose ends are in order, and paths.
fn analyse(program: &Program) {
    let estimate = program.estimate();
    assert!(
        estimate.is_some_and(|estimate| estimate.min <= estimate.max),
        "{}: {estimate:?}",
        program.text()
    );
    program.paths();
}

/// Any program gives a value or an error, the same one for the same price each time, within its budget.
pub fn evaluate(case: &Case) {
    for env in envs().into_iter().chain(&typed(case)) {
        let programs = [env.compile(&case.text), env.compile_unchecked(&case.text)];
        for program in programs.iter().flatten() {
            let first = run(program, &case.object);
            assert_eq!(first, run(program, &case.object), "{}", case.text);
        }
    }
}

/// Checking types first changes no value.
pub fn differential(case: &Case) {
    for env in envs() {
        let (Ok(checked), Ok(unchecked)) =
            (env.compile(&case.text), env.compile_unchecked(&case.text))
        else {
            continue;
        };
        let (first, _) = run(&checked, &case.object);
        let (second, _) = run(&unchecked, &case.object);
        match (&first, &second) {
            (Err(EvalError::Failed(_)), Err(EvalError::Failed(_)))
            | (Err(EvalError::CostLimit), _)
            | (_, Err(EvalError::CostLimit)) => {}
            _ => assert_eq!(first, second, "{} on {}", case.text, case.object),
        }
    }
}

/// Evaluates; the value in a form that tells types apart, and what was spent.
fn run(program: &Program, object: &Json) -> (Result<String, EvalError>, u64) {
    let arena = Arena::new();
    let authorizer = Opaque::Authorizer(Authorization::new(Arc::new(Nobody)));
    let activation = Activation::new()
        .with_json("object", object)
        .with_json("self", object)
        .with_opaque("authorizer", &authorizer);
    let mut budget = Budget::new(COST_MAX);
    let value = program.evaluate(&activation, &arena, &mut budget);
    let shown = value.map(|value| {
        let json = value
            .to_json()
            .map_or_else(|error| error.to_string(), |json| json.to_string());
        format!("{} {json}", value.type_name())
    });
    assert!(
        shown.is_err() || budget.spent() <= COST_MAX,
        "{} spent {}",
        program.text(),
        budget.spent()
    );
    (shown, budget.spent())
}

/// Allows nothing.
#[derive(Debug)]
struct Nobody;

impl Authorizer for Nobody {
    fn authorize(&self, attributes: &Attributes) -> Decision {
        Decision {
            allowed: false,
            reason: attributes.verb.clone(),
            error: None,
        }
    }
}
