//! What users are told about places in objects, and when a value is another one.

#![expect(
    clippy::unwrap_used,
    reason = "an input that does not fit is a failure"
)]

use lockstep_fieldgate::Gates;
use lockstep_object::{Object, Value};
use serde_json::json;

/// The warnings of a write over a stored spec, with a gate closed at a path.
fn warnings(path: &str, stored: &Value, new: &Value) -> Vec<String> {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let port = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "port": {"type": "integer"}, "probe": any,
    }});
    let spec = json!({"type": "object", "properties": {
        "any": any,
        "ports": {
            "type": "array", "items": port,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"],
        },
    }});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({"spec": {
        "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}}],
        "customFeatureGates": {"featureGates": [{"name": "A", "preRelease": "alpha", "fieldPaths": [path]}]},
    }});
    let gates = Gates::compile(&Object::from_value(definition).unwrap()).unwrap();
    let (stored, mut new) = (json!({"spec": stored}), json!({"spec": new}));
    let actions = gates.apply(&mut new, Some(&stored));
    gates.warnings(&actions)
}

/// field-gates.md §6/path-text: all keys of an element, in the order of the schema, texts in quotes.
#[test]
fn an_element_is_named_by_all_its_keys() {
    let port =
        |probe: u64| json!({"ports": [{"port": 80, "name": "we\"b", "probe": {"a": probe}}]});
    assert_eq!(
        warnings(".spec.ports[*].probe", &port(1), &port(2)),
        [
            r#"spec.ports[name="we\"b",port=80].probe: not updated: feature gate A (alpha) is disabled, the stored value was kept"#
        ]
    );
}

/// field-gates.md §6/same: numbers by value, maps whatever their order, lists in theirs.
#[test]
fn a_value_is_the_same_as_users_see_it() {
    let rows = [
        (json!(1), json!(1.0), true),
        (
            json!(9_007_199_254_740_993_u64),
            json!(9_007_199_254_740_992_u64),
            false,
        ),
        (json!({"a": 1, "b": 2}), json!({"b": 2, "a": 1}), true),
        (json!([1, 2]), json!([2, 1]), false),
        (json!({"a": null}), json!({}), false),
        (json!("1"), json!(1), false),
    ];
    for (stored, new, is_same) in rows {
        let told = warnings(".spec.any", &json!({"any": stored}), &json!({"any": new}));
        assert_eq!(told.is_empty(), is_same, "{stored} {new}");
    }
}
