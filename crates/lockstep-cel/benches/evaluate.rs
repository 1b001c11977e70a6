//! The cases of the performance table: time for one evaluation with binding, and for compiling.
//!
//! `cargo bench -p lockstep-cel` prints nanoseconds; a filter on the command line picks cases by name.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use lockstep_cel::{Activation, Arena, Budget, Env, Type, Version};
use serde_json::{Value as Json, json};
use std::hint::black_box;
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

fn main() {
    let filter = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let env = Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_mutation();
    let build = measure(|| {
        black_box(Env::kubernetes(Version::LATEST));
    });
    println!("building an environment takes {build:.0} ns");
    println!("{:<16} {:>12} {:>12}", "case", "evaluate ns", "compile ns");
    for (name, text, containers) in CASES {
        if filter
            .as_ref()
            .is_some_and(|filter| !name.contains(filter.as_str()))
        {
            continue;
        }
        let object = object(*containers);
        let program = env.compile(text).unwrap();
        let mut arena = Arena::new();
        let evaluate = measure(|| {
            {
                let activation = Activation::new().with_json("object", &object);
                let value = program.evaluate(&activation, &arena, &mut Budget::default());
                black_box(value.is_ok());
            }
            arena.reset();
        });
        let compile = measure(|| {
            black_box(env.compile(text).unwrap());
        });
        println!("{name:<16} {evaluate:>12.0} {compile:>12.0}");
    }
}
