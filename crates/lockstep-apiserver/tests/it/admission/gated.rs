//! Webhooks on writes that field gates change.

use serde_json::{Value, json};

use super::review::{MUTATING, VALIDATING, begin_with, says};
use crate::server::Setup;

const WIDGETS: &str = "/apis/ex.io/v1/namespaces/n/widgets";

/// A CRD whose replicas are gated.
fn widgets(is_gate_open: bool) -> Value {
    let number = json!({"type": "object", "properties": {"replicas": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": number, "status": number}});
    let gate = json!({
        "name": "R", "preRelease": "alpha", "enabled": is_gate_open, "fieldPaths": [".spec.replicas"],
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"scale": {
                    "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                }},
            }],
            "customFeatureGates": {"featureGates": [gate]},
        },
    })
}

/// field-gates.md §9/scale, api-machinery.md §12/webhook-order: mutating webhooks see the replicas that were requested,
/// validating ones those that are stored.
#[tokio::test]
async fn a_validating_webhook_sees_a_scale_as_closed_gates_leave_it() {
    let setup = Setup {
        gates: "CRDFieldLevelVersioning=true",
        controllers: "",
        ..Setup::own()
    };
    let mut world = begin_with(setup, says(json!({}))).await;
    let defined = world.define(&widgets(true)).await;
    assert_eq!(defined.status, 201, "{}", defined.body);
    let widget = json!({
        "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"replicas": 3},
    });
    world.make(WIDGETS, &widget).await;
    let closed = world.define(&widgets(false)).await;
    assert_eq!(closed.status, 200, "{}", closed.body);
    let rules = json!([{
        "operations": ["*"], "apiGroups": ["ex.io"], "apiVersions": ["v1"], "resources": ["widgets/scale"],
    }]);
    for configurations in [MUTATING, VALIDATING] {
        let changes = json!({"rules": rules});
        world.configure(configurations, "scales", &changes).await;
    }
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "w", "namespace": "n"},
        "spec": {"replicas": 8},
    });
    for (method, media_type, query) in [
        ("PUT", "application/json", ""),
        ("PATCH", "application/merge-patch+json", ""),
        (
            "PATCH",
            "application/apply-patch+yaml",
            "?fieldManager=a&force=true",
        ),
    ] {
        let path = format!("{WIDGETS}/w/scale{query}");
        let headers = [("content-type", media_type)];
        let body = scale.to_string();
        let answer = world.client.send(method, &path, &headers, body).await;
        let replicas = |object: &Value| object["spec"]["replicas"].clone();
        let seen: Vec<_> = world
            .asked()
            .iter()
            .map(|review| replicas(&review["object"]))
            .collect();
        assert_eq!(
            (answer.status.as_u16(), replicas(&answer.json()), seen),
            (200, json!(3), vec![json!(8), json!(3)]),
            "{method} {media_type}"
        );
    }
}
