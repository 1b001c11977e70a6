//! The edge rows of field-gates.md §10 over HTTP: the same cases that the rules are tested with.

use serde_json::{Value, json};

use super::definition::{Moment, definition, object, rows};
use super::world::{Sent, World, causes, of_gates, owners};
use crate::client::Answer;

/// Rows about policies that other servers are asked for.
const NEED_WEBHOOKS: [u64; 2] = [75, 76];

/// The CRD of each row has a group of its own.
fn renamed(value: &Value, row: u64) -> Value {
    let text = value.to_string();
    let text = text.replace("stable.example.com", &format!("r{row}.stable.example.com"));
    serde_json::from_str(&text).unwrap()
}

struct Case<'a> {
    world: &'a mut World,
    /// A server that does not look at gates, on the same store.
    other: &'a mut World,
    row: &'a Value,
    number: u64,
}

impl Case<'_> {
    fn path(&self, version: &str, rest: &str) -> String {
        let number = self.number;
        format!("/apis/r{number}.stable.example.com/{version}/namespaces/default/crontabs{rest}")
    }

    fn object(&self, version: &str, spec: &Value, status: &Value) -> Value {
        renamed(&object(version, spec, status), self.number)
    }

    async fn define(&mut self, moment: Moment) {
        let crd = renamed(&definition(self.row, moment), self.number);
        let answer = self.world.define(&crd).await;
        assert!(
            answer.status.is_success(),
            "{}: {}",
            self.number,
            answer.body
        );
    }

    async fn stored(&self) -> Option<(Value, u64)> {
        let number = self.number;
        let key = format!("r{number}.stable.example.com/crontabs/default/c");
        self.world.stored(&key).await
    }

    /// Stores what exists, with gates as they were then, and leaves them as they are now.
    async fn prepare(&mut self) {
        let Some(existing) = self.row.get("existing") else {
            return self.define(Moment::Now).await;
        };
        if let Some(first) = self.row["before"].get("first") {
            let mut row = self.row.clone();
            row["before"]["gates"] = first.clone();
            let crd = renamed(&definition(&row, Moment::Before), self.number);
            let answer = self.world.define(&crd).await;
            assert!(answer.status.is_success(), "{}", answer.body);
        } else {
            self.define(Moment::Before).await;
        }
        let has_status = self.row["subresources"].is_null();
        let status = &self.row["existingStatus"];
        let made = self.object(
            "v1",
            existing,
            if has_status { &Value::Null } else { status },
        );
        let answer = match self.row["existingManager"].as_str() {
            None => {
                let path = self.path("v1", "");
                self.world.client.write("POST", &path, &made).await
            }
            Some(manager) => self.apply(&made, manager, "").await,
        };
        assert_eq!(answer.status, 201, "{}: {}", self.number, answer.body);
        if has_status && !status.is_null() {
            let mut made = answer.json();
            made["status"] = status.clone();
            let path = self.path("v1", "/c/status");
            let answer = self.world.client.write("PUT", &path, &made).await;
            assert_eq!(answer.status, 200, "{}: {}", self.number, answer.body);
        }
        if self.row["before"].get("first").is_some() {
            self.define(Moment::Before).await;
        }
        self.define(Moment::Now).await;
    }

    async fn apply(&mut self, wish: &Value, manager: &str, query: &str) -> Answer {
        let sent = Sent {
            method: "PATCH",
            path: self.path("v1", &format!("/c?fieldManager={manager}&{query}")),
            media_type: "application/apply-patch+yaml",
        };
        self.world.send(sent, wish).await
    }

    async fn request(&mut self) -> Answer {
        let request = self.row["request"].clone();
        let version = request["version"].as_str().unwrap_or("v1").to_owned();
        let query = request["query"].as_str().unwrap_or_default();
        let manager = request["manager"].as_str().unwrap_or("test");
        let asked = format!("?fieldManager={manager}&{query}");
        let part = match request["part"].as_str() {
            Some(part) => format!("/{part}"),
            None => String::new(),
        };
        let named = self.path(&version, &format!("/c{part}{asked}"));
        let asking = |method, path, media_type| Sent {
            method,
            path,
            media_type,
        };
        if let Some(spec) = request.get("create") {
            let path = self.path(&version, &asked);
            let body = self.object(&version, spec, &request["status"]);
            return self.world.client.write("POST", &path, &body).await;
        }
        if let Some(spec) = request.get("put") {
            let path = self.path(&version, "/c");
            let present = self.world.client.get(&path).await.json();
            let mut body = self.object(&version, spec, &request["status"]);
            body["metadata"]["resourceVersion"] = match request.get("resourceVersion") {
                Some(asked) => asked.clone(),
                None => present["metadata"]["resourceVersion"].clone(),
            };
            body["metadata"]["labels"] = request["labels"].clone();
            let sent = asking("PUT", named, "application/json");
            if self.row["feature"] == false {
                return self.other.send(sent, &body).await;
            }
            return self.world.send(sent, &body).await;
        }
        if let Some(patch) = request.get("merge") {
            let metadata =
                json!({"labels": request["labels"], "annotations": request["annotations"]});
            let patch = json!({"spec": patch, "metadata": metadata});
            let sent = asking("PATCH", named, "application/merge-patch+json");
            return self.world.send(sent, &patch).await;
        }
        if let Some(patch) = request.get("json") {
            let sent = asking("PATCH", named, "application/json-patch+json");
            return self.world.send(sent, patch).await;
        }
        if let Some(spec) = request.get("apply") {
            let wish = self.object("v1", spec, &Value::Null);
            return self.apply(&wish, manager, query).await;
        }
        if let Some(replicas) = request.get("scale") {
            let scale = json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "c", "namespace": "default"},
                "spec": {"replicas": replicas},
            });
            let path = self.path("v1", "/c/scale");
            return self.world.client.write("PUT", &path, &scale).await;
        }
        if let Some(part) = request["get"].as_str() {
            let part = if part.is_empty() { "" } else { "/scale" };
            let path = self.path("v1", &format!("/c{part}"));
            return self.world.client.get(&path).await;
        }
        let path = self.path("v1", "/c");
        self.world.client.send("DELETE", &path, &[], "").await
    }

    /// What became of the row, in the words of [`expected`].
    async fn actual(&mut self) -> Value {
        self.prepare().await;
        if self.row["feature"] == false {
            let path = self.path("v1", "/c");
            while self.other.client.get(&path).await.status != 200 {
                tokio::task::yield_now().await;
            }
        }
        let before = self.stored().await;
        let answer = self.request().await;
        let after = self.stored().await;
        let mut actual = json!({
            "code": answer.status.as_u16(),
            "warnings": of_gates(&answer),
        });
        let told = |actual: &mut Value, field: &str, value: Value| {
            if self.row.get(field).is_some() {
                actual[field] = value;
            }
        };
        told(&mut actual, "message", answer.json()["message"].clone());
        told(&mut actual, "causes", json!(causes(&answer)));
        let fields = answer.json()["details"]["causes"].clone();
        let fields = fields.as_array().into_iter().flatten();
        let fields: Value = fields.map(|cause| cause["field"].clone()).collect();
        told(&mut actual, "conflicts", fields);
        told(
            &mut actual,
            "answer",
            answer.json()["spec"]["replicas"].clone(),
        );
        if self.row.get("generation").is_none() {
            let is_gone = self.row["request"]["delete"] == true;
            assert_eq!(
                after.is_none(),
                is_gone || before.is_none(),
                "{}",
                self.number
            );
            return actual;
        }
        let (object, revision) = after.unwrap_or_default();
        let is_as_it_was = before.is_some_and(|(_, before)| before == revision);
        actual["apiVersion"] = object["apiVersion"].clone();
        actual["stored"] = object["spec"].clone();
        actual["generation"] = object["metadata"]["generation"].clone();
        actual["idle"] = is_as_it_was.into();
        told(&mut actual, "status", object["status"].clone());
        told(&mut actual, "owners", owners(&object));
        actual
    }

    fn expected(&self) -> Value {
        let row = self.row;
        let mut expected = json!({"code": row["code"], "warnings": []});
        for field in ["warnings", "message", "causes", "conflicts", "answer"] {
            if let Some(value) = row.get(field) {
                expected[field] = value.clone();
            }
        }
        if row.get("generation").is_none() {
            return expected;
        }
        expected["apiVersion"] = format!("r{}.stable.example.com/v1", self.number).into();
        expected["stored"] = row["stored"].clone();
        expected["generation"] = row["generation"].clone();
        expected["idle"] = (row["idle"] == true).into();
        for field in ["status", "owners"] {
            if let Some(value) = row.get(field) {
                expected[field] = value.clone();
            }
        }
        expected
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_edge_rows_hold_over_http() {
    let mut world = World::new().await;
    let mut other = World::on(world.store.clone(), "").await;
    let mut failed = Vec::new();
    let only: Option<u64> = std::env::var("ROW").ok().and_then(|row| row.parse().ok());
    for row in rows() {
        let number = row["row"].as_u64().unwrap();
        if NEED_WEBHOOKS.contains(&number) || only.is_some_and(|only| only != number) {
            continue;
        }
        let mut case = Case {
            world: &mut world,
            other: &mut other,
            row: &row,
            number,
        };
        let actual = case.actual().await;
        let expected = case.expected();
        if actual != expected {
            failed.push(format!(
                "row {number}: {}\n  expected {expected}\n  actual   {actual}",
                row["name"]
            ));
        }
    }
    assert!(
        failed.is_empty(),
        "{} fail:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
