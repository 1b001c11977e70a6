//! Paths in warnings, and the values that count as changed.

#![expect(
    clippy::unwrap_used,
    reason = "an input that does not fit is a failure"
)]

use lockstep_fieldgate::Gates;
use lockstep_object::{Object, Value};
use serde_json::json;

/// The warnings of a write over a stored spec, with a gate closed at a path.
fn warnings(path: &str, stored: &Value, new: &Value) -> Vec<String> {
    write(&[&[path]], stored, new).0
}

/// The warnings of a write with closed gates A, B, … at the given paths, and the resulting spec.
fn write(paths: &[&[&str]], stored: &Value, new: &Value) -> (Vec<String>, Value) {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let port = json!({"type": "object", "properties": {
        "name": {"type": "string"}, "port": {"type": "integer"}, "probe": any,
    }});
    let spec = json!({"type": "object", "properties": {
        "any": any, "other": any, "more": any,
        "ports": {
            "type": "array", "items": port,
            "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "port"],
        },
    }});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let gates = paths.iter().zip('A'..).map(|(paths, name)| {
        json!({"name": name.to_string(), "preRelease": "alpha", "fieldPaths": paths})
    });
    let gates: Vec<Value> = gates.collect();
    let definition = json!({"spec": {
        "versions": [{"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}}],
        "customFeatureGates": {"featureGates": gates},
    }});
    let gates = Gates::compile(&Object::from_value(definition).unwrap()).unwrap();
    let (stored, mut new) = (json!({"spec": stored}), json!({"spec": new}));
    let actions = gates.apply(&mut new, Some(&stored));
    (gates.warnings(&actions), new["spec"].take())
}

/// field-gates.md §6/e: one warning for each value, also below maps and lists of the element.
#[test]
fn values_that_go_with_a_list_element_are_told() {
    let port = |name: &str, value: &Value| json!({"port": 1, "name": name, "probe": value});
    let spec = |ports: &[Value]| json!({"ports": ports});
    let (one, both) = (port("a", &json!({"x": 1})), port("z", &json!({"x": 2})));
    let (told, left) = write(
        &[&[".spec.ports[*].probe"]],
        &spec(&[one.clone(), both, json!({"port": 2, "name": "y"})]),
        &spec(std::slice::from_ref(&one)),
    );
    assert_eq!(left, spec(&[one]));
    let expected = "spec.ports[name=\"z\",port=1].probe: removed with its list element: feature gate A (alpha) is \
                    disabled, the value cannot be set again";
    assert_eq!(told, [expected]);
}

/// field-gates.md §6/order: gates as the definition lists them, paths as the gate lists them, then by what is told.
#[test]
fn warnings_stand_in_the_order_of_the_definition() {
    let port = |name: &str, probe: u64| json!({"port": 1, "name": name, "probe": {"a": probe}});
    let spec = |probe: u64| {
        json!({
            "any": {"a": probe}, "more": {"a": probe}, "other": {"a": probe},
            "ports": [port("z", probe), port("a", probe)],
        })
    };
    let paths: [&[&str]; 2] = [
        &[".spec.ports[*].probe", ".spec.more"],
        &[".spec.other", ".spec.any"],
    ];
    let (told, _) = write(&paths, &spec(1), &spec(2));
    let expected = [
        ("ports[name=\"a\",port=1].probe", "A"),
        ("ports[name=\"z\",port=1].probe", "A"),
        ("more", "A"),
        ("other", "B"),
        ("any", "B"),
    ];
    let expected = expected.map(|(place, gate)| {
        format!("spec.{place}: not updated: feature gate {gate} (alpha) is disabled, the stored value was kept")
    });
    assert_eq!(told, expected);
}

/// field-gates.md §6/same: what says the same otherwise is not told of, and what is stored stays as it is written.
#[test]
fn the_bytes_of_a_closed_field_stay_where_its_value_does() {
    for (stored, new) in [
        (json!(1), json!(1.0)),
        (
            json!(9_007_199_254_740_993_i64),
            json!(9_007_199_254_740_992.0),
        ),
        (json!({"a": [1, {"b": 2}]}), json!({"a": [1, {"b": 2.0}]})),
    ] {
        let (stored, new) = (json!({"any": stored}), json!({"any": new}));
        let (told, left) = write(&[&[".spec.any"]], &stored, &new);
        assert_eq!((told, left.to_string()), (Vec::new(), stored.to_string()));
    }
    let ports = |probe: Value| json!({"ports": [{"name": "a", "port": 1, "probe": probe}]});
    let (stored, new) = (ports(json!(1)), ports(json!(1.0)));
    let (told, left) = write(&[&[".spec.ports[*].probe"]], &stored, &new);
    assert_eq!((told, left.to_string()), (Vec::new(), stored.to_string()));
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

/// field-gates.md §6: ten fields of a gate are named, further ones are counted in one line.
#[test]
fn ten_fields_of_a_gate_are_named_and_the_rest_counted() {
    let ports = |count: u64, probe: u64| {
        let port = |number| json!({"name": "p", "port": number, "probe": {"a": probe}});
        json!({"ports": (0..count).map(port).collect::<Vec<_>>()})
    };
    for (count, rest) in [
        (10, None),
        (
            11,
            Some("1 more field dropped or kept: feature gate A (alpha) is disabled"),
        ),
        (
            12,
            Some("2 more fields dropped or kept: feature gate A (alpha) is disabled"),
        ),
    ] {
        let mut told = warnings(".spec.ports[*].probe", &ports(count, 1), &ports(count, 2));
        let last = if told.len() > 10 { told.pop() } else { None };
        assert_eq!((told.len(), last.as_deref()), (10, rest));
        assert!(
            told.iter()
                .all(|line| line.contains("].probe: not updated")),
            "{told:?}"
        );
    }
}
