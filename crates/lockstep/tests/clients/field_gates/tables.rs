//! The tables of the proposal and the edge rows that are plain writes (field-gates.md §14/rows), on each store.

use kube::api::Patch;
use serde_json::{Value, json};

use super::crontabs::{Answer, Crontabs};
use super::definition::{Moment, definition, object, rows};
use super::on;
use crate::server::on_each_store_with;

/// Keys of the rows that are run here; rows with others need endpoints, policies, owners or versions.
const SAID: [&str; 15] = [
    "row",
    "name",
    "gates",
    "gate",
    "existing",
    "request",
    "code",
    "stored",
    "generation",
    "warnings",
    "idle",
    "spec",
    "before",
    "required",
    "written",
];

/// Whether a row is a plain write of an object.
fn is_plain(row: &Value) -> bool {
    let request = row["request"].as_object().unwrap();
    let is_write = |(kind, _)| ["create", "put", "merge", "json"].contains(&kind);
    let mut kinds = request.iter().map(|(kind, body)| (kind.as_str(), body));
    let says = row.as_object().unwrap().keys();
    says.into_iter().all(|said| SAID.contains(&said.as_str()))
        && request.len() == 1
        && kinds.all(is_write)
        && row["before"].get("storage").is_none()
}

/// Gates as they were when the object was stored, and since then.
async fn prepare(crontabs: &Crontabs, row: &Value) {
    crontabs.delete("c").await;
    let define = async |crd: Value| {
        let answer = crontabs.define(&crd).await;
        assert!([200, 201].contains(&answer.code), "{row}: {answer:?}");
    };
    if let Some(existing) = row.get("existing") {
        let mut first = row.clone();
        if let Some(gates) = row["before"].get("first") {
            first["before"]["gates"] = gates.clone();
        }
        define(definition(&first, Moment::Before)).await;
        let answer = crontabs.create(&object("v1", existing, &Value::Null)).await;
        assert_eq!(answer.code, 201, "{row}: {answer:?}");
        define(definition(row, Moment::Before)).await;
    }
    define(definition(row, Moment::Now)).await;
}

async fn request(crontabs: &Crontabs, row: &Value) -> Answer {
    let (kind, body) = row["request"].as_object().unwrap().iter().next().unwrap();
    match kind.as_str() {
        "create" => crontabs.create(&object("v1", body, &Value::Null)).await,
        "put" => crontabs.replace(&object("v1", body, &Value::Null)).await,
        "merge" => {
            let patch = Patch::Merge(json!({"spec": body}));
            crontabs.patch("c", &patch).await
        }
        _ => {
            let patch = serde_json::from_value(body.clone()).unwrap();
            crontabs.patch("c", &Patch::Json(patch)).await
        }
    }
}

/// Warnings of gates alone.
fn of_gates(warnings: Vec<String>) -> Vec<String> {
    let told = |text: &String| text.contains("feature gate") || text.ends_with("is deprecated");
    warnings.into_iter().filter(told).collect()
}

async fn actual(crontabs: &Crontabs, row: &Value) -> Value {
    prepare(crontabs, row).await;
    let before = crontabs.get("c").await.body;
    let answer = request(crontabs, row).await;
    let mut actual = json!({"code": answer.code, "warnings": of_gates(answer.warnings)});
    if answer.code < 300 {
        let after = crontabs.get("c").await.body;
        assert_eq!(after, answer.body, "the answer is what is stored: {row}");
        let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
        actual["stored"] = after["spec"].clone();
        actual["generation"] = after["metadata"]["generation"].clone();
        actual["idle"] = (version(&before) == version(&after)).into();
    }
    actual
}

fn expected(row: &Value) -> Value {
    let mut expected = json!({"code": row["code"], "warnings": []});
    if let Some(warnings) = row.get("warnings") {
        expected["warnings"] = warnings.clone();
    }
    if row["code"].as_u64() < Some(300) {
        expected["stored"] = row["stored"].clone();
        expected["generation"] = row["generation"].clone();
        expected["idle"] = (row["idle"] == true).into();
    }
    expected
}

/// The create table of the proposal (field-gates.md §10/1, field-gates.md §10/2), its update table (field-gates.md §10/23,
/// field-gates.md §10/25, field-gates.md §10/18, field-gates.md §10/96), its matrix of eight rows (field-gates.md §10/9 to
/// field-gates.md §10/15), both kinds of warnings (field-gates.md §10/53, field-gates.md §10/56 and all that are dropped or
/// kept), the generation, and every other row that is a plain write.
#[tokio::test]
async fn tables_of_the_proposal_and_plain_rows_hold_for_kube_rs() {
    let mut plain: Vec<Value> = rows().into_iter().filter(is_plain).collect();
    // The first row of the matrix: the inner gate does not matter where the outer one is closed.
    let mut first = plain.iter().find(|row| row["row"] == 9).unwrap().clone();
    first["gates"] = json!(["F-", "Q-"]);
    plain.push(first);
    let of_the_seed = [1, 2, 18, 23, 25, 96, 9, 10, 11, 12, 13, 14, 15, 53, 56];
    for number in of_the_seed {
        assert!(plain.iter().any(|row| row["row"] == number), "{number}");
    }
    on_each_store_with(&on(), async |server| {
        let crontabs = Crontabs::on(server.client().await);
        for row in &plain {
            let actual = actual(&crontabs, row).await;
            assert_eq!(actual, expected(row), "row {}: {}", row["row"], row["name"]);
        }
    })
    .await;
}
