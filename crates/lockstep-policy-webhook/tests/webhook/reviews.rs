//! Reviews of every kind: versions, deletions, bodies that are no reviews.

use serde_json::json;

use crate::world::{World, loaded, object, patch, response, review};

/// mutating-admission.md §3.8
#[tokio::test]
async fn a_review_is_answered_in_its_version_with_its_uid_and_a_patch() {
    let world = World::with_labels().await;
    for protocol in ["http/1.1", "h2"] {
        let mut client = world.client(protocol).await;
        for version in ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"] {
            let mut asked = review("a");
            asked["apiVersion"] = version.into();
            let answer = client.write("POST", "/mutate?timeout=10s", &asked).await;
            assert_eq!(answer.status, 200);
            assert_eq!(answer.header("content-type"), "application/json");
            assert_eq!(answer.json()["apiVersion"], version);
            let response = response(&answer);
            assert_eq!(
                (&response["uid"], &response["allowed"]),
                (&json!("u-1"), &json!(true))
            );
            let expected =
                json!([{ "op": "add", "path": "/metadata/labels", "value": { "team": "x" } }]);
            assert_eq!(patch(&response), expected);
        }
    }
    world.stop().await;
}

/// mutating-admission.md §4/60: an unchanged object has neither patch nor type of a patch.
#[tokio::test]
async fn an_unchanged_object_has_no_patch() {
    let world = World::with_labels().await;
    let mut client = world.client("http/1.1").await;
    let mut asked = review("a");
    asked["request"]["object"]["metadata"]["labels"] = json!({ "team": "x" });
    let answer = client.write("POST", "/mutate", &asked).await;
    let expected = json!({ "uid": "u-1", "allowed": true });
    let mut found = response(&answer);
    found.as_object_mut().unwrap().remove("auditAnnotations");
    assert_eq!(found, expected);
    // No policy is about this resource.
    asked["request"]["resource"]["resource"] = "secrets".into();
    asked["request"]["kind"]["kind"] = "Secret".into();
    let answer = client.write("POST", "/mutate", &asked).await;
    assert_eq!(response(&answer), expected);
    world.stop().await;
}

/// mutating-admission.md §3.8: denials have the status that the server's own policies give.
#[tokio::test]
async fn a_denial_has_code_reason_and_message() {
    let world = World::with_labels().await;
    let mut client = world.client("http/1.1").await;
    let answer = client.write("POST", "/validate", &review("bad")).await;
    let response = response(&answer);
    assert_eq!(response["allowed"], false);
    let status = &response["status"];
    assert_eq!(
        (&status["code"], &status["reason"]),
        (&json!(422), &json!("Invalid"))
    );
    let expected = "ValidatingAdmissionPolicy 'names' with binding 'names' denied request: failed expression: object.metadata.name != 'bad'";
    assert!(
        status["message"].as_str().unwrap().contains(expected),
        "{status}"
    );
    let metrics = client.get("/metrics").await;
    let expected = r#"lockstep_policy_webhook_reviews_total{phase="validate",verdict="denied"} 1"#;
    assert!(metrics.body.contains(expected), "{}", metrics.body);
    world.stop().await;
}

/// mutating-admission.md §3.8: deletions are allowed without a patch; validating policies see them.
#[tokio::test]
async fn a_deletion_is_not_mutated() {
    let world = World::with_labels().await;
    let mut client = world.client("http/1.1").await;
    let mut asked = review("bad");
    let request = asked["request"].as_object_mut().unwrap();
    let stored = request.insert("object".to_owned(), json!(null)).unwrap();
    request.insert("oldObject".to_owned(), stored);
    request.insert("operation".to_owned(), "DELETE".into());
    for path in ["/mutate", "/validate"] {
        let answer = client.write("POST", path, &asked).await;
        assert_eq!(response(&answer), json!({ "uid": "u-1", "allowed": true }));
    }
    world.stop().await;
}

/// mutating-admission.md §3.8: 400 for a bad body and an unknown version, 415 for another type of content. The
/// connection stays open.
#[tokio::test]
async fn bodies_that_are_no_reviews_are_refused_as_reviews_on_an_open_connection() {
    let world = World::with_labels().await;
    let mut client = world.client("http/1.1").await;
    let with = |path: &[&str], value: serde_json::Value| {
        let mut asked = review("a");
        let mut place = &mut asked;
        for name in path {
            place = &mut place[*name];
        }
        *place = value;
        asked.to_string()
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies = [
        (String::new(), "the body is not JSON"),
        ("{".to_owned(), "the body is not JSON"),
        (deep, "the body is not JSON"),
        ("[]".to_owned(), "no AdmissionReview"),
        (with(&["kind"], json!("Pod")), "no AdmissionReview"),
        (
            with(&["apiVersion"], json!("admission.k8s.io/v2")),
            "is unknown; known are",
        ),
        (with(&["request"], json!(null)), "has no request"),
        (with(&["request", "uid"], json!(null)), "uid is missing"),
        (with(&["request", "uid"], json!(7)), "uid is missing"),
        (
            with(&["request", "operation"], json!("PATCH")),
            "operation \"PATCH\" is unknown",
        ),
        (
            with(&["request", "operation"], json!([])),
            "operation is not a string",
        ),
        (
            with(&["request", "resource"], json!({})),
            "resource.version is missing",
        ),
        (
            with(&["request", "object"], json!("text")),
            "object is not an object",
        ),
        (
            with(&["request", "kind", "kind"], json!(1)),
            "kind.kind is missing",
        ),
    ];
    for (body, expected) in bodies {
        let json_body = [("content-type", "application/json; charset=utf-8")];
        let answer = client
            .send("POST", "/mutate", &json_body, body.clone())
            .await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.body);
        let response = response(&answer);
        assert_eq!(response["allowed"], false);
        let message = response["status"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    }
    for content_type in ["text/plain", "application/yaml", ""] {
        let headers = [("content-type", content_type)];
        let body = review("a").to_string();
        let answer = client.send("POST", "/mutate", &headers, body).await;
        assert_eq!(answer.status, 415);
        assert_eq!(response(&answer)["allowed"], false);
    }
    assert_eq!(client.get("/mutate").await.status, 405);
    assert_eq!(client.get("/nothing").await.status, 404);
    let answer = client.write("POST", "/mutate", &review("a")).await;
    assert_eq!(response(&answer)["allowed"], true);
    world.stop().await;
}

/// mutating-admission.md §3.8: rules match the resource of the objects, and that of the client.
#[tokio::test]
async fn fields_that_only_the_cluster_knows_survive_and_unknown_kinds_can_be_patched() {
    let world = World::start().await;
    let api = "admissionregistration.k8s.io/v1";
    let policy = |name: &str, mutation: serde_json::Value| {
        [
            object(json!({
                "apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": { "name": name },
                "spec": {
                    "matchConstraints": { "resourceRules": [{
                        "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                        "resources": ["*"],
                    }] },
                    "matchConditions": [{ "name": "only", "expression": format!("request.name == '{name}'") }],
                    "reinvocationPolicy": "Never",
                    "mutations": [mutation],
                },
            })),
            object(json!({
                "apiVersion": api, "kind": "MutatingAdmissionPolicyBinding",
                "metadata": { "name": name }, "spec": { "policyName": name },
            })),
        ]
    };
    let apply = json!({
        "patchType": "ApplyConfiguration",
        "applyConfiguration": { "expression": "Object{metadata: Object.metadata{labels: {\"a\": \"b\"}}}" },
    });
    let add = json!({
        "patchType": "JSONPatch",
        "jsonPatch": { "expression": "[JSONPatch{op: \"add\", path: \"/spec/new\", value: 1}]" },
    });
    let policies = [policy("apply", apply), policy("add", add)].concat();
    world.policies.replace(loaded(&policies));
    let mut client = world.client("http/1.1").await;
    let mut asked = review("apply");
    asked["request"]["object"]["newField"] = json!({ "of": "a newer version" });
    let answer = client.write("POST", "/mutate", &asked).await;
    let expected = json!([{ "op": "add", "path": "/metadata/labels", "value": { "a": "b" } }]);
    assert_eq!(patch(&response(&answer)), expected);

    let unknown = |name: &str| {
        let mut asked = review(name);
        let request = &mut asked["request"];
        request["kind"] = json!({ "group": "ex.io", "version": "v1", "kind": "Widget" });
        request["resource"] = json!({ "group": "ex.io", "version": "v1", "resource": "widgets" });
        request["object"] = json!({
            "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": { "name": name }, "spec": {},
        });
        asked
    };
    let answer = client.write("POST", "/mutate", &unknown("add")).await;
    let expected = json!([{ "op": "add", "path": "/spec/new", "value": 1 }]);
    assert_eq!(patch(&response(&answer)), expected);
    let answer = client.write("POST", "/mutate", &unknown("apply")).await;
    let message = response(&answer)["status"]["message"].clone();
    assert!(
        message.as_str().unwrap().contains("the kind has no schema"),
        "{message}"
    );
    world.stop().await;
}
