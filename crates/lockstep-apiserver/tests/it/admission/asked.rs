//! `AdmissionReview` requests: the operations and objects that reach webhooks, and the content of the requests.

use serde_json::{Value, json};

use super::review::{MAPS, MUTATING, VALIDATING, begin, begin_with, says};
use crate::server::Setup;

/// Everything below the selected namespace, and all parts.
fn everything() -> Value {
    json!({ "rules": [{
        "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"],
    }]})
}

/// api-machinery.md §12/webhook-answers: the question, whole.
#[tokio::test]
async fn a_webhook_is_told_who_does_what_to_which_object() {
    let mut world = begin(says(json!({}))).await;
    world.configure(MUTATING, "m", &json!({})).await;
    world.configure(VALIDATING, "v", &json!({})).await;
    let path = format!("{MAPS}?fieldManager=me&dryRun=All&fieldValidation=Strict");
    let map = json!({ "metadata": { "generateName": "g-" }, "data": { "a": "1" } });
    let made = world.client.write("POST", &path, &map).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let mut asked = world.asked();
    assert_eq!(asked.len(), 2);
    let stored = asked[1]["object"]["metadata"].take();
    assert_ne!(stored["uid"], Value::Null);
    assert_eq!(stored["name"], made.json()["metadata"]["name"]);
    let mut first = asked.remove(0);
    let extra = first["userInfo"].as_object_mut().unwrap().remove("extra");
    assert!(extra.unwrap()["authentication.kubernetes.io/credential-id"].is_array());
    assert_ne!(first["uid"].take(), Value::Null);
    let time = first["object"]["metadata"]["managedFields"][0]["time"].take();
    assert_ne!(time, Value::Null);
    let kind = json!({ "group": "", "version": "v1", "kind": "ConfigMap" });
    let resource = json!({ "group": "", "version": "v1", "resource": "configmaps" });
    let managed = json!([{
        "manager": "me", "operation": "Update", "apiVersion": "v1", "time": null,
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:data": { ".": {}, "f:a": {} },
            "f:metadata": { "f:generateName": {} },
        },
    }]);
    let expected = json!({
        "uid": null,
        "kind": kind, "resource": resource,
        "requestKind": kind, "requestResource": resource,
        "namespace": "n",
        "operation": "CREATE",
        "userInfo": {
            "username": "kubernetes-admin",
            "groups": ["system:masters", "system:authenticated"],
        },
        "object": {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "generateName": "g-", "namespace": "n", "managedFields": managed },
            "data": { "a": "1" },
        },
        "oldObject": null,
        "dryRun": true,
        "options": {
            "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
            "dryRun": ["All"], "fieldManager": "me", "fieldValidation": "Strict",
        },
    });
    assert_eq!(first, expected);
}

/// api-machinery.md §12/webhook-rules: every kind of write, and parts of objects by their own kinds.
#[tokio::test]
async fn every_write_is_asked_about_and_no_read() {
    let mut world = begin_with(
        Setup {
            controllers: "",
            ..Setup::own()
        },
        says(json!({})),
    )
    .await;
    world
        .make(
            "/api/v1/namespaces/n/serviceaccounts",
            &json!({ "metadata": { "name": "default" } }),
        )
        .await;
    world.configure(VALIDATING, "v", &everything()).await;
    let merge = [("content-type", "application/merge-patch+json")];
    let apply = [("content-type", "application/apply-patch+yaml")];
    world.make_map("a").await;
    world.client.get(&format!("{MAPS}/a")).await;
    let changed = json!({ "metadata": { "name": "a" }, "data": { "a": "2" } });
    world
        .client
        .write("PUT", &format!("{MAPS}/a"), &changed)
        .await;
    let patch = r#"{"data":{"a":"3"}}"#.to_owned();
    world
        .client
        .send("PATCH", &format!("{MAPS}/a"), &merge, patch)
        .await;
    let wish = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}"#.to_owned();
    let applied = format!("{MAPS}/b?fieldManager=me");
    world.client.send("PATCH", &applied, &apply, wish).await;
    world
        .client
        .send("DELETE", &format!("{MAPS}/a"), &[], "")
        .await;
    world.make_map("c").await;
    world.client.send("DELETE", MAPS, &[], "").await;
    let expected = [
        "CREATE configmaps a ConfigMap new+ old- CreateOptions",
        "UPDATE configmaps a ConfigMap new+ old+ UpdateOptions",
        "UPDATE configmaps a ConfigMap new+ old+ UpdateOptions",
        "CREATE configmaps b ConfigMap new+ old- CreateOptions",
        "DELETE configmaps a ConfigMap new- old+ DeleteOptions",
        "CREATE configmaps c ConfigMap new+ old- CreateOptions",
        "DELETE configmaps  ConfigMap new- old+ DeleteOptions",
        "DELETE configmaps  ConfigMap new- old+ DeleteOptions",
    ];
    assert_eq!(world.deeds(), expected);
    let pods = "/api/v1/namespaces/n/pods";
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
    });
    world.make(pods, &pod).await;
    let status = r#"{"status":{"phase":"Running"}}"#.to_owned();
    world
        .client
        .send("PATCH", &format!("{pods}/p/status"), &merge, status)
        .await;
    let binding = json!({ "metadata": { "name": "p" }, "target": { "name": "node" } });
    world.make(&format!("{pods}/p/binding"), &binding).await;
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "p" },
        "deleteOptions": { "gracePeriodSeconds": 0 },
    });
    world.make(&format!("{pods}/p/eviction"), &eviction).await;
    let token = "/api/v1/namespaces/n/serviceaccounts/default/token";
    world.make(token, &json!({ "spec": {} })).await;
    let controllers = "/api/v1/namespaces/n/replicationcontrollers";
    let controller = json!({
        "metadata": { "name": "r" },
        "spec": { "selector": { "a": "b" }, "template": {
            "metadata": { "labels": { "a": "b" } },
            "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
        }},
    });
    world.make(controllers, &controller).await;
    let scale = r#"{"spec":{"replicas":3}}"#.to_owned();
    world
        .client
        .send("PATCH", &format!("{controllers}/r/scale"), &merge, scale)
        .await;
    let expected = [
        "CREATE pods p Pod new+ old- CreateOptions",
        "UPDATE pods/status p Pod new+ old+ UpdateOptions",
        "CREATE pods/binding p Binding new+ old- CreateOptions",
        "CREATE pods/eviction p Eviction new+ old- CreateOptions",
        "CREATE serviceaccounts/token default TokenRequest new+ old- CreateOptions",
        "CREATE replicationcontrollers r ReplicationController new+ old- CreateOptions",
        "UPDATE replicationcontrollers/scale r Scale new+ old+ UpdateOptions",
    ];
    assert_eq!(world.deeds(), expected);
}

/// api-machinery.md §12/webhook-rules: selectors of namespaces, which for a namespace are about its
/// own labels, and of objects, new or old.
#[tokio::test]
async fn selectors_decide_by_labels_of_the_namespace_and_of_both_objects() {
    let mut world = begin(says(json!({}))).await;
    let more = json!({
        "rules": [{
            "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"],
            "resources": ["configmaps", "namespaces"],
        }],
        "objectSelector": { "matchLabels": { "seen": "yes" } },
    });
    world.configure(VALIDATING, "v", &more).await;
    let map = |labels: Value| json!({ "metadata": { "name": "a", "labels": labels } });
    world.make(MAPS, &map(json!({}))).await;
    for (labels, expected) in [
        (json!({ "seen": "yes" }), 1),
        (json!({ "seen": "no" }), 1),
        (json!({ "seen": "no", "more": "" }), 0),
    ] {
        let path = format!("{MAPS}/a");
        let put = world.client.write("PUT", &path, &map(labels.clone())).await;
        assert_eq!(put.status, 200, "{}", put.body);
        assert_eq!(world.asked().len(), expected, "{labels}");
    }
    let elsewhere = "/api/v1/namespaces/default/configmaps";
    world.make(elsewhere, &map(json!({ "seen": "yes" }))).await;
    assert_eq!(world.deeds(), Vec::<String>::new());
    for (name, labels) in [
        ("x", json!({ "seen": "yes" })),
        ("y", json!({ "seen": "yes", "asked": "yes" })),
    ] {
        let namespace = json!({ "metadata": { "name": name, "labels": labels } });
        world.make("/api/v1/namespaces", &namespace).await;
    }
    let expected = ["CREATE namespaces y Namespace new+ old- CreateOptions"];
    assert_eq!(world.deeds(), expected);
}

/// api-machinery.md §12/webhook-conditions: with the rights of the user, and by failure policy.
#[tokio::test]
async fn conditions_decide_who_is_asked_and_what_cannot_be_decided_is_a_failure() {
    let mut world = begin(says(json!({}))).await;
    let expression = |text: &str| json!([{ "name": "c", "expression": text }]);
    let error = "object.data.b == '1'";
    let refused = format!(
        "configmaps \"a\" is forbidden: expression '{error}' resulted in error: no such key: b"
    );
    let rows = [
        ("object.data.a == '1'", "Fail", 1, None),
        ("object.data.a == '2'", "Fail", 0, None),
        (
            "request.namespace == 'n' && oldObject == null",
            "Fail",
            1,
            None,
        ),
        (
            "authorizer.group('').resource('x').check('y').allowed()",
            "Fail",
            1,
            None,
        ),
        (error, "Ignore", 0, None),
        (error, "Fail", 0, Some(refused)),
    ];
    for path in [MUTATING, VALIDATING] {
        for (text, policy, calls, refused) in &rows {
            let more = json!({ "matchConditions": expression(text), "failurePolicy": policy });
            world.configure(path, "x", &more).await;
            let made = world.make_map("a").await;
            match refused {
                None => assert_eq!(made.status, 201, "{text} {}", made.body),
                Some(refused) => assert_eq!(made.failure().2, *refused, "{text}"),
            }
            assert_eq!(world.asked().len(), *calls, "{text}");
            world
                .client
                .send("DELETE", &format!("{path}/x"), &[], "")
                .await;
            world
                .client
                .send("DELETE", &format!("{MAPS}/a"), &[], "")
                .await;
        }
    }
}

/// api-machinery.md §12/webhook-configurations: in force when the write is answered, and never in
/// its own way.
#[tokio::test]
async fn a_configuration_is_in_force_at_once_and_can_always_be_taken_back() {
    let mut world = begin(says(json!({ "allowed": false }))).await;
    for round in 0..3 {
        let mut more = everything();
        more["namespaceSelector"] = json!({});
        world.configure(VALIDATING, "v", &more).await;
        let refused = world.make_map(&format!("a{round}")).await;
        assert_eq!(refused.status, 400, "{}", refused.body);
        let path = format!("{VALIDATING}/v");
        let gone = world.client.send("DELETE", &path, &[], "").await;
        assert_eq!(gone.status, 200, "{}", gone.body);
        let made = world.make_map(&format!("a{round}")).await;
        assert_eq!(made.status, 201, "{}", made.body);
    }
    let asked = world.deeds();
    let of_admission = asked
        .iter()
        .filter(|deed| deed.contains("webhookconfigurations"));
    assert_eq!(of_admission.count(), 0, "{asked:?}");
}

/// api-machinery.md §12/webhook-order: validating webhooks are called in parallel; in sequence the first
/// would wait for the second in vain.
#[tokio::test]
async fn validating_webhooks_are_asked_at_the_same_time() {
    let mut world = begin(says(json!({}))).await;
    for name in ["a", "b"] {
        let more = json!({ "name": format!("{name}.b.io") });
        world.configure(VALIDATING, name, &more).await;
    }
    world.hook.now_waits_for(2);
    let made = world.make_map("m").await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert_eq!(world.asked().len(), 2);
}

/// api-machinery.md §12/webhook-answers: the question is of the first version that both know.
#[tokio::test]
async fn a_webhook_is_asked_in_a_version_that_it_knows() {
    let mut world = begin(says(json!({}))).await;
    for (versions, expected) in [
        (json!(["v1beta1"]), "admission.k8s.io/v1beta1"),
        (json!(["v7", "v1beta1", "v1"]), "admission.k8s.io/v1beta1"),
        (json!(["v1", "v1beta1"]), "admission.k8s.io/v1"),
    ] {
        let more = json!({ "admissionReviewVersions": versions });
        world.configure(MUTATING, "m", &more).await;
        let made = world.make_map("a").await;
        assert_eq!(made.status, 201, "{}", made.body);
        let asked = world.hook.asked();
        let versions: Vec<&Value> = asked
            .iter()
            .map(|(_, review)| &review["apiVersion"])
            .collect();
        assert_eq!(versions, [expected]);
        for path in [format!("{MUTATING}/m"), format!("{MAPS}/a")] {
            let gone = world.client.send("DELETE", &path, &[], "").await;
            assert_eq!(gone.status, 200, "{}", gone.body);
        }
        world.asked();
    }
}

/// api-machinery.md §12/webhook-rules: a subresource of a namespace is selected by the labels that are stored,
/// not by those that the request brings.
#[tokio::test]
async fn the_stored_labels_of_a_namespace_select_writes_of_its_subresources() {
    let mut world = begin(says(json!({}))).await;
    let rules = json!([{
        "operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["namespaces", "namespaces/status"],
    }]);
    world
        .configure(MUTATING, "m", &json!({ "rules": rules }))
        .await;
    let unlabelled = json!({ "metadata": { "labels": { "asked": "no" } } });
    let path = "/api/v1/namespaces/n";
    let answer = world.patch(&format!("{path}/status"), &unlabelled).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let asked = ["UPDATE namespaces/status n Namespace new+ old+ UpdateOptions"];
    assert_eq!(world.deeds(), asked);
    let labelled = json!({ "metadata": { "labels": { "asked": "yes" } } });
    assert_eq!(world.patch(path, &labelled).await.status, 200);
    let asked = ["UPDATE namespaces n Namespace new+ old+ UpdateOptions"];
    assert_eq!(world.deeds(), asked);
}
