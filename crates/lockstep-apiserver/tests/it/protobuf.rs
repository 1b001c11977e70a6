//! Bodies of built-in kinds as protobuf: api-machinery.md T1, T15, §3.2.

use lockstep_kinds::{Table, proto};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::server::{Setup, TestServer};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// An object as clients of Go send it.
fn message(api_version: &str, kind: &str, object: &Value) -> Vec<u8> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    proto::wrap(api_version, kind, &raw(group, version, kind, object))
}

/// The same without its envelope.
fn raw(group: &str, version: &str, kind: &str, object: &Value) -> Vec<u8> {
    let table = Table::builtin();
    let id = table.kind(group, version, kind).unwrap();
    proto::encode(table, id, object.as_object().unwrap()).unwrap()
}

async fn send(client: &mut Client, method: &str, path: &str, body: Vec<u8>) -> Answer {
    client
        .send(method, path, &[("content-type", PROTOBUF)], body)
        .await
}

async fn client() -> (TestServer, Client) {
    let server = TestServer::with(Setup::own()).await;
    let client = server.client(Some(server.admin())).await;
    (server, client)
}

#[tokio::test]
async fn a_message_is_created_updated_and_deleted_like_json() {
    let (_server, mut client) = client().await;
    let path = "/api/v1/namespaces/default/secrets";
    let secret =
        json!({"metadata": {"name": "s", "labels": {"owner": "helm"}}, "data": {"k": "AP8="}});
    let made = send(&mut client, "POST", path, message("v1", "Secret", &secret)).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let made = made.json();
    assert_eq!(made["data"], json!({"k": "AP8="}));
    assert_eq!(made["type"], "Opaque");
    assert_eq!(made.get("immutable"), None);

    let lease = json!({"metadata": {"name": "l"}, "spec": {
        "holderIdentity": "", "leaseTransitions": 0, "renewTime": "2026-11-16T02:11:06.123456Z"}});
    let lease = message("coordination.k8s.io/v1", "Lease", &lease);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let made = send(&mut client, "PUT", leases, lease).await.json();
    let spec = json!({"holderIdentity": "", "leaseTransitions": 0, "renewTime": "2026-11-16T02:11:06.123456Z"});
    assert_eq!(made["spec"], spec, "pointers keep zero");

    let options = json!({"preconditions": {"uid": "other"}});
    let path = format!("{path}/s");
    let kept = send(
        &mut client,
        "DELETE",
        &path,
        message("v1", "DeleteOptions", &options),
    )
    .await;
    assert_eq!(kept.failure().0, 409);
    let options = json!({"propagationPolicy": "Background"});
    // Clients name the version of the group that they delete from, or none.
    let raw = raw("", "v1", "DeleteOptions", &options);
    let gone = send(
        &mut client,
        "DELETE",
        &path,
        proto::wrap("apps/v1", "DeleteOptions", &raw),
    )
    .await;
    assert_eq!(gone.json()["status"], "Success", "{}", gone.body);
}

#[tokio::test]
async fn a_review_may_be_a_message() {
    let (_server, mut client) = client().await;
    let review = json!({"spec": {"user": "nobody", "extra": {"k": ["a", "b"]},
        "resourceAttributes": {"verb": "get", "resource": "pods"}}});
    let review = message("authorization.k8s.io/v1", "SubjectAccessReview", &review);
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    let answer = send(&mut client, "POST", path, review).await.json();
    assert_eq!(answer["spec"]["extra"], json!({"k": ["a", "b"]}));
    assert_eq!(answer["status"]["allowed"], false);
}

#[tokio::test]
async fn a_kind_that_is_not_told_is_the_one_of_the_path() {
    let (_server, mut client) = client().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let object = json!({"metadata": {"name": "a"}, "data": {"k": "v"}});
    let raw = raw("", "v1", "ConfigMap", &object);
    let made = send(&mut client, "POST", path, proto::wrap("", "", &raw))
        .await
        .json();
    assert_eq!(made["data"], json!({"k": "v"}));
    assert_eq!(made["kind"], "ConfigMap");
}

#[tokio::test]
async fn what_is_no_message_of_the_kind_is_told_why() {
    let (_server, mut client) = client().await;
    let path = "/api/v1/namespaces/default/configmaps";
    let secret = message(
        "v1",
        "Secret",
        &json!({"metadata": {"name": "a"}, "type": "x"}),
    );
    let config_map = message("v1", "ConfigMap", &json!({"metadata": {"name": "a"}}));
    let cut = config_map[..config_map.len() - 12].to_vec();
    let rows: [(Vec<u8>, &str); 5] = [
        (
            b"{}".to_vec(),
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
        ),
        (Vec::new(), "empty data"),
        (cut, "unexpected EOF"),
        (
            secret,
            "Secret in version \"v1\" cannot be handled as a ConfigMap",
        ),
        (
            proto::wrap("v1", "ConfigMap", &[8, 1]),
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: proto: wrong wireType = 0 for field metadata",
        ),
    ];
    for (body, expected) in rows {
        let (code, reason, told) = send(&mut client, "POST", path, body).await.failure();
        assert_eq!((code, reason.as_str()), (400, "BadRequest"), "{told}");
        assert!(told.contains(expected), "{told}");
    }
}

/// T15
#[tokio::test]
async fn custom_resources_have_no_messages() {
    let (_server, mut client) = client().await;
    let crd = json!({"metadata": {"name": "widgets.ex.io"}, "spec": {"group": "ex.io", "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
                "x-kubernetes-preserve-unknown-fields": true}}}}}]}});
    let crd = message("apiextensions.k8s.io/v1", "CustomResourceDefinition", &crd);
    let made = send(
        &mut client,
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        crd,
    )
    .await;
    assert_eq!(made.status, 201, "{}", made.body);
    let body = proto::wrap("ex.io/v1", "Widget", b"");
    let (code, reason, told) = send(&mut client, "POST", "/apis/ex.io/v1/widgets", body)
        .await
        .failure();
    assert_eq!((code, reason.as_str()), (415, "UnsupportedMediaType"));
    assert_eq!(
        told,
        "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml"
    );
}
