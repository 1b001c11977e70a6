//! Fields that a webhook's patch cannot change, because a client cannot.

use serde_json::{Value, json};

use super::review::{self, MUTATING, patch, says};
use crate::world::World;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/n/deployments";

/// Starts a server with a deployment, and a webhook for changes of it and of its subresources.
async fn begin() -> World {
    let mut world = review::begin(says(json!({}))).await;
    let deployment = json!({
        "metadata": { "name": "d" },
        "spec": { "selector": { "matchLabels": { "a": "b" } }, "template": {
            "metadata": { "labels": { "a": "b" } },
            "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
        }},
    });
    world.make(DEPLOYMENTS, &deployment).await;
    let more = json!({ "rules": [{
        "operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"],
        "resources": ["deployments", "deployments/*"],
    }]});
    world.configure(MUTATING, "m", &more).await;
    world
}

impl World {
    /// Patches a part of the deployment while the webhook puts a value somewhere; the code of the answer, what it says,
    /// and what is stored then.
    async fn reached(&mut self, part: &str, place: &str, value: Value) -> (u16, Value, Value) {
        let change = json!([{ "op": "add", "path": place, "value": value }]);
        self.hook.now_says(says(patch(&change)));
        let merge = [("content-type", "application/merge-patch+json")];
        let path = format!("{DEPLOYMENTS}/d{part}");
        let body = json!({ "metadata": { "annotations": { "place": place } }, "status": { "replicas": 1 } });
        let answer = self.client.send("PATCH", &path, &merge, body.to_string());
        let answer = answer.await;
        let stored = self.client.get(&format!("{DEPLOYMENTS}/d")).await.json();
        (
            answer.status.as_u16(),
            answer.json()["message"].clone(),
            stored,
        )
    }
}

/// api-machinery.md §12/webhook-answers: names, uids and times stay, the status belongs to its own endpoint, and everything
/// else to the other.
#[tokio::test]
async fn a_webhook_cannot_change_what_a_client_cannot() {
    let mut world = begin().await;
    let before = world.client.get(&format!("{DEPLOYMENTS}/d")).await.json();
    for (part, place, value) in [
        (
            "",
            "/metadata/creationTimestamp",
            json!("2000-01-01T00:00:00Z"),
        ),
        (
            "",
            "/metadata/deletionTimestamp",
            json!("2000-01-01T00:00:00Z"),
        ),
        ("", "/metadata/generation", json!(99)),
        ("", "/metadata/resourceVersion", json!("1")),
        ("", "/status/readyReplicas", json!(9)),
        ("/status", "/spec/replicas", json!(9)),
        (
            "/status",
            "/metadata/deletionTimestamp",
            json!("2000-01-01T00:00:00Z"),
        ),
    ] {
        let (code, why, stored) = world.reached(part, place, value.clone()).await;
        assert_eq!((code, why), (200, Value::Null), "{part} {place}");
        assert_ne!(stored.pointer(place), Some(&value), "{part} {place}");
        let mut expected = before.clone();
        for field in ["annotations", "managedFields", "resourceVersion"] {
            expected["metadata"][field] = stored["metadata"][field].clone();
        }
        expected["metadata"]["generation"] = stored["metadata"]["generation"].clone();
        expected["status"] = stored["status"].clone();
        assert_eq!(stored, expected, "{part} {place}");
        assert!(
            stored["metadata"]["generation"].as_u64() < Some(20),
            "{part} {place}"
        );
    }
    for (place, value) in [("/metadata/name", "other"), ("/metadata/uid", "other")] {
        let (code, why, stored) = world.reached("", place, value.into()).await;
        let field = place.trim_start_matches('/').replace('/', ".");
        let expected = format!("{field}: Invalid value: \"other\": field is immutable");
        let why = why.as_str().unwrap_or_default();
        assert!(code == 422 && why.ends_with(&expected), "{code} {why}");
        assert_ne!(stored["metadata"]["annotations"]["place"], place);
    }
    let gone = world.client.get(&format!("{DEPLOYMENTS}/other")).await;
    assert_eq!(gone.status, 404);
}
