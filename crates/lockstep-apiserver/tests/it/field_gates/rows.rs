//! The edge rows of field-gates.md §10 over HTTP: the same cases that the rules are tested with.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_testkit::client::Answer;
use lockstep_testkit::webhook::{Hook, Say};
use serde_json::{Value, json};

use super::definition::{Moment, definition, object, rows};
use super::gated::{causes, gated, of_gates, owners, server_on};
use crate::world::{Sent, World};

const REGISTRATION: &str = "/apis/admissionregistration.k8s.io/v1";

/// The policies of rows: one sets a field, the other forbids more than four.
fn policies() -> Say {
    Box::new(|review| {
        let request = &review["request"];
        let mut response = json!({"uid": request["uid"], "allowed": true});
        if request["resource"]["group"] == "r75.stable.example.com" {
            let change = json!([{"op": "replace", "path": "/spec/replicas", "value": 9}]);
            response["patchType"] = "JSONPatch".into();
            response["patch"] = STANDARD.encode(change.to_string()).into();
        } else {
            let replicas = request["object"]["spec"]["replicas"].as_u64();
            response["allowed"] = (replicas <= Some(4)).into();
        }
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
        });
        Some(review.into())
    })
}

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
    /// Admission webhook for the rows with policies, and its certificate.
    hook: &'a Hook,
    row: &'a Value,
    number: u64,
    /// Resource version of the existing object, as returned to the client that stored it.
    held: Value,
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
        self.held = answer.json()["metadata"]["resourceVersion"].clone();
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

    /// Makes the policy of the row, if it has one.
    async fn configure(&mut self) {
        let resource = if self.row.get("mutating").is_some() {
            "mutatingwebhookconfigurations"
        } else if self.row.get("validating").is_some() {
            "validatingwebhookconfigurations"
        } else {
            return;
        };
        let number = self.number;
        let hook = self.hook;
        let configuration = json!({"metadata": {"name": format!("r{number}")}, "webhooks": [{
            "name": "policy.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": hook.url, "caBundle": STANDARD.encode(&hook.authority)},
            "rules": [{
                "operations": ["UPDATE"], "apiGroups": [format!("r{number}.stable.example.com")],
                "apiVersions": ["v1"], "resources": ["crontabs"],
            }],
        }]});
        let path = format!("{REGISTRATION}/{resource}");
        let answer = self.world.client.write("POST", &path, &configuration).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
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
                Some(asked) if asked == "held" => self.held.clone(),
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

    /// Runs the row and returns its result in the form of [`expected`].
    async fn actual(&mut self) -> Value {
        self.prepare().await;
        self.configure().await;
        if self.row["feature"] == false {
            let path = self.path("v1", "/c");
            let is_served = |answer: &Answer| answer.status == 200;
            self.other.client.get_until(&path, is_served).await;
        }
        let before = self.stored().await;
        self.hook.asked();
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
        let seen = self.hook.asked().pop().map(|(_, review)| {
            let object = &review["request"]["object"];
            object["spec"]["replicas"].clone()
        });
        told(&mut actual, "seen", seen.unwrap_or_default());
        let object = after.as_ref().map(|(object, _)| object.clone());
        let object = object.unwrap_or_default();
        told(&mut actual, "owners", owners(&object));
        if self.row.get("generation").is_none() {
            let is_gone = self.row["request"]["delete"] == true;
            let kept = before.filter(|_| !is_gone);
            assert_eq!(
                after, kept,
                "{}: what is refused is not stored",
                self.number
            );
            return actual;
        }
        let revision = after.map(|(_, revision)| revision).unwrap_or_default();
        let is_as_it_was = before.is_some_and(|(_, before)| before == revision);
        actual["apiVersion"] = object["apiVersion"].clone();
        actual["stored"] = object["spec"].clone();
        actual["generation"] = object["metadata"]["generation"].clone();
        actual["idle"] = is_as_it_was.into();
        told(&mut actual, "status", object["status"].clone());
        let annotations = object["metadata"]["annotations"].clone();
        told(&mut actual, "annotations", annotations);
        actual
    }

    fn expected(&self) -> Value {
        let row = self.row;
        let mut expected = json!({"code": row["code"], "warnings": []});
        for field in [
            "warnings",
            "message",
            "causes",
            "conflicts",
            "answer",
            "seen",
            "owners",
        ] {
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
        for field in ["status", "annotations"] {
            if let Some(value) = row.get(field) {
                expected[field] = value.clone();
            }
        }
        expected
    }
}

/// Judges some rows on servers of their own.
async fn hold(numbers: std::ops::RangeInclusive<u64>) {
    let mut world = gated().await;
    let mut other = server_on(world.store.clone(), "").await;
    let hook = Hook::new(policies()).await;
    let mut failed = Vec::new();
    let mut judged = 0;
    for row in rows() {
        let number = row["row"].as_u64().unwrap();
        if !numbers.contains(&number) {
            continue;
        }
        judged += 1;
        let mut case = Case {
            world: &mut world,
            other: &mut other,
            hook: &hook,
            row: &row,
            number,
            held: Value::Null,
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
    assert_eq!(judged, numbers.count(), "every row of the range is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edge_rows_of_creates_and_puts_hold_over_http() {
    hold(1..=26).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edge_rows_of_patches_parents_lists_and_maps_hold_over_http() {
    hold(27..=46).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edge_rows_of_defaults_stages_and_validation_hold_over_http() {
    hold(47..=76).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edge_rows_of_parts_and_owners_hold_over_http() {
    hold(77..=90).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn edge_rows_of_versions_and_switches_hold_over_http() {
    hold(91..=101).await;
}
