//! `AdmissionReview` responses of the webhook, and configurations that make the server send requests to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_testkit::client::Answer;
use lockstep_testkit::webhook::Say;
use serde_json::{Value, json};

use crate::server::Setup;
use crate::world::World;

pub(super) const MUTATING: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
pub(super) const VALIDATING: &str =
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
pub(super) const MAPS: &str = "/api/v1/namespaces/n/configmaps";

/// An answer to a review, with more than its uid and a yes.
pub(super) fn answer(review: &Value, more: &Value) -> Value {
    let mut response = json!({ "uid": review["request"]["uid"], "allowed": true });
    for (field, value) in more.as_object().unwrap() {
        response[field] = value.clone();
    }
    json!({
        "apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response,
    })
}

/// A webhook that always says the same.
pub(super) fn says(more: Value) -> Say {
    Box::new(move |review| Some(answer(&review, &more).into()))
}

pub(super) fn patch(operations: &Value) -> Value {
    let patch = STANDARD.encode(operations.to_string());
    json!({ "patchType": "JSONPatch", "patch": patch })
}

/// Starts a server with its defaults, as [`begin_with`].
pub(super) async fn begin(say: Say) -> World {
    begin_with(Setup::own(), say).await
}

/// Starts a server with a namespace `n`, the only one that the webhook's selector matches.
pub(super) async fn begin_with(setup: Setup, say: Say) -> World {
    let mut world = World::with_webhook(setup, say).await;
    let namespace = json!({ "metadata": { "name": "n", "labels": { "asked": "yes" } } });
    world.make("/api/v1/namespaces", &namespace).await;
    world
}

impl World {
    /// A webhook of a configuration, with some fields otherwise.
    pub(super) fn webhook(&self, changes: &Value) -> Value {
        let mut webhook = json!({
            "name": "a.b.io",
            "clientConfig": { "url": self.hook.url, "caBundle": STANDARD.encode(&self.hook.authority) },
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": { "matchLabels": { "asked": "yes" } },
            "rules": [{
                "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["configmaps"],
            }],
        });
        for (field, value) in changes.as_object().unwrap() {
            webhook[field] = value.clone();
        }
        webhook
    }

    /// Makes a configuration with one webhook; it is in force when that is answered.
    pub(super) async fn configure(&mut self, path: &str, name: &str, changes: &Value) {
        let webhook = self.webhook(changes);
        let configuration = json!({ "metadata": { "name": name }, "webhooks": [webhook] });
        self.make(path, &configuration).await;
    }

    pub(super) async fn make_map(&mut self, name: &str) -> Answer {
        let map = json!({ "metadata": { "name": name }, "data": { "a": "1" } });
        self.client.write("POST", MAPS, &map).await
    }

    /// Takes the `AdmissionReview` requests that arrived since the last call.
    pub(super) fn asked(&self) -> Vec<Value> {
        let asked = self.hook.asked().into_iter();
        asked
            .map(|(_, mut review)| review["request"].take())
            .collect()
    }

    /// Short form of [`Self::asked`]: operation and resource of each request.
    pub(super) fn deeds(&self) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let deed = |request: &Value| {
            let subresource = match text(&request["subResource"]) {
                part if part.is_empty() => part,
                part => format!("/{part}"),
            };
            let has = |field: &str| if request[field].is_null() { "-" } else { "+" };
            format!(
                "{} {}{subresource} {} {} new{} old{} {}",
                text(&request["operation"]),
                text(&request["resource"]["resource"]),
                text(&request["name"]),
                text(&request["kind"]["kind"]),
                has("object"),
                has("oldObject"),
                text(&request["options"]["kind"]),
            )
        };
        self.asked().iter().map(deed).collect()
    }
}

/// Code and message of a refusal.
pub(super) fn refusal(answer: &Answer) -> (u16, String) {
    let (code, _, message) = answer.failure();
    (code, message)
}
