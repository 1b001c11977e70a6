//! Webhooks that know another version of the resource than the client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_testkit::webhook::{Hook, Say};
use serde_json::{Value, json};

use super::review::{MUTATING, answer, begin, patch, says};

fn rules(group: &str, version: &str, resource: &str) -> Value {
    json!([{
        "operations": ["*"], "apiGroups": [group], "apiVersions": [version], "resources": [resource],
    }])
}

/// api-machinery.md §12/webhook-versions: `matchPolicy` `Equivalent` and `Exact` of built-in kinds.
#[tokio::test]
async fn a_built_in_kind_is_shown_in_the_version_that_the_webhook_knows() {
    let mut world = begin(says(json!({}))).await;
    let more = json!({ "rules": rules("autoscaling", "v1", "horizontalpodautoscalers") });
    world.configure(MUTATING, "m", &more).await;
    let change = json!([{ "op": "replace", "path": "/spec/maxReplicas", "value": 9 }]);
    world.hook.now_says(says(patch(&change)));
    let scaler = json!({
        "metadata": { "name": "h" },
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": { "kind": "Deployment", "name": "d", "apiVersion": "apps/v1" },
            "metrics": [{ "type": "Resource", "resource": {
                "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 50 },
            }}],
        },
    });
    let path = "/apis/autoscaling/v2/namespaces/n/horizontalpodautoscalers";
    let made = world.make(path, &scaler).await;
    assert_eq!(made["apiVersion"], "autoscaling/v2");
    assert_eq!(made["spec"]["maxReplicas"], 9);
    assert_eq!(
        made["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
        50
    );
    let asked = world.asked().remove(0);
    let gvk = |version: &str| json!({ "group": "autoscaling", "version": version, "kind": "HorizontalPodAutoscaler" });
    assert_eq!(asked["kind"], gvk("v1"));
    assert_eq!(asked["requestKind"], gvk("v2"));
    assert_eq!(asked["object"]["apiVersion"], "autoscaling/v1");
    assert_eq!(
        asked["object"]["spec"]["targetCPUUtilizationPercentage"],
        50
    );
    let exact = json!({
        "rules": rules("autoscaling", "v1", "horizontalpodautoscalers"), "matchPolicy": "Exact",
    });
    world
        .client
        .send("DELETE", &format!("{MUTATING}/m"), &[], "")
        .await;
    world.configure(MUTATING, "x", &exact).await;
    let mut other = scaler;
    other["metadata"]["name"] = "i".into();
    world.make(path, &other).await;
    assert_eq!(world.asked(), Vec::<Value>::new());
}

/// api-machinery.md §12/webhook-versions: events of both groups are the same objects.
#[tokio::test]
async fn an_event_of_one_group_is_shown_as_one_of_the_other() {
    let mut world = begin(says(json!({}))).await;
    let more = json!({ "rules": rules("events.k8s.io", "v1", "events") });
    world.configure(MUTATING, "m", &more).await;
    let change = json!([{ "op": "replace", "path": "/note", "value": "changed" }]);
    world.hook.now_says(says(patch(&change)));
    let event = json!({
        "metadata": { "name": "e", "namespace": "n" },
        "involvedObject": { "kind": "Pod", "namespace": "n", "name": "p" },
        "message": "sent", "reason": "R", "type": "Normal",
    });
    let made = world.make("/api/v1/namespaces/n/events", &event).await;
    assert_eq!(made["apiVersion"], "v1");
    assert_eq!(made["message"], "changed");
    let asked = world.asked().remove(0);
    assert_eq!(asked["resource"]["group"], "events.k8s.io");
    assert_eq!(asked["object"]["note"], "sent");
    assert_eq!(asked["object"]["regarding"]["name"], "p");
}

/// A webhook that converts and admits: `size` in v1 is `width` in v2.
fn both() -> Say {
    Box::new(|review| {
        if review["kind"] == "AdmissionReview" {
            let wide = json!([{ "op": "replace", "path": "/spec/width", "value": 8 }]);
            return Some(answer(&review, &patch(&wide)).into());
        }
        let request = &review["request"];
        let converted = request["objects"].as_array().unwrap().iter().map(|object| {
            let mut object = object.clone();
            object["apiVersion"] = request["desiredAPIVersion"].clone();
            let is_v2 = request["desiredAPIVersion"] == "ex.io/v2";
            let (from, to) = if is_v2 {
                ("size", "width")
            } else {
                ("width", "size")
            };
            let spec = object["spec"].as_object_mut().unwrap();
            let number = spec.remove(from).unwrap_or_default();
            spec.insert(to.to_owned(), number);
            object
        });
        let converted: Vec<Value> = converted.collect();
        let answer = json!({
            "apiVersion": review["apiVersion"], "kind": "ConversionReview",
            "response": {
                "uid": request["uid"], "result": { "status": "Success" },
                "convertedObjects": converted,
            },
        });
        Some(answer.into())
    })
}

fn widgets(hook: &Hook, authority: &str) -> Value {
    let version = |name: &str, field: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": {
                    field: { "type": "integer" }, "color": { "type": "string", "default": "red" },
                }},
            }}},
        })
    };
    json!({
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [version("v1", "size"), version("v2", "width")],
            "conversion": { "strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"],
                "clientConfig": { "url": hook.url, "caBundle": STANDARD.encode(authority) },
            }},
        },
    })
}

/// api-machinery.md §12/webhook-versions: custom resources are converted for the webhook and back.
#[tokio::test]
async fn a_custom_resource_is_converted_for_the_webhook_and_back() {
    let mut world = begin(both()).await;
    let crd = widgets(&world.hook, &world.hook.authority);
    world
        .make(
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            &crd,
        )
        .await;
    let more = json!({ "rules": rules("ex.io", "v2", "widgets") });
    world.configure(MUTATING, "m", &more).await;
    let widget = json!({
        "apiVersion": "ex.io/v1", "kind": "Widget",
        "metadata": { "name": "w" }, "spec": { "size": 1 },
    });
    let made = world
        .make("/apis/ex.io/v1/namespaces/n/widgets", &widget)
        .await;
    assert_eq!(made["apiVersion"], "ex.io/v1");
    assert_eq!(made["spec"], json!({ "size": 8, "color": "red" }));
    let asked = world.asked();
    let mut admission = asked.iter().filter(|asked| !asked["operation"].is_null());
    let spec = &admission.next().unwrap()["object"]["spec"];
    assert_eq!(*spec, json!({ "width": 1, "color": "red" }));
}
