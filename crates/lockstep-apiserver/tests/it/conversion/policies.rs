//! Policies on another version of a custom resource than the client's.

use serde_json::{Value, json};

use super::widgets::{V1, V2, usual};
use crate::policies::objects::{applies, mutating, validating};

/// mutating-admission.md §2.2, §2.11/D2: the object is converted to the version of each policy at its turn, by the
/// conversion webhook.
#[tokio::test]
async fn policies_on_two_versions_change_one_object() {
    let mut world = usual().await;
    let grow = "Object{spec: Object.spec{width: object.spec.width + 1}}";
    let grows = mutating(
        "a",
        ["ex.io", "v2", "widgets"],
        [applies(grow)],
        &Value::Null,
    );
    world.mutates(&grows).await;
    let double = "Object{spec: Object.spec{size: object.spec.size * 2}}";
    let doubles = mutating(
        "b",
        ["ex.io", "v1", "widgets"],
        [applies(double)],
        &Value::Null,
    );
    world.mutates(&doubles).await;
    world
        .validates(&validating(
            "v",
            ["ex.io", "v2", "widgets"],
            "object == null || object.spec.width < 50",
        ))
        .await;
    let made = world.widget("w", 4).await;
    assert_eq!(made["apiVersion"], "ex.io/v1");
    assert_eq!(made["spec"]["size"], 10);
    let in_v2 = world.get(&format!("{V2}/w")).await;
    assert_eq!(in_v2["spec"]["width"], 10);
    let large = json!({
        "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": "x" }, "spec": { "size": 40 },
    });
    let refused = world.client.write("POST", V1, &large).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    assert_eq!(world.delete(&format!("{V1}/w")).await.status, 200);
}

/// mutating-admission.md §2.3: parameters are converted to the version that the policy names.
#[tokio::test]
async fn parameters_are_converted_by_their_webhook() {
    let mut world = usual().await;
    world.widget("param", 7).await;
    let expression = "Object{data: {'width': string(params.spec.width)}}";
    let changes = json!({ "paramKind": { "apiVersion": "ex.io/v2", "kind": "Widget" } });
    let policy = mutating(
        "p",
        ["", "v1", "configmaps"],
        [applies(expression)],
        &changes,
    );
    world
        .make(crate::policies::objects::MUTATING, &policy)
        .await;
    let spec = json!({
        "policyName": "p", "paramRef": { "name": "param", "parameterNotFoundAction": "Deny" },
    });
    let binding = json!({ "metadata": { "name": "p" }, "spec": spec });
    world
        .make(crate::policies::objects::MUTATING_BINDINGS, &binding)
        .await;
    let path = crate::policies::objects::MAPS;
    let made = world
        .make(path, &json!({ "metadata": { "name": "m" } }))
        .await;
    assert_eq!(made["data"], json!({ "width": "7" }));
}
