//! The table against the facts it was made from, where those are at hand.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use lockstep_kinds::schema::{OpenApiVersion, named};
use lockstep_kinds::{Table, format};
use serde_json::{Value, json};

fn facts() -> Option<BTreeMap<String, Value>> {
    let named = std::env::var_os("LOCKSTEP_SHARED").map(PathBuf::from);
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let file = named.unwrap_or(beside).join("data/builtin-schema.json");
    let text = std::fs::read_to_string(file).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// Normalizes a schema: one form of references, sorted `required`, no group-version-kinds, which the table does not
/// have. Descriptions and the fields of field-gates.md §1 are our own.
fn plain(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            entries.remove("gvk");
            entries.remove("customFeatureGates");
            if entries.get("description").is_some_and(Value::is_string) {
                entries.remove("description");
            }
            if let Some(target) = entries.remove("$ref") {
                entries.insert("allOf".into(), json!([{ "$ref": target }]));
            }
            let references = entries.remove("allOf");
            entries.values_mut().for_each(plain);
            entries.extend(references.map(|references| ("allOf".to_owned(), references)));
            if let Some(Value::Array(names)) = entries.get_mut("required") {
                names.sort_by_key(ToString::to_string);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain),
        _ => {}
    }
}

/// Fields of policies and bindings that upstream does not have (mutating-admission.md §1.1, §1.2).
const OWN_FIELDS: &[(&str, &[&str])] = &[
    ("ApplyConfiguration", &["unset", "atomics"]),
    ("MutatingAdmissionPolicy", &["status"]),
    ("MutatingAdmissionPolicyBindingSpec", &["enforcement"]),
    (
        "MutatingAdmissionPolicySpec",
        &[
            "reinvocationLimit",
            "convergencePolicy",
            "mutationValidationPolicy",
        ],
    ),
    ("Mutation", &["name", "apply", "scope", "safety"]),
];

/// Removes what is our own from a schema of policies. `patchType` is not required beside `apply`, and
/// `reinvocationPolicy` has one more value.
fn without_own_fields(name: &str, schema: &mut Value) {
    let Some(name) = name.strip_prefix("io.k8s.api.admissionregistration.v1.") else {
        return;
    };
    if let Some((_, fields)) = OWN_FIELDS.iter().find(|(own, _)| *own == name)
        && let Some(properties) = schema["properties"].as_object_mut()
    {
        for field in *fields {
            assert!(properties.remove(*field).is_some(), "{name}.{field}");
        }
    }
}

/// api-machinery.md §2, `components.schemas`
#[test]
fn every_published_schema_comes_out_of_the_table() {
    let Some(facts) = facts() else {
        println!("SKIPPED: the facts are not at hand, so the table was not compared with them");
        return;
    };
    let table = Table::builtin();
    let mut wrong = Vec::new();
    for (name, mut expected) in facts {
        let made = named(table, &name, OpenApiVersion::V3).unwrap_or_default();
        let mut made = serde_json::to_value(made).unwrap();
        without_own_fields(&name, &mut made);
        plain(&mut expected);
        plain(&mut made);
        if name.ends_with(".admissionregistration.v1.Mutation") {
            expected.as_object_mut().unwrap().remove("required");
            let patch_type = expected["properties"]["patchType"].as_object_mut();
            patch_type.unwrap().remove("default");
        }
        if name.ends_with(".v1.MutatingAdmissionPolicySpec") {
            for schema in [&mut made, &mut expected] {
                let policy = schema["properties"]["reinvocationPolicy"].as_object_mut();
                policy.unwrap().remove("enum");
            }
        }
        if made != expected {
            wrong.push(format!("{name}\n  {made}\n  {expected}"));
        }
    }
    assert_eq!(wrong.join("\n"), "");
}

#[test]
fn the_table_carries_its_own_sum() {
    let text = include_str!("../data/kinds.txt");
    assert_eq!(
        format::unsealed(text).map(str::len).unwrap() + 89,
        text.len()
    );
    let changed = text.replacen("ConfigMap", "ConfigMop", 1);
    assert_eq!(format::unsealed(&changed), Err(format::FormatError::Seal));
}
