//! The edge rows of field-gates.md §10, as far as they need no server: the same cases that the server's tests run.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

#[path = "rows/definition.rs"]
mod definition;

use definition::{Moment, definition, object, rows};
use lockstep_fieldgate::{Offline, Refusal, Written};
use lockstep_merge::{JsonPatch, merge_patch};
use lockstep_object::Object;
use lockstep_object::incoming::FieldValidation;
use serde_json::{Value, json};

/// Rows about endpoints, versions, policies and options that only a server has.
const SERVER_ONLY: [u64; 26] = [
    62, 63, 65, 75, 76, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 95, 97, 98, 99, 100, 61,
    71, 94, 101,
];

fn offline(row: &Value, moment: Moment) -> Offline {
    let definition = Object::from_value(definition(row, moment)).unwrap();
    assert_eq!(lockstep_fieldgate::check_gates(&definition, None), []);
    Offline::of(&definition).unwrap().unwrap()
}

/// The object as the request wants it.
fn wanted(request: &Value, stored: Option<&Object>) -> Value {
    let spec = stored.and_then(|stored| stored.at(&["spec"]).cloned());
    let mut next = stored.map(|stored| stored.as_value().clone());
    if let Some(patch) = request.get("merge") {
        merge_patch(next.as_mut().unwrap(), &json!({"spec": patch}));
        return next.unwrap();
    }
    if let Some(patch) = request.get("json") {
        let patch = JsonPatch::from_value(patch).unwrap();
        patch.apply(next.as_mut().unwrap()).unwrap();
        return next.unwrap();
    }
    let body = request.get("create").or_else(|| request.get("put"));
    object(
        "v1",
        body.unwrap_or(&spec.unwrap_or_default()),
        &request["status"],
    )
}

/// What the row says, in the words of [`actual`].
fn expected(row: &Value) -> Value {
    let is_done = row["code"].as_u64().unwrap() < 300;
    let texts = |field: &str| row.get(field).cloned().unwrap_or_else(|| json!([]));
    if !is_done {
        return json!({"code": row["code"], "causes": row["causes"], "warnings": texts("warnings")});
    }
    json!({
        "code": if row["request"].get("create").is_some() { 201 } else { 200 },
        "spec": row["stored"],
        "status": row["status"],
        "generation": row["generation"],
        "warnings": texts("warnings"),
        "idle": row["idle"] == true,
    })
}

/// Warnings without those of values that were wrong before.
fn of_gates(warnings: Vec<String>) -> Vec<String> {
    let told = |text: &String| text.contains("feature gate") || text.ends_with("is deprecated");
    warnings.into_iter().filter(told).collect()
}

fn actual(row: &Value) -> Value {
    let stored = row.get("existing").map(|existing| {
        let made = object("v1", existing, &row["existingStatus"]);
        let made = Object::from_value(made).unwrap();
        let before = offline(row, Moment::Before);
        let mut created = before.write(&made, None, Written::Object);
        assert_eq!(created.errors, []);
        if let Some(status) = row.get("existingStatus") {
            let fields = created.object.fields_mut();
            fields.insert("status".to_owned(), status.clone());
        }
        created.object
    });
    let now = offline(row, Moment::Now);
    let bytes = stored.clone();
    let stored = stored.map(|stored| {
        // As it is read: in the shape of today.
        let mut value = stored.into_value();
        now.schema().prune(&mut value, &mut Vec::new());
        now.schema().default(&mut value);
        Object::from_value(value).unwrap()
    });
    let request = &row["request"];
    let wanted = Object::from_value(wanted(request, stored.as_ref())).unwrap();
    let written = if request["part"] == "status" {
        Written::Status
    } else {
        Written::Object
    };
    let answer = now.answer(&wanted, bytes.as_ref(), written, FieldValidation::Warn);
    if let Some(refusal) = answer.refusal {
        let Refusal::Invalid(errors) = refusal else {
            panic!("{}: {refusal:?}", row["row"])
        };
        let causes: Vec<String> = errors.iter().map(ToString::to_string).collect();
        return json!({"code": 422, "causes": causes, "warnings": of_gates(answer.warnings)});
    }
    let object = answer.object.unwrap();
    let at = |field: &str| object.at(&[field]).cloned().unwrap_or_default();
    json!({
        "code": if stored.is_some() { 200 } else { 201 },
        "spec": at("spec"),
        "status": at("status"),
        "generation": object.generation(),
        "warnings": of_gates(answer.warnings),
        "idle": bytes.as_ref() == Some(&object),
    })
}

#[test]
fn the_edge_rows_hold_without_a_server() {
    let mut failed = Vec::new();
    let mut held = 0;
    for row in rows() {
        if SERVER_ONLY.contains(&row["row"].as_u64().unwrap()) {
            continue;
        }
        let (expected, actual) = (expected(&row), actual(&row));
        if expected == actual {
            held += 1;
        } else {
            failed.push(format!(
                "row {}: {}\n  expected {expected}\n  actual   {actual}",
                row["row"], row["name"]
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
    assert_eq!(held, 101 - SERVER_ONLY.len());
}
