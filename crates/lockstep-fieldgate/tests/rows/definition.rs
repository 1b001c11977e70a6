//! The definition of the edge rows, and the rows themselves: for those who judge them with and without a server.

use lockstep_testkit::cases::CaseFile;
use serde_json::{Map, Value, json};

/// The gates of the rows: letter and path.
const GATES: [(&str, &str); 11] = [
    ("R", ".spec.replicas"),
    ("F", ".spec.foo"),
    ("Q", ".spec.foo.qux"),
    ("B", ".spec.jobs[*].probe"),
    ("L", ".spec.limits[*].cpu"),
    ("K", ".spec.limits['gpu']"),
    ("N", ".spec.note"),
    ("M", ".spec.mode"),
    ("Y", ".spec.retention.days"),
    ("X", ".spec['a.b']"),
    ("S", ".status.note"),
];

/// All rows, in their order.
pub(crate) fn rows() -> Vec<Value> {
    let path = std::path::Path::new("../lockstep-fieldgate/tests/cases/rows.yaml");
    let file = CaseFile::at(path).map(lockstep_object::json::normalise_numbers);
    let rows: Vec<Value> = file.cases().map(|case| case.own.clone()).collect();
    let numbers: Vec<u64> = rows
        .iter()
        .map(|row| row["row"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=101).collect::<Vec<u64>>());
    rows
}

/// When a definition is looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// When the existing object is stored.
    Before,
    /// When the request comes.
    Now,
}

/// The definition of a row.
pub(crate) fn definition(row: &Value, moment: Moment) -> Value {
    let before = &row["before"];
    let gates = match moment {
        Moment::Now => row["gates"].clone(),
        Moment::Before if before["gates"].is_array() => before["gates"].clone(),
        Moment::Before => opened(&row["gates"]),
    };
    let mut spec = spec_schema();
    let changes = match (moment, &before["spec"]) {
        (Moment::Before, changes @ Value::Object(_)) => changes,
        _ => &row["spec"],
    };
    if changes.is_object() {
        lockstep_merge::merge_patch(&mut spec["properties"], changes);
    }
    if row["required"].is_array() {
        spec["required"] = row["required"].clone();
    }
    if let Some(rules) = row["rules"].as_array() {
        let rules = rules.iter().map(|rule| json!({"rule": rule}));
        spec["x-kubernetes-validations"] = rules.collect();
    }
    let storage = match (moment, before["storage"].as_str()) {
        (Moment::Before, Some(storage)) => storage,
        _ => "v1",
    };
    let subresources = match &row["subresources"] {
        Value::Null => json!({"status": {}}),
        asked => asked.clone(),
    };
    let version = |name: &str, spec: Value| {
        json!({
            "name": name, "served": true, "storage": name == storage, "subresources": subresources,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": spec,
                "status": {"type": "object", "properties": {
                    "ready": {"type": "integer"}, "note": {"type": "string"},
                }},
            }}},
        })
    };
    let mut versions = vec![version("v1", spec.clone())];
    match row["versions"].as_str() {
        Some("both") => versions.push(version("v1beta1", spec)),
        Some("without") => {
            spec["properties"]
                .as_object_mut()
                .unwrap()
                .remove("replicas");
            versions.push(version("v1beta1", spec));
        }
        _ => {}
    }
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "listKind": "CronTabList"},
            "versions": versions,
        },
    });
    let gates = custom_feature_gates(&gates, &row["gate"], moment);
    if let Some(gates) = gates {
        definition["spec"]["customFeatureGates"] = gates;
    }
    definition
}

fn opened(gates: &Value) -> Value {
    let gates = gates.as_array().unwrap().iter();
    let opened = gates.map(|gate| gate.as_str().unwrap().replace('-', "+"));
    opened.map(Value::from).collect()
}

fn custom_feature_gates(gates: &Value, change: &Value, moment: Moment) -> Option<Value> {
    let gates = gates.as_array().unwrap().iter().map(|gate| {
        let (letter, state) = gate.as_str().unwrap().split_at(1);
        let (_, path) = GATES.iter().find(|(known, _)| *known == letter).unwrap();
        let mut gate = json!({
            "name": letter, "preRelease": "alpha", "enabled": state == "+", "fieldPaths": [path],
        });
        if change.is_object() && moment == Moment::Now {
            lockstep_merge::merge_patch(&mut gate, change);
        }
        gate
    });
    let gates: Vec<Value> = gates.collect();
    (!gates.is_empty()).then(|| json!({"component": "istio", "featureGates": gates}))
}

fn spec_schema() -> Value {
    let number = || json!({"type": "integer"});
    let text = || json!({"type": "string"});
    let job = json!({"type": "object", "required": ["name"], "properties": {
        "name": text(), "image": text(), "probe": {"type": "object", "properties": {"path": text()}},
    }});
    let limit = json!({"type": "object", "properties": {"cpu": number(), "mem": number()}});
    json!({"type": "object", "properties": {
        "cronSpec": text(), "image": text(), "replicas": number(), "mode": text(), "a.b": text(),
        "foo": {"type": "object", "properties": {"baz": number(), "qux": number()}},
        "retention": {"type": "object", "properties": {"days": number(), "size": number()}},
        "jobs": {
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items": job,
        },
        "limits": {"type": "object", "additionalProperties": limit},
        "note": {"type": "string", "nullable": true},
    }})
}

/// An object of the definition.
pub(crate) fn object(version: &str, spec: &Value, status: &Value) -> Value {
    let mut object = Map::from_iter([
        (
            "apiVersion".to_owned(),
            json!(format!("stable.example.com/{version}")),
        ),
        ("kind".to_owned(), json!("CronTab")),
        (
            "metadata".to_owned(),
            json!({"name": "c", "namespace": "default"}),
        ),
    ]);
    for (field, value) in [("spec", spec), ("status", status)] {
        if !value.is_null() {
            object.insert(field.to_owned(), value.clone());
        }
    }
    Value::Object(object)
}
