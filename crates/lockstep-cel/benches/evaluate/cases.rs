//! Cases of the performance table (cel.md §15), shared by the time, instruction and memory benchmarks.

use lockstep_cel::schema::{Resource, Schema};
use lockstep_cel::{Activation, Arena, Budget, Env, Program, Type, Version};
use serde_json::{Value as Json, json};
use std::hint::black_box;
use std::sync::Arc;

/// Cases over the whole object.
const SINGLE: &[(&str, &str)] = &[
    ("compare", "object.spec.replicas <= 5"),
    (
        "regex",
        "object.metadata.labels['app'].matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
    ),
    (
        "format",
        "'%s has %d replicas'.format([object.metadata.name, object.spec.replicas])",
    ),
    (
        "optional",
        "object.?spec.?template.?name.orValue('none') == 'none'",
    ),
];

/// Cases over containers.
const REPEATED: &[(&str, &str)] = &[
    (
        "all",
        "object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    ),
    (
        "map",
        "object.spec.containers.map(c, {'name': c.name, 'image': c.image})",
    ),
    (
        "quantity",
        "object.spec.containers.all(c, quantity(c.memory).isLessThan(quantity('2Gi')))",
    ),
    (
        "filter",
        "object.spec.containers.filter(c, has(c.image) && c.name != 'x').size() > 0",
    ),
    (
        "object",
        "Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name})}}",
    ),
];

/// Numbers of containers or items.
const SIZES: [usize; 3] = [1, 10, 100];

/// A rule of a CRD over a list with a schema.
const RULE: &str =
    "self.items.all(i, i.name.startsWith('c') && i.count < 5 && (!has(i.note) || i.note != ''))";

/// The most expensive case: every container is looked for among all.
const SQUARE: &str =
    "object.spec.containers.all(c, object.spec.containers.exists_one(d, d.name == c.name))";

/// An expression with what it is compiled against and run on.
pub(crate) struct Case {
    pub(crate) name: String,
    text: &'static str,
    env: Env,
    variable: &'static str,
    object: Json,
}

impl Case {
    pub(crate) fn compile(&self) -> Program {
        self.env.compile(self.text).expect("a case compiles")
    }

    /// Binds and evaluates once, with cost counting; the arena is as good as new afterwards.
    pub(crate) fn evaluate(&self, program: &Program, arena: &mut Arena) {
        {
            let activation = Activation::new().with_json(self.variable, &self.object);
            let value = program.evaluate(&activation, arena, &mut Budget::default());
            assert!(black_box(value).is_ok(), "`{}` fails", self.name);
        }
        arena.reset();
    }
}

/// All cases, in the order of the table.
pub(crate) fn all() -> Vec<Case> {
    let policies = Env::kubernetes(Version::LATEST)
        .with_variable("object", Type::Dyn)
        .with_mutation();
    let policy = |name: String, text: &'static str, containers: usize| Case {
        name,
        text,
        env: policies.clone(),
        variable: "object",
        object: object(containers),
    };
    let single = SINGLE
        .iter()
        .map(|(name, text)| policy((*name).to_owned(), text, 1));
    let repeated = REPEATED
        .iter()
        .flat_map(|(name, text)| SIZES.map(|size| policy(format!("{name}-{size}"), text, size)));
    let square = [policy("exists_one-100".to_owned(), SQUARE, 100)];
    let rules = SIZES.map(|size| Case {
        name: format!("rule-{size}"),
        text: RULE,
        env: rule_env(),
        variable: "self",
        object: rule_object(size),
    });
    single.chain(repeated).chain(square).chain(rules).collect()
}

fn object(containers: usize) -> Json {
    let container = |index: usize| json!({"name": format!("c{index}"), "image": format!("registry.example.com/shop/web:1.{index}"), "memory": "512Mi"});
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"replicas": 3, "containers": (0..containers).map(container).collect::<Vec<_>>()},
    })
}

fn rule_env() -> Env {
    let item = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "count": {"type": "integer"}, "note": {"type": "string"},
    }});
    let schema =
        json!({"type": "object", "properties": {"items": {"type": "array", "items": item}}});
    let schema = Schema::from_structural(&schema, "selfType", Resource::Part);
    Env::kubernetes(Version::LATEST)
        .with_schema_variable("self", Arc::new(schema.expect("a structural schema")))
}

fn rule_object(count: usize) -> Json {
    let item = |index: usize| json!({"name": format!("c{index}"), "count": 1});
    json!({"items": (0..count).map(item).collect::<Vec<_>>()})
}
