//! Writing, deleting, and what is stored.

use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use super::widgets::{CRD, V1, V2, brief, honest, in_v1, in_v2, liar, usual, widget};

#[tokio::test]
async fn objects_are_written_in_any_version_and_stored_in_one() {
    let mut world = usual().await;
    let made = world
        .client
        .write("POST", V2, &widget("v2", "a", "width", 3))
        .await;
    assert_eq!(
        (made.status.as_u16(), brief(&made.json())),
        (201, in_v2("a", 3))
    );
    assert_eq!(brief(&world.get(&format!("{V1}/a")).await), in_v1("a", 3));
    // Validation is by the version of the request.
    let wrong = world
        .client
        .write("POST", V2, &widget("v2", "b", "width", 101))
        .await;
    let (code, reason, message) = wrong.failure();
    assert_eq!((code, reason.as_str()), (422, "Invalid"));
    assert!(message.contains("spec.width"), "{message}");
    let a2 = format!("{V2}/a");
    let patched = world.patch(&a2, &json!({ "spec": { "width": 4 } })).await;
    assert_eq!(
        (patched.status.as_u16(), brief(&patched.json())),
        (200, in_v2("a", 4))
    );
    assert_eq!(patched.json()["metadata"]["generation"], 2);
    let status = json!({ "status": { "replicas": 7 } });
    let patched = world.patch(&format!("{V2}/a/status"), &status).await;
    assert_eq!(patched.json()["status"], status["status"]);
    let replicas = json!({ "spec": { "replicas": 5 } });
    let scaled = world.patch(&format!("{V2}/a/scale"), &replicas).await;
    assert_eq!(scaled.json()["spec"], json!({ "replicas": 5 }));
    let stored = world.get(&format!("{V1}/a")).await;
    assert_eq!(
        (brief(&stored), &stored["status"]),
        (in_v1("a", 5), &status["status"])
    );
    // A write without changes is skipped, so no conversion to the storage version is requested.
    let shown = world.get(&a2).await;
    world.calls();
    let put = world.client.write("PUT", &a2, &shown).await;
    assert_eq!((put.status.as_u16(), put.json()), (200, shown));
    assert_eq!(world.calls(), [1, 1], "read, and shown");
    // A rehearsal is converted like the real thing.
    let dry = format!("{V2}?dryRun=All");
    let dry = world
        .client
        .write("POST", &dry, &widget("v2", "c", "width", 9))
        .await;
    assert_eq!(
        (dry.status.as_u16(), brief(&dry.json())),
        (201, in_v2("c", 9))
    );
    assert_eq!(world.client.get(&format!("{V1}/c")).await.status, 404);
}

#[tokio::test]
async fn objects_that_nobody_can_convert_can_be_deleted() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    world.widget("b", 2).await;
    let b1 = format!("{V1}/b");
    let held = world
        .patch(
            &b1,
            &json!({ "metadata": { "finalizers": ["ex.io/held"] } }),
        )
        .await;
    // One that has to be shown has to be converted.
    let b2 = format!("{V2}/b");
    world
        .hook
        .now_says(liar(|r| r["convertedObjects"] = json!([])));
    let refused = world.client.send("DELETE", &b2, &[], "").await;
    assert_eq!(refused.status, 500);
    assert_eq!(world.get(&b1).await, held.json());
    let deleted = world
        .client
        .send("DELETE", &format!("{V2}/a"), &[], "")
        .await;
    assert_eq!(
        (deleted.status.as_u16(), &deleted.json()["status"]),
        (200, &json!("Success"))
    );
    world.hook.now_says(honest());
    let deleted = world.client.send("DELETE", &b2, &[], "").await;
    assert_eq!(
        (deleted.status.as_u16(), brief(&deleted.json())),
        (200, in_v2("b", 2))
    );
    assert!(deleted.json()["metadata"]["deletionTimestamp"].is_string());
    let released = world
        .patch(&b2, &json!({ "metadata": { "finalizers": null } }))
        .await;
    assert_eq!(released.status, 200, "{}", released.body);
    assert_eq!(world.client.get(&b1).await.status, 404);
    world.widget("c", 3).await;
    let all = world.client.send("DELETE", V2, &[], "").await;
    assert_eq!(brief(&all.json()["items"][0]), in_v2("c", 3));
    assert_eq!(world.get(V1).await["items"], json!([]));
}

#[tokio::test]
async fn objects_of_several_stored_versions_live_side_by_side() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    let switch = json!([
        { "op": "replace", "path": "/spec/versions/0/storage", "value": false },
        { "op": "replace", "path": "/spec/versions/1/storage", "value": true },
    ]);
    let json_patch = [("content-type", "application/json-patch+json")];
    let switched = world
        .client
        .send("PATCH", CRD, &json_patch, switch.to_string())
        .await;
    assert_eq!(
        switched.json()["status"]["storedVersions"],
        json!(["v1", "v2"])
    );
    let made = world
        .client
        .write("POST", V2, &widget("v2", "b", "width", 2))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    world.calls();
    let shown = |list: Value| -> Vec<Value> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(brief)
            .collect()
    };
    assert_eq!(
        shown(world.get(V2).await),
        [
            in_v2("a", 1),
            json!(["ex.io/v2", "b", null, { "width": 2, "two": "two" }])
        ]
    );
    assert_eq!(world.calls(), [1], "the one that is stored in v1");
    // An object stored in v2 has the defaults of v2, and gets no others when it is read.
    let of_v2 = |name, size| json!(["ex.io/v1", name, null, { "size": size }]);
    assert_eq!(shown(world.get(V1).await), [in_v1("a", 1), of_v2("b", 2)]);
    assert_eq!(world.calls(), [1], "the one that is stored in v2");
    // Any write stores an object in the version that is stored now, also one that changes nothing.
    let a1 = format!("{V1}/a");
    let before = world.get(&a1).await;
    let put = world.client.write("PUT", &a1, &before).await.json();
    assert_eq!(brief(&put), of_v2("a", 1));
    assert_ne!(
        put["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    let again = world.client.write("PUT", &a1, &put).await.json();
    assert_eq!(
        again["metadata"]["resourceVersion"],
        put["metadata"]["resourceVersion"]
    );
    world.calls();
    world.get(V2).await;
    assert_eq!(
        world.calls(),
        [0_usize; 0],
        "nothing is stored in v1 any more"
    );
    // Then the old version can be dropped.
    let mut crd = world.get(CRD).await;
    crd["status"]["storedVersions"] = json!(["v2"]);
    let dropped = world
        .client
        .write("PUT", &format!("{CRD}/status"), &crd)
        .await;
    assert_eq!(dropped.json()["status"]["storedVersions"], json!(["v2"]));
}

/// api-machinery.md §16/conversion: conversion webhooks are patched into CRDs that are there.
#[tokio::test]
async fn a_crd_uses_its_webhook_from_the_write_that_names_it() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    let a2 = format!("{V2}/a");
    let conversion = world.get(CRD).await["spec"]["conversion"].clone();
    let none = json!({ "spec": { "conversion": { "strategy": "None", "webhook": null } } });
    assert_eq!(world.patch(CRD, &none).await.status, 200);
    let shown = world.get(&a2).await;
    assert_eq!(brief(&shown), json!(["ex.io/v2", "a", null, {}]));
    let mut other = json!({ "spec": { "conversion": conversion } });
    let bundle = &mut other["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"];
    let right = std::mem::replace(bundle, "bm8gY2VydGlmaWNhdGU=".into());
    let refused = world.patch(CRD, &other).await.failure();
    assert_eq!(
        refused.2,
        "CustomResourceDefinition.apiextensions.k8s.io \"widgets.ex.io\" is invalid: \
         spec.conversion.webhookClientConfig.caBundle: Invalid value: \"bm8gY2VydGlmaWNhdGU=\": \
         unable to load root certificates: unable to parse bytes as PEM block"
    );
    assert_eq!(world.calls(), [0_usize; 0]);
    other["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] = right;
    assert_eq!(world.patch(CRD, &other).await.status, 200);
    assert_eq!(brief(&world.get(&a2).await), in_v2("a", 1));
    assert_eq!(world.hook.connections(), 1);
}

#[tokio::test]
async fn a_crd_goes_with_its_objects_and_asks_no_webhook() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    world.hook.now_says(Box::new(|_| None));
    assert_eq!(world.client.send("DELETE", CRD, &[], "").await.status, 200);
    let is_gone = |answer: &Answer| answer.status == 404;
    world.client.get_until(CRD, is_gone).await;
    assert_eq!(world.calls(), [0_usize; 0]);
}

/// §10/A15: conflicts are detected across versions, by converting managedFields entries of another version.
#[tokio::test]
async fn claims_are_those_of_the_version_they_were_made_in() {
    let mut world = usual().await;
    let a = widget("v1", "a", "size", 3);
    let path = format!("{V1}?fieldManager=maker");
    assert_eq!(world.client.write("POST", &path, &a).await.status, 201);
    let wish = json!({
        "apiVersion": "ex.io/v2", "kind": "Widget", "metadata": {"name": "a"}, "spec": {"width": 4},
    });
    let apply = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{V2}/a?fieldManager=m");
    let refused = world
        .client
        .send("PATCH", &path, &apply, wish.to_string())
        .await;
    let (code, reason, message) = refused.failure();
    assert_eq!((code, reason.as_str()), (409, "Conflict"));
    let expected = "conflict with \"maker\" using ex.io/v1: .spec.size";
    assert!(message.contains(expected), "{message}");
    let forced = format!("{path}&force=true");
    let taken = world
        .client
        .send("PATCH", &forced, &apply, wish.to_string())
        .await;
    assert_eq!(brief(&taken.json()), in_v2("a", 4));
    let owners = |object: &Value| -> Vec<Value> {
        let entries = object["metadata"]["managedFields"]
            .as_array()
            .unwrap()
            .iter();
        entries
            .map(|entry| {
                json!([
                    entry["manager"],
                    entry["apiVersion"],
                    entry["fieldsV1"]["f:spec"]
                ])
            })
            .collect()
    };
    assert_eq!(
        owners(&world.get(&format!("{V1}/a")).await),
        [
            json!(["m", "ex.io/v2", {"f:width": {}}]),
            json!(["maker", "ex.io/v1", {".": {}, "f:one": {}}]),
        ]
    );
    // Applying an unchanged configuration again calls the webhook and writes nothing.
    let again = world
        .client
        .send("PATCH", &path, &apply, wish.to_string())
        .await;
    assert_eq!(again.json(), taken.json());
}
