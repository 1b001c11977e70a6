//! Switching a gate.

use lockstep_fieldgate::{Rule, State, Switch, SwitchError, switch};
use lockstep_object::Object;
use serde_json::{Value, json};

use crate::definition::{Moment, definition};

/// Gates R (`enabled` set by an admin), F and Q (`enabled` not set), as a server stores them.
fn stored(managed: &Value) -> Object {
    let mut stored = definition(&json!({"gates": ["R+", "F-", "Q-"]}), Moment::Now);
    for gate in 1..=2 {
        let gate = &mut stored["spec"]["customFeatureGates"]["featureGates"][gate];
        gate.as_object_mut().unwrap().remove("enabled");
    }
    stored["metadata"]["resourceVersion"] = json!("7");
    stored["metadata"]["managedFields"] = managed.clone();
    Object::from_value(stored).unwrap()
}

fn claim(manager: &str, operation: &str, gate: &str) -> Value {
    json!([{
        "manager": manager, "operation": operation, "apiVersion": "apiextensions.k8s.io/v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:customFeatureGates": {"f:featureGates": {
            (format!("k:{{\"name\":\"{gate}\"}}")): {".": {}, "f:name": {}, "f:enabled": {}},
        }}}},
    }])
}

fn said(body: &Value) -> &Value {
    &body["spec"]["customFeatureGates"]["featureGates"]
}

#[test]
fn enabling_applies_enabled_alone_and_names_the_version_it_saw() {
    let done = switch(&stored(&json!([])), "F", Switch::Enable).unwrap();
    assert_eq!(
        done.apply,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "crontabs.stable.example.com", "resourceVersion": "7"},
            "spec": {"customFeatureGates": {"featureGates": [{"name": "F", "enabled": true}]}},
        })
    );
    let (off, on) = (
        State {
            enabled: false,
            rule: Rule::Stage,
        },
        State {
            enabled: true,
            rule: Rule::Enabled,
        },
    );
    assert_eq!(
        (done.gate.as_str(), done.before, done.after),
        ("istio/F", off, on)
    );
    assert_eq!((done.take, done.holders), (None, Vec::<String>::new()));
}

#[test]
fn what_we_applied_before_is_applied_again() {
    let stored = stored(&claim("lockstep-crd-gates", "Apply", "R"));
    let done = switch(&stored, "Q", Switch::Disable).unwrap();
    let expected = json!([{"name": "R", "enabled": true}, {"name": "Q", "enabled": false}]);
    assert_eq!(*said(&done.apply), expected);
    let done = switch(&stored, "R", Switch::Unset).unwrap();
    assert_eq!(done.apply.get("spec"), None);
    assert_eq!((done.take, done.holders), (None, Vec::new()));
}

#[test]
fn what_nobody_holds_is_taken_and_nothing_is_taken_where_nothing_is() {
    let taken = |gate: &str| {
        let done = switch(&stored(&json!([])), gate, Switch::Unset).unwrap();
        (done.take.is_some(), done.holders)
    };
    assert_eq!(taken("R"), (true, Vec::new()));
    assert_eq!(taken("F"), (false, Vec::new()));
}

#[test]
fn what_others_say_is_left_to_them() {
    for claim in [
        claim("admin", "Apply", "R"),
        claim("lockstep-crd-gates", "Update", "R"),
    ] {
        let stored = stored(&claim);
        let done = switch(&stored, "F", Switch::Enable).unwrap();
        assert_eq!(*said(&done.apply), json!([{"name": "F", "enabled": true}]));
        let done = switch(&stored, "R", Switch::Unset).unwrap();
        assert_eq!(json!(done.holders), json!([claim[0]["manager"]]));
        assert_eq!(
            done.take,
            Some(json!([
                {"op": "test", "path": "/metadata/resourceVersion", "value": "7"},
                {"op": "test", "path": "/spec/customFeatureGates/featureGates/0/name", "value": "R"},
                {"op": "remove", "path": "/spec/customFeatureGates/featureGates/0/enabled"},
            ]))
        );
    }
}

#[test]
fn a_definition_in_a_file_gets_the_change() {
    let before = stored(&json!([]));
    let place = ["spec", "customFeatureGates", "featureGates"];
    let after = |gate: &str, how: Switch| {
        let done = switch(&before, gate, how).unwrap();
        done.definition.at(&place).unwrap().clone()
    };
    assert_eq!(after("R", Switch::Disable)[0]["enabled"], false);
    assert_eq!(after("R", Switch::Unset)[0].get("enabled"), None);
    assert_eq!(after("F", Switch::Enable)[1]["enabled"], true);
    assert_eq!(after("F", Switch::Enable)[0], before.at(&place).unwrap()[0]);
}

#[test]
fn what_cannot_be_switched_is_told() {
    let unknown = switch(&stored(&json!([])), "r", Switch::Enable);
    let known = ["R", "F", "Q"].map(str::to_owned).to_vec();
    assert_eq!(
        unknown,
        Err(SwitchError::Unknown {
            definition: "crontabs.stable.example.com".to_owned(),
            gate: "r".to_owned(),
            known
        })
    );
    let mut settled = definition(
        &json!({"gates": ["R-"], "gate": {"preRelease": "stable"}}),
        Moment::Now,
    );
    let stable = Object::from_value(settled.clone()).unwrap();
    let refused = switch(&stable, "R", Switch::Disable);
    assert_eq!(refused, Err(SwitchError::Stable("istio/R".to_owned())));
    let freed = switch(&stable, "R", Switch::Unset).unwrap();
    assert_eq!(freed.before, freed.after);

    let gates = settled["spec"]["customFeatureGates"].take();
    settled["metadata"]["annotations"] =
        json!({"lockstep.dev/custom-feature-gates": gates.to_string().replace("stable", "alpha")});
    let annotated = Object::from_value(settled).unwrap();
    let refused = switch(&annotated, "R", Switch::Enable);
    let expected = SwitchError::InAnnotation("crontabs.stable.example.com".to_owned());
    assert_eq!(refused, Err(expected));
}
