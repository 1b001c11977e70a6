//! Cost of each schema step of a create, for a custom object of about one kilobyte.

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_object::json;
use lockstep_object::metadata::Malformed;
use lockstep_schema::{Part, Schema};
use serde_json::{Map, Value, json};
use std::hint::black_box;

fn schema() -> Value {
    let texts = (0..20).map(|index| {
        let text =
            json!({"type": "string", "maxLength": 100, "pattern": "^[a-z0-9 ]+$", "default": "x"});
        (format!("a{index}"), text)
    });
    let mut properties: Map<String, Value> = texts.collect();
    let ports = json!({
        "type": "array", "maxItems": 100, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
        "items": {"type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "maxLength": 63},
            "port": {"type": "integer", "minimum": 1, "maximum": 65_535},
            "protocol": {"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
        }},
    });
    properties.insert("ports".to_owned(), ports);
    let replicas = json!({"type": "integer", "x-kubernetes-validations": [{"rule": "self >= 0"}]});
    properties.insert("replicas".to_owned(), replicas);
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
}

fn object() -> Value {
    let ports: Vec<Value> = (0..6)
        .map(|index| json!({"name": format!("p{index}"), "port": 8000 + index}))
        .collect();
    json!({
        "apiVersion": "ex.io/v1", "kind": "Widget",
        "metadata": {"name": "abc", "namespace": "default", "labels": {"app": "x"}, "annotations": {"note": "some text"}},
        "spec": {"replicas": 3, "a0": "hello", "a1": "some value", "a2": "x".repeat(90), "a3": "y".repeat(90), "ports": ports},
    })
}

/// Everything between the bytes of a request and the bytes that are stored, but metadata.
fn create(schema: &Schema, body: &[u8]) -> Vec<u8> {
    let mut object = json::decode(body).expect("it is JSON").value;
    let mut unknown = Vec::new();
    schema
        .coerce(&mut object, Malformed::Refuse, &mut unknown)
        .expect("its metadata is right");
    schema.prune(&mut object, &mut unknown);
    schema.default(&mut object);
    let outcome = schema.validate(&object, None, Part::Whole);
    assert_eq!((outcome.errors.as_slice(), &*unknown), (&[][..], &[][..]));
    json::encode(&object)
}

fn benches(criterion: &mut Criterion) {
    let definition = schema();
    let schema = Schema::compile(&definition).expect("it compiles");
    let object = object();
    let body = json::encode(&object);
    let mut defaulted = object.clone();
    schema.default(&mut defaulted);
    criterion.bench_function("compile a schema of 24 fields", |bench| {
        bench.iter(|| Schema::compile(black_box(&definition)));
    });
    criterion.bench_function("decode", |bench| {
        bench.iter(|| json::decode(black_box(&body)));
    });
    criterion.bench_function("encode", |bench| {
        bench.iter(|| json::encode(black_box(&object)));
    });
    criterion.bench_function("validate", |bench| {
        bench.iter(|| schema.validate(black_box(&defaulted), None, Part::Whole));
    });
    criterion.bench_function("validate an update", |bench| {
        bench.iter(|| schema.validate(black_box(&defaulted), Some(&object), Part::Whole));
    });
    criterion.bench_function("create", |bench| {
        bench.iter(|| create(&schema, black_box(&body)));
    });
}

criterion_group!(create_benches, benches);
criterion_main!(create_benches);
