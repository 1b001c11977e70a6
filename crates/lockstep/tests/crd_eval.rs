//! The edge rows of field-gates.md §10 through `lockstep crd gates eval`, as far as they need no server.

#![expect(
    clippy::unwrap_used,
    reason = "a case file that does not fit its check is a failure"
)]

#[path = "../../lockstep-fieldgate/tests/rows/definition.rs"]
mod definition;

use std::path::{Path, PathBuf};
use std::process::Command;

use definition::{Moment, definition, object, rows};
use serde_json::{Value, json};

/// Rows about patches of defaults, other endpoints, versions, policies and options that only a server has.
const SERVER_ONLY: [u64; 25] = [
    62, 63, 75, 76, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 95, 97, 98, 99, 100, 61, 71,
    94, 101,
];

struct Bench {
    folder: tempfile::TempDir,
}

impl Bench {
    fn file(&self, name: &str, value: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, value.to_string()).unwrap();
        path
    }

    /// The answer of the command and its status.
    fn eval(definition: &Path, new: &Path, more: &[&str]) -> (Value, i32) {
        let output = Command::new(env!("CARGO_BIN_EXE_lockstep"))
            .args(["crd", "gates", "eval", "-o", "json", "-f"])
            .arg(definition)
            .arg("--new")
            .arg(new)
            .args(more)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(told, "");
        let answer = serde_json::from_slice(&output.stdout).unwrap();
        (answer, output.status.code().unwrap())
    }

    /// Object stored before the request, after the gates of that moment were applied to it.
    fn stored(&self, row: &Value) -> Option<Value> {
        let made = object("v1", row.get("existing")?, &Value::Null);
        let definition = self.file("before.json", &definition(row, Moment::Before));
        let (mut answer, _) = Self::eval(&definition, &self.file("made.json", &made), &[]);
        let mut stored = answer["object"].take();
        if let Some(status) = row.get("existingStatus") {
            stored["status"] = status.clone();
        }
        Some(stored)
    }

    fn actual(&self, row: &Value) -> Value {
        let (request, stored) = (&row["request"], self.stored(row));
        let definition = self.file("now.json", &definition(row, Moment::Now));
        let new = self.file("new.json", &wanted(request, stored.as_ref()));
        let old = stored.as_ref().map(|stored| self.file("old.json", stored));
        let mut more = Vec::new();
        if let Some(old) = &old {
            more.extend(["--old", old.to_str().unwrap()]);
        }
        if request["part"] == "status" {
            more.extend(["--subresource", "status"]);
        }
        if request["query"] == "fieldValidation=Strict" {
            more.extend(["--validate", "strict"]);
        }
        let (answer, status) = Self::eval(&definition, &new, &more);
        assert_eq!(answer["allowed"], status == 0);
        let warnings = answer["warnings"].as_array().unwrap().iter();
        let warnings = warnings.filter(|text| is_of_gates(text.as_str().unwrap()));
        let warnings: Vec<&Value> = warnings.collect();
        if status != 0 {
            let is_read = answer["object"].is_object();
            return json!({"code": if is_read { 422 } else { 400 }, "warnings": warnings});
        }
        let object = &answer["object"];
        json!({
            "code": if stored.is_some() { 200 } else { 201 },
            "spec": object["spec"],
            "status": object["status"],
            "generation": object["metadata"]["generation"],
            "warnings": warnings,
        })
    }
}

/// Not of values that were wrong before.
fn is_of_gates(warning: &str) -> bool {
    warning.contains("feature gate") || warning.ends_with("is deprecated")
}

/// The object as the request wants it.
fn wanted(request: &Value, stored: Option<&Value>) -> Value {
    if let Some(patch) = request.get("merge") {
        let mut next = stored.unwrap().clone();
        lockstep_merge::merge_patch(&mut next, &json!({"spec": patch}));
        return next;
    }
    if let Some(patch) = request.get("json") {
        let mut next = stored.unwrap().clone();
        let patch = lockstep_merge::JsonPatch::from_value(patch).unwrap();
        patch.apply(&mut next).unwrap();
        return next;
    }
    let spec = stored.map(|stored| stored["spec"].clone());
    let body = request.get("create").or_else(|| request.get("put"));
    object(
        "v1",
        body.unwrap_or(&spec.unwrap_or_default()),
        &request["status"],
    )
}

fn expected(row: &Value) -> Value {
    let texts = row.get("warnings").cloned().unwrap_or_else(|| json!([]));
    if row["code"].as_u64().unwrap() >= 300 {
        return json!({"code": row["code"], "warnings": texts});
    }
    json!({
        "code": if row["request"].get("create").is_some() { 201 } else { 200 },
        "spec": row["stored"],
        "status": row["status"],
        "generation": row["generation"],
        "warnings": texts,
    })
}

#[test]
fn the_edge_rows_hold_through_eval() {
    let bench = Bench {
        folder: tempfile::tempdir().unwrap(),
    };
    let mut held = 0;
    for row in rows() {
        if SERVER_ONLY.contains(&row["row"].as_u64().unwrap()) {
            continue;
        }
        let (expected, actual) = (expected(&row), bench.actual(&row));
        assert_eq!(actual, expected, "row {}: {}", row["row"], row["name"]);
        held += 1;
    }
    assert_eq!(held, 101 - SERVER_ONLY.len());
}
