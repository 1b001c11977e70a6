//! Usage of gated fields in stored objects.

use lockstep_fieldgate::{NAMES_MAX, Usage};
use lockstep_object::Object;
use serde_json::{Value, json};

use crate::definition::{Moment, definition, object};

fn usage(gates: &[&str], gate: Option<&str>) -> Usage {
    let definition = definition(&json!({"gates": gates}), Moment::Now);
    Usage::of(&Object::from_value(definition).unwrap(), gate)
}

fn counted(usage: &Usage) -> Value {
    let fields = usage.fields.iter().map(|used| {
        json!([
            used.gate,
            used.is_enabled,
            used.path.to_string(),
            used.count,
            used.names
        ])
    });
    fields.collect()
}

fn see(usage: &mut Usage, name: &str, spec: &Value) {
    let mut made = object("v1", spec, &Value::Null);
    made["metadata"]["name"] = json!(name);
    usage.see(&Object::from_value(made).unwrap());
}

#[test]
fn each_object_counts_once_a_field_and_empty_values_count() {
    let mut usage = usage(&["R+", "B-", "L-", "K-", "N-"], None);
    see(&mut usage, "a", &json!({"replicas": 0, "note": null}));
    see(
        &mut usage,
        "b",
        &json!({"jobs": [{"name": "x"}, {"name": "y", "probe": {}}, {"name": "z", "probe": {}}],
                "limits": {"gpu": {"mem": 1}, "x": {"cpu": 1}}}),
    );
    see(&mut usage, "c", &json!({"image": "a"}));
    assert_eq!(usage.seen, 3);
    assert_eq!(
        counted(&usage),
        json!([
            ["R", true, ".spec.replicas", 1, ["default/a"]],
            ["B", false, ".spec.jobs[*].probe", 1, ["default/b"]],
            ["L", false, ".spec.limits[*].cpu", 1, ["default/b"]],
            ["K", false, ".spec.limits.gpu", 1, ["default/b"]],
            ["N", false, ".spec.note", 1, ["default/a"]],
        ])
    );
}

#[test]
fn one_gate_can_be_asked_about() {
    let usage = usage(&["R+", "F-"], Some("F"));
    assert_eq!(counted(&usage), json!([["F", false, ".spec.foo", 0, []]]));
}

#[test]
fn names_are_limited_and_counts_are_not() {
    let mut usage = usage(&["R-"], None);
    for number in 0..=NAMES_MAX {
        see(&mut usage, &format!("o{number}"), &json!({"replicas": 1}));
    }
    let used = &usage.fields[0];
    assert_eq!((used.count, used.names.len()), (NAMES_MAX + 1, NAMES_MAX));
}
