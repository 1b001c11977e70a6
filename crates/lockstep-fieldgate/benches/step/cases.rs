//! Definitions with gates, and objects to apply them to.

use lockstep_fieldgate::Gates;
use lockstep_object::{Map, Object, Value};
use serde_json::json;

/// Compiled gates, and an object that they leave unchanged.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) gates: Gates,
    pub(crate) object: Value,
}

pub(crate) fn cases() -> Vec<Case> {
    let case = |name, gates: &[Value], jobs| Case {
        name,
        gates: Gates::compile(&definition(gates)).expect("gates are closed"),
        object: object(jobs),
    };
    let mut frozen = case("10 gates with stored values, 64 KiB", &few(), 640);
    freeze(&mut frozen.object);
    vec![
        case("10 gates, 5 KB", &few(), 40),
        case("64 gates of 4 paths, 5 KB", &many(), 40),
        case("10 gates, 64 KiB", &few(), 640),
        case("64 gates of 4 paths, 64 KiB", &many(), 640),
        frozen,
    ]
}

/// Sets the gated field in every list element and map value.
fn freeze(object: &mut Value) {
    let jobs = object["spec"]["jobs"].as_array_mut().into_iter().flatten();
    for job in jobs {
        job["probe"] = json!({"path": "/healthz"});
    }
    let limits = object["spec"]["limits"]
        .as_object_mut()
        .into_iter()
        .flatten();
    for (_, limit) in limits {
        limit["cpu"] = 1.into();
    }
}

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

/// An object with this many jobs of about a hundred bytes each.
fn object(jobs: usize) -> Value {
    let jobs: Vec<Value> = (0..jobs)
        .map(|at| json!({"name": format!("job-{at}"), "image": "registry.example.com/team/image:v1.2.3-with-a-long-tag"}))
        .collect();
    let limits: Map<String, Value> = (0..8)
        .map(|at| (format!("zone-{at}"), json!({"mem": at})))
        .collect();
    json!({"spec": {"f100": "x", "f200": "y", "jobs": jobs, "limits": limits}})
}
