//! Paths, definitions and states as data. Every case is a row of field-gates.md.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

use lockstep_fieldgate::{ANNOTATION, FieldPath, GateList, check_gates, gate_warnings};
use lockstep_object::Object;
use lockstep_testkit::cases::{CaseFile, same};
use serde_json::{Value, json};

/// field-gates.md, §8, and field-gates.md §8/length.
#[test]
fn a_path_has_one_form_or_one_reason() {
    CaseFile::read("paths.yaml").check(|case| {
        let actual = match FieldPath::parse(case["path"].as_str().unwrap()) {
            Ok(path) => json!({"path": case["path"], "canonical": path.to_string()}),
            Err(error) => json!({"path": case["path"], "error": error.to_string()}),
        };
        same(case.own, &actual)
    });
    let long = format!(".{}", "x".repeat(512));
    let error = FieldPath::parse(&long).unwrap_err();
    assert_eq!(error.to_string(), "must be <= 512 bytes long");
}

fn definition(gates: &Value, schema: &Value) -> Object {
    let text = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let list = |items: Value| json!({"type": "array", "items": items});
    let mut jobs = list(object(json!({"name": text, "probe": text})));
    jobs["x-kubernetes-list-type"] = "map".into();
    jobs["x-kubernetes-list-map-keys"] = json!(["name"]);
    let spec = json!({"type": "object", "required": ["must"], "allOf": [{"required": ["mode"]}], "properties": {
        "replicas": {"type": "integer"}, "mode": text, "must": text, "jobs": jobs,
        "foo": object(json!({"baz": text, "qux": text})),
        "limits": {"type": "object", "additionalProperties": object(json!({"cpu": text}))},
        "steps": list(object(json!({"run": text}))),
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"spec": {"type": "object"}}},
    }});
    let schema = match schema {
        Value::Null => object(json!({"spec": spec})),
        _ => Value::Null,
    };
    let version = json!({"name": "v1", "storage": true, "schema": {"openAPIV3Schema": schema}});
    let definition = json!({"spec": {"versions": [version], "customFeatureGates": gates}});
    Object::from_value(definition).unwrap()
}

/// The gates of a case: whole, or one gate with some of it said.
fn gates(case: &Value) -> Value {
    if let Some(gates) = case.get("gates") {
        return gates.clone();
    }
    let mut gate = json!({"name": "A", "preRelease": "alpha", "fieldPaths": [".spec.foo"]});
    if let Some(change) = case["gate"].as_object() {
        gate.as_object_mut().unwrap().extend(change.clone());
    }
    if case["paths"].is_array() {
        gate["fieldPaths"] = case["paths"].clone();
    }
    json!({"featureGates": [gate]})
}

/// field-gates.md, §7, and the warnings of §6.
#[test]
fn what_is_wrong_with_gates_is_told_at_once() {
    CaseFile::read("definitions.yaml").check(|case| {
        let no_schema = case
            .get("schema")
            .map(|_| json!("none"))
            .unwrap_or_default();
        let new = definition(&gates(&case), &no_schema);
        let stored = case
            .get("stored")
            .map(|gates| chosen_by(definition(gates, &Value::Null), &case["setBy"]));
        let errors = check_gates(&new, stored.as_ref());
        let errors = errors.iter().map(|error| {
            let field = error.field.strip_prefix("spec.customFeatureGates").unwrap();
            format!("{}: {}", field.trim_start_matches('.'), error.body())
        });
        same(&case["errors"], &json!(errors.collect::<Vec<_>>()))?;
        match case.get("warnings") {
            Some(warnings) => same(warnings, &json!(gate_warnings(&new, stored.as_ref()))),
            None => Ok(()),
        }
    });
}

/// The definition with managers that own `enabled` of gate A.
fn chosen_by(definition: Object, managers: &Value) -> Object {
    let choice = json!({"f:customFeatureGates": {"f:featureGates": {"k:{\"name\":\"A\"}": {"f:enabled": {}}}}});
    let entry = |manager| json!({"manager": manager, "fieldsV1": {"f:spec": choice}});
    let managers = managers.as_array().into_iter().flatten();
    let mut fields = definition.into_value();
    fields["metadata"]["managedFields"] = managers.map(entry).collect();
    Object::from_value(fields).unwrap()
}

/// field-gates.md §7/too-many: 64 gates, 32 paths, names of 63 characters.
#[test]
fn gates_and_paths_are_counted() {
    let gate =
        |name: String| json!({"name": name, "preRelease": "alpha", "fieldPaths": [".spec.open"]});
    let many: Vec<Value> = (0..65).map(|at| gate(format!("G{at}"))).collect();
    let errors = check_gates(
        &definition(&json!({"featureGates": many}), &Value::Null),
        None,
    );
    let texts = |errors: &lockstep_object::field::FieldErrors| -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        texts(&errors),
        ["spec.customFeatureGates.featureGates: Too many: 65: must have at most 64 items"]
    );
    let mut wide = gate("A".repeat(64));
    wide["fieldPaths"] = (0..33)
        .map(|at| json!(format!(".spec.limits.k{at}")))
        .collect();
    let errors = check_gates(
        &definition(&json!({"featureGates": [wide]}), &Value::Null),
        None,
    );
    assert_eq!(
        texts(&errors),
        [
            format!(
                "spec.customFeatureGates.featureGates[0].name: Invalid value: \"{}\": must match [A-Za-z][A-Za-z0-9]{{0,62}}",
                "A".repeat(64)
            ),
            "spec.customFeatureGates.featureGates[0].fieldPaths: Too many: 33: must have at most 32 items".to_owned(),
        ]
    );
}

/// field-gates.md §13/X2.
#[test]
fn gates_of_an_annotation_count_where_the_spec_has_none() {
    let mut annotated = definition(&Value::Null, &Value::Null);
    let text =
        r#"{"featureGates":[{"name":"A","preRelease":"alpha","fieldPaths":[".spec.lost"]}]}"#;
    let annotations = json!({"annotations": {ANNOTATION: text}});
    annotated
        .fields_mut()
        .insert("metadata".to_owned(), annotations);
    assert_eq!(GateList::of(&annotated).gates.len(), 1);
    let told: Vec<String> = check_gates(&annotated, None)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "metadata.annotations[lockstep.dev/custom-feature-gates].featureGates[0].fieldPaths[0]: Invalid value: \
             \".spec.lost\": does not refer to a field of the schema of storage version v1"
        ]
    );
    annotated.metadata_mut()["annotations"][ANNOTATION] = "[1".into();
    let told: Vec<String> = check_gates(&annotated, None)
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        told,
        [
            "metadata.annotations[lockstep.dev/custom-feature-gates]: Invalid value: \"[1\": must be a JSON object"
        ]
    );
    let own = json!({"featureGates": [{"name": "B", "preRelease": "alpha", "fieldPaths": [".spec.foo"]}]});
    annotated.fields_mut()["spec"]["customFeatureGates"] = own;
    assert_eq!(GateList::of(&annotated).gates[0].name, "B");
    assert_eq!(
        gate_warnings(&annotated, None),
        [
            "metadata.annotations[lockstep.dev/custom-feature-gates]: ignored: spec.customFeatureGates is set and differs"
        ]
    );
}

/// field-gates.md §2/1 to field-gates.md §2/6: field-gates.md §2/2, field-gates.md §2/3, field-gates.md §2/4, field-gates.md §2/5.
#[test]
fn the_first_rule_that_applies_decides() {
    let rows = [
        (
            json!({"preRelease": "stable", "enabled": false}),
            (true, "stable"),
        ),
        (
            json!({"preRelease": "alpha", "enabled": true, "default": false}),
            (true, "enabled"),
        ),
        (
            json!({"preRelease": "beta", "enabled": false}),
            (false, "enabled"),
        ),
        (
            json!({"preRelease": "beta", "default": false}),
            (false, "default"),
        ),
        (
            json!({"preRelease": "deprecated", "default": true}),
            (true, "default"),
        ),
        (json!({"preRelease": "beta"}), (true, "stage")),
        (json!({"preRelease": "deprecated"}), (false, "stage")),
        (json!({"preRelease": "alpha"}), (false, "stage")),
    ];
    for (mut gate, (enabled, rule)) in rows {
        gate["name"] = "A".into();
        let list = GateList::read(&json!({"featureGates": [gate]}));
        let state = list.gates[0].state();
        assert_eq!(
            (state.enabled, state.rule.as_str()),
            (enabled, rule),
            "{gate}"
        );
    }
}
