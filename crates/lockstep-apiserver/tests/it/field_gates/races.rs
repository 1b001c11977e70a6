//! Writes of an object that moves while they are on their way.

use lockstep_testkit::webhook::Hook;
use std::sync::mpsc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::gated::{gated, of_gates};

const OBJECT: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs/c";
const KEY: &str = "stable.example.com/crontabs/default/c";
const HOOKS: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// Sends a write whose object changes during admission; returns its code, its gate warnings and the stored spec.
async fn overtaken(method: &'static str, media_type: &'static str) -> (u16, Vec<String>, Value) {
    let mut world = gated().await;
    let crd = definition(&json!({"gates": ["R-"]}), Moment::Now);
    assert_eq!(world.define(&crd).await.status, 201);
    let made = object("v1", &json!({"image": "a"}), &Value::Null);
    let all = OBJECT.trim_end_matches("/c");
    let made = world.client.write("POST", all, &made).await;
    assert_eq!(made.status, 201, "{}", made.body);
    // The webhook allows the write, but responds only after the object has changed.
    let (go, gone) = mpsc::channel::<()>();
    let gone = Mutex::new(gone);
    let say = move |review: Value| {
        // An error means that the sender is dropped: later calls do not wait.
        let _moved = gone.lock().recv();
        let response = json!({"uid": review["request"]["uid"], "allowed": true});
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
        });
        Some(review.into())
    };
    let hook = Hook::new(Box::new(say)).await;
    let configuration = json!({"metadata": {"name": "waits"}, "webhooks": [{
        "name": "waits.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": hook.url, "caBundle": STANDARD.encode(&hook.authority)},
        "rules": [{
            "operations": ["UPDATE"], "apiGroups": ["stable.example.com"], "apiVersions": ["v1"],
            "resources": ["crontabs"],
        }],
    }]});
    let answer = world.client.write("POST", HOOKS, &configuration).await;
    assert_eq!(answer.status, 201, "{}", answer.body);

    let mut client = world.admin().await;
    let mut next = made.json();
    next["spec"] = json!({"image": "b", "replicas": 5});
    if method == "PATCH" {
        next = json!({"spec": next["spec"]});
    }
    let headers = [("content-type", media_type)];
    let writing = client.send(method, OBJECT, &headers, next.to_string());
    let moving = async {
        // The webhook blocks a worker, which may be the one that drives timers: no timer may be awaited here.
        while hook.asked().is_empty() {
            tokio::task::yield_now().await;
        }
        let (mut moved, _) = world.stored(KEY).await.unwrap();
        moved["spec"]["replicas"] = 3.into();
        world.plant(KEY, Some(&moved)).await;
        drop(go);
    };
    let (answer, ()) = tokio::join!(writing, moving);
    let (stored, _) = world.stored(KEY).await.unwrap();
    let told = of_gates(&answer);
    (answer.status.as_u16(), told, stored["spec"].clone())
}

/// field-gates.md §6/retries: warnings describe the attempt that was stored, not earlier attempts that lost a race.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_that_is_tried_again_tells_what_became_of_it() {
    let kept = "spec.replicas: not updated: feature gate istio/R (alpha) is disabled, the stored value was kept";
    assert_eq!(
        overtaken("PATCH", "application/merge-patch+json").await,
        (
            200,
            vec![kept.to_owned()],
            json!({"image": "b", "replicas": 3})
        )
    );
}

/// field-gates.md §6/retries: a conflict has no gate warnings, whether it is found early or late.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_that_is_overtaken_is_a_conflict_and_tells_nothing() {
    assert_eq!(
        overtaken("PUT", "application/json").await,
        (409, Vec::new(), json!({"image": "a", "replicas": 3}))
    );
}
