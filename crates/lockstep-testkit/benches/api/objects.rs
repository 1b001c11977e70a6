//! Objects for the benchmarks: CRDs, and custom objects of about 1 KB.

use serde_json::{Value, json};

/// A CRD of a number.
pub(crate) fn crd(number: usize) -> String {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "minimum": 0},
            "color": {"type": "string", "enum": ["red", "green", "blue"]},
            "text": {"type": "string", "maxLength": 4096},
            "items": {"type": "array", "items": {"type": "object", "properties": {
                "name": {"type": "string"}, "value": {"type": "string"},
            }}},
        }},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.bench.io", plural(number))},
        "spec": {
            "group": "bench.io",
            "scope": "Namespaced",
            "names": {"plural": plural(number), "kind": format!("Widget{number}")},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
    .to_string()
}

fn plural(number: usize) -> String {
    format!("widget{number}s")
}

/// Where the objects of a CRD are.
pub(crate) fn collection(number: usize) -> String {
    format!("/apis/bench.io/v1/namespaces/default/{}", plural(number))
}

/// An object of the first CRD.
pub(crate) fn object(number: usize) -> String {
    let items: Vec<Value> = (0..8)
        .map(|item| json!({"name": format!("item-{item}"), "value": format!("value {item} of object {number}")}))
        .collect();
    json!({
        "apiVersion": "bench.io/v1",
        "kind": "Widget0",
        "metadata": {"name": name(number), "labels": {"app": "bench", "shard": (number % 10).to_string()}},
        "spec": {"size": number, "color": "green", "text": "x".repeat(350), "items": items},
    })
    .to_string()
}

pub(crate) fn name(number: usize) -> String {
    format!("object-{number:06}")
}
