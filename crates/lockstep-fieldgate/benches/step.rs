//! What the gate step costs a write.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use lockstep_fieldgate::Gates;
use lockstep_object::{Map, Object, Value};
use serde_json::json;

/// A definition with lists, maps and plain fields, and these gates.
fn definition(gates: &[Value]) -> Object {
    let mut properties = Map::new();
    for at in 0..256 {
        properties.insert(format!("f{at}"), json!({"type": "string"}));
    }
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "image": {"type": "string"}, "probe": {"type": "object"},
    }});
    let jobs = json!({
        "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": item,
    });
    properties.insert("jobs".to_owned(), jobs);
    let limit = json!({"type": "object", "properties": {"cpu": {"type": "integer"}, "mem": {"type": "integer"}}});
    properties.insert(
        "limits".to_owned(),
        json!({"type": "object", "additionalProperties": limit}),
    );
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}});
    let definition = json!({"spec": {
        "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}}],
        "customFeatureGates": {"featureGates": gates},
    }});
    Object::from_value(definition).expect("it is a map")
}

fn gate(at: usize, paths: &[String]) -> Value {
    json!({"name": format!("G{at}"), "preRelease": "alpha", "fieldPaths": paths})
}

/// 64 gates of 4 paths each.
fn many() -> Vec<Value> {
    let paths = |at: usize| (0..4).map(move |nth| format!(".spec.f{}", at * 4 + nth));
    (0..64)
        .map(|at| gate(at, &paths(at).collect::<Vec<_>>()))
        .collect()
}

/// 10 gates, two of them of every element and every key.
fn few() -> Vec<Value> {
    let mut gates: Vec<Value> = (0..8)
        .map(|at| gate(at, &[format!(".spec.f{at}")]))
        .collect();
    gates.push(gate(8, &[".spec.jobs[*].probe".to_owned()]));
    gates.push(gate(9, &[".spec.limits[*].cpu".to_owned()]));
    gates
}

/// An object with so many jobs, each of about a hundred bytes.
fn object(jobs: usize) -> Value {
    let jobs: Vec<Value> = (0..jobs)
        .map(|at| json!({"name": format!("job-{at}"), "image": "registry.example.com/team/image:v1.2.3-with-a-long-tag"}))
        .collect();
    let limits: Map<String, Value> = (0..8)
        .map(|at| (format!("zone-{at}"), json!({"mem": at})))
        .collect();
    json!({"spec": {"f100": "x", "f200": "y", "jobs": jobs, "limits": limits}})
}

fn step(criterion: &mut Criterion) {
    let rows = [
        ("10 gates, 5 KB", few(), 40),
        ("64 gates of 4 paths, 5 KB", many(), 40),
        ("10 gates, 64 KiB", few(), 640),
    ];
    for (name, gates, jobs) in rows {
        let gates = Gates::compile(&definition(&gates)).expect("gates are closed");
        let stored = object(jobs);
        let mut new = stored.clone();
        criterion.bench_function(name, |bencher| {
            bencher.iter(|| gates.apply(black_box(&mut new), Some(black_box(&stored))));
        });
    }
}

criterion_group!(benches, step);
criterion_main!(benches);
