//! Findings of lint.

use lockstep_fieldgate::{Severity, lint};
use lockstep_object::Object;
use lockstep_testkit::cases::same;
use serde_json::{Value, json};

use crate::definition::{Moment, definition as edge, rows};

fn definition(case: &Value) -> Object {
    let mut spec = json!({"type": "object", "properties": case["spec"]});
    if case["add"].is_object() {
        lockstep_merge::merge_patch(&mut spec, &case["add"]);
    }
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "crontabs.stable.example.com"},
        "spec": {
            "group": "stable.example.com", "scope": "Namespaced",
            "names": {"plural": "crontabs", "kind": "CronTab"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            }],
        },
    });
    if let Some(gates) = case["gates"].as_array() {
        let gates = gates.iter().map(|gate| {
            let mut whole = json!({"preRelease": "alpha"});
            lockstep_merge::merge_patch(&mut whole, gate);
            whole
        });
        let gates: Vec<Value> = gates.collect();
        definition["spec"]["customFeatureGates"] =
            json!({"component": "istio", "featureGates": gates});
    }
    Object::from_value(definition).unwrap()
}

#[test]
fn lint_finds_what_the_cases_say() {
    super::cases("lint.yaml").check(|case| {
        let base = case.get("base").map(definition);
        let found = lint(&definition(case.own), base.as_ref());
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        let expected = case.get("findings").cloned().unwrap_or(json!([]));
        same(&expected, &json!(found))
    });
}

/// The definitions of the edge rows are what authors write.
#[test]
fn lint_has_nothing_to_refuse_in_the_edge_rows() {
    for row in rows() {
        for moment in [Moment::Before, Moment::Now] {
            let definition = Object::from_value(edge(&row, moment)).unwrap();
            let mut found = lint(&definition, None);
            found.retain(|finding| finding.rule.severity() == Severity::Error);
            assert_eq!(found, [], "row {}", row["row"]);
        }
    }
}

/// Whatever a file holds, lint answers.
#[test]
fn lint_of_nonsense_is_an_answer() {
    let odd = [
        json!({}),
        json!({"spec": 5}),
        json!({"spec": {"versions": [{"storage": true, "schema": {"openAPIV3Schema": {"properties": 7}}}]}}),
        json!({"spec": {"customFeatureGates": {"featureGates": [{"name": "A", "preRelease": "alpha", "fieldPaths": [".a[*].b", 3]}]}}}),
    ];
    for definition in odd {
        let definition = Object::from_value(definition).unwrap();
        let found = lint(&definition, Some(&definition));
        assert!(
            found.iter().any(|one| one.rule.id() == "CG101"),
            "{found:?}"
        );
    }
}
