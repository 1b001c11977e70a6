//! The cases of the performance table: time for one evaluation with binding, and for compiling.
//!
//! `cargo bench -p lockstep-cel` prints nanoseconds; a filter on the command line picks cases by name.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use lockstep_cel::schema::{Resource, Schema};
use lockstep_cel::{Activation, Arena, Budget, Env, Program, Type, Version};
use serde_json::{Value as Json, json};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Name, expression and how many containers the object has.
const CASES: &[(&str, &str, usize)] = &[
    ("compare", "object.spec.replicas <= 5", 1),
    (
        "all-1",
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
        1,
    ),
    (
        "all-10",
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
        10,
    ),
    (
        "all-100",
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
        100,
    ),
    (
        "regex",
        "object.metadata.labels['app'].matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        1,
    ),
    (
        "map-10",
        "object.spec.containers.map(c, {'name': c.name, 'image': c.image})",
        10,
    ),
    (
        "format",
        "'%s has %d replicas'.format([object.metadata.name, object.spec.replicas])",
        1,
    ),
    (
        "quantity-10",
        "object.spec.containers.all(c, quantity(c.memory).isLessThan(quantity('2Gi')))",
        10,
    ),
    (
        "filter-10",
        "object.spec.containers.filter(c, has(c.image) && c.name != 'x').size() > 0",
        10,
    ),
    (
        "optional",
        "object.?spec.?template.?name.orValue('none') == 'none'",
        1,
    ),
    (
        "exists_one-100",
        "object.spec.containers.all(c, object.spec.containers.exists_one(d, d.name == c.name))",
        100,
    ),
    (
        "object-10",
        "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name})}}",
        10,
    ),
];

fn object(containers: usize) -> Json {
    let container = |index: usize| json!({"name": format!("c{index}"), "image": format!("registry.example.com/shop/web:1.{index}"), "memory": "512Mi"});
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 3, "containers": (0..containers).map(container).collect::<Vec<_>>()},
    })
}

/// The fastest of several rounds, in nanoseconds for one run.
fn measure(mut run: impl FnMut()) -> f64 {
    let mut count = 1_u32;
    let mut best = f64::INFINITY;
    for _ in 0..12 {
        let start = Instant::now();
        (0..count).for_each(|_| run());
        let took = start.elapsed();
        best = best.min(took.as_secs_f64() * 1e9 / f64::from(count));
        if took < Duration::from_millis(20) {
            count = count.saturating_mul(4);
        }
    }
    best
}

/// A rule of a CRD over a list with a schema.
const RULE: &str =
    "self.items.all(i, i.name.startsWith('c') && i.count < 5 && (!has(i.note) || i.note != ''))";

fn rule_env() -> Env {
    let item = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "count": {"type": "integer"}, "note": {"type": "string"},
    }});
    let schema =
        json!({"type": "object", "properties": {"items": {"type": "array", "items": item}}});
    let schema = Schema::from_structural(&schema, "selfType", Resource::Part).unwrap();
    Env::kubernetes(Version::LATEST).with_schema_variable("self", Arc::new(schema))
}

fn rule_object(count: usize) -> Json {
    let item = |index: usize| json!({"name": format!("c{index}"), "count": 1});
    json!({"items": (0..count).map(item).collect::<Vec<_>>()})
}

/// Evaluates again and again, with binding and cost counting.
fn evaluate(program: &Program, variable: &str, object: &Json) -> f64 {
    let mut arena = Arena::new();
    measure(|| {
        {
            let activation = Activation::new().with_json(variable, object);
            let value = program.evaluate(&activation, &arena, &mut Budget::default());
            assert!(black_box(value).is_ok(), "a case of the table fails");
        }
        arena.reset();
    })
}

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let picked = |name: &str| {
        filter
            .as_ref()
            .is_none_or(|filter| name.contains(filter.as_str()))
    };
    let env = Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_mutation();
    let rules = rule_env();
    let policies = CASES
        .iter()
        .map(|(name, text, count)| (*name, *text, &env, "object", object(*count)));
    let typed = [("rule-1", 1), ("rule-100", 100)];
    let typed = typed
        .into_iter()
        .map(|(name, count)| (name, RULE, &rules, "self", rule_object(count)));
    println!("{:<16} {:>12} {:>12}", "case", "evaluate ns", "compile ns");
    for (name, text, env, variable, object) in policies.chain(typed).filter(|case| picked(case.0)) {
        let program = env.compile(text).unwrap();
        let evaluated = evaluate(&program, variable, &object);
        let compiled = measure(|| {
            black_box(env.compile(text).unwrap());
        });
        println!("{name:<16} {evaluated:>12.0} {compiled:>12.0}");
    }
    let built = measure(|| {
        black_box(Env::kubernetes(Version::LATEST));
    });
    println!("building an environment takes {built:.0} ns");
}
