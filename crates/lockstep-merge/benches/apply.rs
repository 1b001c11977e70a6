//! Cost of server-side apply for a custom object of about one kilobyte with two managers.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_merge::fields::Set;
use lockstep_merge::managers::{Endpoint, Force, ManagedFields, Writer, apply, update};
use lockstep_merge::types::{Type, Types};
use lockstep_object::metadata::Seconds;
use lockstep_schema::Schema;
use serde_json::{Value, json};

struct Widgets(Types);

impl Endpoint for Widgets {
    type Error = ();

    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        (api_version == "ex.io/v1").then(|| self.0.object())
    }

    fn convert(&self, _: &Value, _: &str) -> Result<Value, ()> {
        Err(())
    }

    fn owned(&self, _: &str, fields: Set) -> Set {
        fields.without(&Set::of_fields(&[&["status"]]))
    }
}

fn schema() -> Schema {
    let text = json!({"type": "string"});
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer"}, "color": text, "text": text,
        "labels": {"type": "object", "additionalProperties": text},
        "items": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
            "items": {"type": "object", "properties": {"name": text, "value": text}}},
    }}}});
    Schema::compile(&schema).expect("it compiles")
}

fn widget(size: i64, items: i64) -> Value {
    let items = (0..items)
        .map(|item| json!({"name": format!("item-{item}"), "value": format!("value {item}")}));
    let items: Vec<Value> = items.collect();
    json!({
        "apiVersion": "ex.io/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "default", "labels": {"app": "bench"}},
        "spec": {"size": size, "text": "x".repeat(350), "labels": {"a": "b", "c": "d"}, "items": items},
    })
}

fn writer(manager: &str) -> Writer<'_> {
    Writer {
        manager,
        api_version: "ex.io/v1",
        subresource: "",
        now: Seconds::from_unix(0).expect("a time"),
    }
}

fn benches(criterion: &mut Criterion) {
    let schema = schema();
    let widgets = Widgets(Types::custom(&schema));
    let first = widget(1, 10);
    let applied = apply(
        &widgets,
        None,
        &first,
        ManagedFields::default(),
        &writer("one"),
        Force::No,
    );
    let applied = applied.expect("nothing is in the way");
    let live = applied.object.expect("it is new");
    let mut coloured = live.clone();
    coloured["spec"]["color"] = "red".into();
    let managed = update(
        &widgets,
        Some(&live),
        &coloured,
        applied.managed,
        &writer("two"),
    );
    let (live, managed) = (coloured, managed.expect("it is of the type"));
    let entries = managed.write();

    let run = |wanted: &Value| {
        let managed = ManagedFields::read(&entries).expect("they were written");
        let applied = apply(
            &widgets,
            Some(&live),
            wanted,
            managed,
            &writer("one"),
            Force::No,
        );
        applied.expect("nothing is in the way").managed.write()
    };
    criterion.bench_function("types of a schema", |bench| {
        bench.iter(|| Types::custom(black_box(&schema)));
    });
    criterion.bench_function("apply the same", |bench| {
        bench.iter(|| run(black_box(&first)));
    });
    let other = widget(2, 10);
    criterion.bench_function("apply a change", |bench| {
        bench.iter(|| run(black_box(&other)));
    });
    let fewer = widget(1, 9);
    criterion.bench_function("apply without an element", |bench| {
        bench.iter(|| run(black_box(&fewer)));
    });
    let mut changed = live.clone();
    changed["spec"]["size"] = 3.into();
    criterion.bench_function("update", |bench| {
        bench.iter(|| {
            let managed = ManagedFields::read(&entries).expect("they were written");
            update(
                &widgets,
                Some(&live),
                black_box(&changed),
                managed,
                &writer("two"),
            )
        });
    });
}

criterion_group!(apply_benches, benches);
criterion_main!(apply_benches);
