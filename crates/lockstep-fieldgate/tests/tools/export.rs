//! Gates that are carried away and put back.

use lockstep_fieldgate::{ExportError, Exported, Import, export, import, read_export};
use lockstep_object::Object;
use serde_json::{Value, json};

fn definition(name: &str, gates: &Value) -> Object {
    let mut value =
        json!({"metadata": {"name": name, "resourceVersion": "7"}, "spec": {"group": "g"}});
    if !gates.is_null() {
        value["spec"]["customFeatureGates"] = gates.clone();
    }
    Object::from_value(value).unwrap()
}

#[test]
fn gates_come_back_as_they_went() {
    let gates =
        json!({"component": "istio", "featureGates": [{"name": "A", "preRelease": "alpha"}]});
    let definitions = [
        definition("b.g", &gates),
        definition("c.g", &Value::Null),
        definition("a.g", &json!({"featureGates": []})),
    ];
    let document = export(definitions.iter());
    assert_eq!(
        document,
        json!({"kind": "FieldGateExport", "definitions": [
            {"name": "a.g", "customFeatureGates": {"featureGates": []}},
            {"name": "b.g", "customFeatureGates": gates},
        ]})
    );
    let read = read_export(&document).unwrap();
    assert_eq!(
        read[1],
        Exported {
            name: "b.g".to_owned(),
            gates: gates.clone()
        }
    );
    assert_eq!(import(&definitions[0], &read[1]), Import::Same);
    let patch =
        json!({"metadata": {"resourceVersion": "7"}, "spec": {"customFeatureGates": gates}});
    assert_eq!(import(&definitions[1], &read[1]), Import::Set(patch));
}

#[test]
fn what_is_replaced_is_replaced_as_a_whole() {
    let stored = definition(
        "a.g",
        &json!({"component": "istio", "featureGates": [{"name": "B"}]}),
    );
    let exported = Exported {
        name: "a.g".to_owned(),
        gates: json!({"featureGates": [{"name": "A"}]}),
    };
    let Import::Differs(patch) = import(&stored, &exported) else {
        panic!("they differ")
    };
    let mut value = stored.into_value();
    lockstep_merge::merge_patch(&mut value, &patch);
    assert_eq!(value["spec"]["customFeatureGates"], exported.gates);
}

#[test]
fn what_is_no_export_is_told() {
    let entry = json!({"name": "a.g", "customFeatureGates": {}});
    let cases = [
        (json!({"kind": "List"}), ExportError::Kind),
        (json!({"kind": "FieldGateExport"}), ExportError::List),
        (
            json!({"kind": "FieldGateExport", "definitions": [{"name": "a.g"}]}),
            ExportError::Entry(0),
        ),
        (
            json!({"kind": "FieldGateExport", "definitions": [entry, entry]}),
            ExportError::Twice(1, "a.g".to_owned()),
        ),
    ];
    for (document, error) in cases {
        assert_eq!(read_export(&document), Err(error));
    }
}
