//! Policies beside webhooks.

use lockstep_testkit::webhook::Say;
use serde_json::{Value, json};

use super::review::{self, answer, begin, patch, says};
use crate::policies::objects::{CONFIG_MAPS, applies, mutating, validating};

fn labels(review: &Value) -> Value {
    review["request"]["object"]["metadata"]["labels"].clone()
}

/// A webhook that adds the label `hook` unless it is there.
fn labels_once() -> Say {
    Box::new(|review| {
        let change = json!([{ "op": "add", "path": "/metadata/labels/hook", "value": "1" }]);
        let is_there = !labels(&review)["hook"].is_null();
        let more = if is_there { json!({}) } else { patch(&change) };
        Some(answer(&review, &more).into())
    })
}

/// A policy that says in a label whether it saw the label of the webhook.
fn reports(reinvocation: &str) -> Value {
    let expression = "Object{metadata: Object.metadata{labels: {'seen': \
                      object.metadata.?labels.?hook.hasValue() ? 'yes' : 'no'}}}";
    let changes = json!({ "reinvocationPolicy": reinvocation });
    mutating("reports", CONFIG_MAPS, [applies(expression)], &changes)
}

/// mutating-admission.md §2.1, §2.9: policies run before webhooks, and once more after a webhook changed the object; a
/// webhook with `IfNeeded` sees what the second pass made.
#[tokio::test]
async fn policies_and_webhooks_share_their_passes() {
    for (of_policy, of_webhook, seen, asked) in [
        ("Never", "Never", "no", vec!["no"]),
        ("IfNeeded", "Never", "yes", vec!["no"]),
        ("IfAffected", "Never", "yes", vec!["no"]),
        ("IfNeeded", "IfNeeded", "yes", vec!["no", "yes"]),
        ("Never", "IfNeeded", "no", vec!["no"]),
    ] {
        let mut world = begin(labels_once()).await;
        world.mutates(&reports(of_policy)).await;
        let more = json!({ "reinvocationPolicy": of_webhook });
        world.configure(review::MUTATING, "m", &more).await;
        let made = world
            .make(review::MAPS, &json!({ "metadata": { "name": "m" } }))
            .await;
        let expected = json!({ "hook": "1", "seen": seen });
        assert_eq!(
            made["metadata"]["labels"], expected,
            "{of_policy} {of_webhook}"
        );
        let found: Vec<Value> = world.asked();
        let found: Vec<&str> = found
            .iter()
            .map(|asked| {
                asked["object"]["metadata"]["labels"]["seen"]
                    .as_str()
                    .unwrap()
            })
            .collect();
        assert_eq!(found, asked, "{of_policy} {of_webhook}");
    }
}

/// mutating-admission.md §2.9: a policy that changed nothing runs again because a webhook changed the object.
#[tokio::test]
async fn a_change_by_a_webhook_alone_is_enough_for_a_second_pass() {
    for (reinvocation, seen) in [
        ("Never", Value::Null),
        ("IfNeeded", json!("yes")),
        ("IfAffected", json!("yes")),
    ] {
        let mut world = begin(labels_once()).await;
        let expression = "object.metadata.?labels.?hook.hasValue() \
                          ? Object{metadata: Object.metadata{labels: {'seen': 'yes'}}} : Object{}";
        let changes = json!({ "reinvocationPolicy": reinvocation });
        let policy = mutating("follows", CONFIG_MAPS, [applies(expression)], &changes);
        world.mutates(&policy).await;
        world.configure(review::MUTATING, "m", &json!({})).await;
        let map = json!({ "metadata": { "name": "m", "labels": { "x": "" } } });
        let made = world.make(review::MAPS, &map).await;
        assert_eq!(made["metadata"]["labels"]["hook"], "1");
        assert_eq!(made["metadata"]["labels"]["seen"], seen, "{reinvocation}");
    }
}

/// mutating-admission.md §3.3: safety is checked after the webhooks, and the last writer is named.
#[tokio::test]
async fn a_webhook_that_undoes_an_exact_mutation_is_named() {
    let change = json!([{ "op": "replace", "path": "/data/color", "value": "blue" }]);
    let mut world = begin(says(patch(&change))).await;
    let mut mutation = applies("Object{data: {'color': 'red'}}");
    mutation["name"] = "color".into();
    mutation["safety"] = json!({ "mode": "Exact" });
    world
        .mutates(&mutating("p", CONFIG_MAPS, [mutation], &Value::Null))
        .await;
    world.configure(review::MUTATING, "m", &json!({})).await;
    let refused = world.make_map("m").await;
    let (code, reason, message) = refused.failure();
    assert_eq!((code, reason.as_str()), (403, "Invalid"));
    assert_eq!(
        message,
        "policy 'p' with binding 'p' denied request: mutation \"color\" was undone at .data.color (last written by \
         webhook \"a.b.io\")"
    );
}

/// mutating-admission.md §9: a validating policy judges before webhooks are asked, also about deletions.
#[tokio::test]
async fn a_request_that_a_policy_refuses_reaches_no_validating_webhook() {
    let mut world = begin(says(json!({}))).await;
    world.configure(review::VALIDATING, "v", &json!({})).await;
    assert_eq!(world.make_map("stays").await.status, 201);
    world
        .validates(&validating(
            "p",
            CONFIG_MAPS,
            "request.operation == 'UPDATE'",
        ))
        .await;
    world.asked();
    assert_eq!(world.make_map("m").await.status, 422);
    let path = format!("{}/stays", review::MAPS);
    assert_eq!(world.delete(&path).await.status, 422);
    assert_eq!(world.asked(), Vec::<Value>::new());
    let change = json!({ "data": { "k": "v" } });
    assert_eq!(world.patch(&path, &change).await.status, 200);
    assert_eq!(world.asked().len(), 1);
}
