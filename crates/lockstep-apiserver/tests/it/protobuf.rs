//! Built-in kinds as protobuf, both ways: api-machinery.md T1, T15, §3, §3.2.

use http_body_util::BodyExt as _;
use lockstep_kinds::proto::Envelope;
use lockstep_kinds::{Table, proto, typed};
use lockstep_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// An object as clients of Go send it.
fn message(api_version: &str, kind: &str, object: &Value) -> Vec<u8> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    proto::wrap(api_version, kind, &raw(group, version, kind, object))
}

/// Encodes an object as protobuf without the `runtime.Unknown` envelope.
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

/// §3.2/bodies, §0/T1.
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

/// §3.2/bodies.
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

/// §3.2/envelope.
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

/// §0/T15
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

/// Decodes a protobuf response to JSON, with apiVersion and kind.
fn read(bytes: &[u8]) -> Value {
    let envelope = Envelope::open(bytes).unwrap();
    let version = envelope.api_version.trim_start_matches("meta.k8s.io/");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let table = Table::builtin();
    let id = table.kind(group, version, envelope.kind).unwrap();
    let mut object = proto::decode(table, id, envelope.raw).unwrap();
    typed::read(table, id, &mut object, &mut Vec::new()).unwrap();
    object.insert("kind".into(), envelope.kind.into());
    object.insert("apiVersion".into(), envelope.api_version.into());
    let mut object = Value::Object(object);
    let mut items: Vec<&mut Value> = match object.get_mut("items") {
        Some(items) => items.as_array_mut().unwrap().iter_mut().collect(),
        None => vec![&mut object],
    };
    for item in &mut items {
        // An empty text and none are the same in a message.
        let managed = item["metadata"].get_mut("managedFields");
        for entry in managed.and_then(Value::as_array_mut).into_iter().flatten() {
            entry
                .as_object_mut()
                .unwrap()
                .retain(|_, value| *value != json!(""));
        }
    }
    object
}

/// The answer to those who take nothing but protobuf: code, media type, and what it says.
async fn ask(client: &mut Client, path: &str, accept: &str) -> (u16, String, Value) {
    let (parts, body) = client
        .send_raw("GET", path, &[("accept", accept)], "")
        .await;
    let media_type = parts.headers["content-type"].to_str().unwrap();
    (parts.status.as_u16(), media_type.to_owned(), read(&body))
}

/// §3/protobuf: alone on a built-in, its lists, Status.
#[tokio::test]
async fn those_who_take_nothing_else_are_answered_in_protobuf() {
    let (_server, mut client) = client().await;
    let path = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s", "labels": {"a": "b"}}, "data": {"k": "AP8="}});
    let made = client.write("POST", path, &secret).await.json();
    let (code, media_type, got) = ask(&mut client, &format!("{path}/s"), PROTOBUF).await;
    assert_eq!((code, media_type.as_str(), &got), (200, PROTOBUF, &made));

    let (_, _, list) = ask(&mut client, path, PROTOBUF).await;
    assert_eq!(list["kind"], "SecretList");
    let mut item = made.clone();
    for name in ["kind", "apiVersion"] {
        item.as_object_mut().unwrap().remove(name);
    }
    assert_eq!(list["items"], json!([item]));

    let (code, media_type, status) = ask(&mut client, &format!("{path}/none"), PROTOBUF).await;
    assert_eq!((code, media_type.as_str()), (404, PROTOBUF));
    assert_eq!(status["reason"], "NotFound");
    assert_eq!(
        status["details"],
        json!({"name": "none", "kind": "secrets"})
    );

    let metadata = format!("{PROTOBUF};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
    let (_, _, list) = ask(&mut client, path, &metadata).await;
    assert_eq!(list["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(list["items"][0]["metadata"], made["metadata"]);
    assert_eq!(list["items"][0].get("data"), None);

    // JSON wherever it will do.
    let either = [("accept", "application/vnd.kubernetes.protobuf, */*")];
    let answer = client.send("GET", path, &either, "").await;
    assert_eq!(answer.header("content-type"), "application/json");
}

/// One frame: its length, the type of the event, and the object.
async fn frame(body: &mut hyper::body::Incoming) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        if let Some((length, rest)) = bytes.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            if rest.len() >= length {
                assert_eq!(rest.len(), length, "one event at a time");
                return event(rest);
            }
        }
        let frame = body.frame().await.unwrap().unwrap();
        bytes.extend_from_slice(&frame.into_data().unwrap());
    }
}

fn event(bytes: &[u8]) -> (String, Value) {
    #[derive(Clone, PartialEq, prost::Message)]
    struct WatchEvent {
        #[prost(string, tag = "1")]
        kind: String,
        #[prost(message, optional, tag = "2")]
        object: Option<Raw>,
    }
    #[derive(Clone, PartialEq, prost::Message)]
    struct Raw {
        #[prost(bytes = "vec", tag = "1")]
        raw: Vec<u8>,
    }
    let event: WatchEvent = prost::Message::decode(bytes).unwrap();
    (event.kind, read(&event.object.unwrap().raw))
}

/// §3.2/frames.
#[tokio::test]
async fn a_watch_in_protobuf_is_a_stream_of_frames() {
    let (_server, mut client) = client().await;
    let path = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s"}, "data": {"k": "AP8="}});
    let made = client.write("POST", path, &secret).await.json();
    let accept = [("accept", "application/vnd.kubernetes.protobuf;stream=watch")];
    let watch = format!("{path}?watch=true");
    let opened = client
        .open("GET", &watch, &accept, bytes::Bytes::new())
        .await
        .unwrap();
    let media_type = "application/vnd.kubernetes.protobuf;stream=watch";
    assert_eq!(opened.headers()["content-type"], media_type);
    let mut body = opened.into_body();
    assert_eq!(frame(&mut body).await, ("ADDED".to_owned(), made));
    let gone = client.send("DELETE", &format!("{path}/s"), &[], "").await;
    assert_eq!(gone.status, 200);
    let (kind, object) = frame(&mut body).await;
    assert_eq!(
        (kind.as_str(), &object["data"]),
        ("DELETED", &json!({"k": "AP8="}))
    );
}

/// §3/protobuf-custom: alone on a CR is refused, in protobuf; its metadata is not.
#[tokio::test]
async fn custom_resources_are_shown_in_protobuf_only_by_their_metadata() {
    let (_server, mut client) = client().await;
    let crd = json!({"metadata": {"name": "widgets.ex.io"}, "spec": {"group": "ex.io", "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object"}}}]}});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(client.write("POST", crds, &crd).await.status, 201);
    let widget = json!({"apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "w"}});
    let made = client
        .write("POST", "/apis/ex.io/v1/widgets", &widget)
        .await
        .json();
    let (code, media_type, status) = ask(&mut client, "/apis/ex.io/v1/widgets/w", PROTOBUF).await;
    assert_eq!((code, media_type.as_str()), (406, PROTOBUF));
    assert_eq!(status["reason"], "NotAcceptable");
    let metadata = format!("{PROTOBUF};as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
    let (_, _, shown) = ask(&mut client, "/apis/ex.io/v1/widgets/w", &metadata).await;
    let expected = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": made["metadata"]});
    assert_eq!(shown, expected);
}
