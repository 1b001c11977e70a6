//! Messages to endpoints of parts, and updates.

use k8s_pb::api::apps::v1::Deployment;
use k8s_pb::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_pb::api::autoscaling::v1::{Scale, ScaleSpec};
use k8s_pb::api::core::v1::{Binding, ObjectReference, Pod, PodStatus};
use k8s_pb::api::policy::v1::Eviction;
use k8s_pb::apimachinery::pkg::apis::meta::v1::{DeleteOptions, Preconditions};
use lockstep_testkit::client::Client;
use prost::Message;
use serde_json::{Value, json};

use super::{PROTOBUF, body, message, named, post, server, text};

async fn put(client: &mut Client, path: &str, body: Vec<u8>) -> Value {
    let headers = [("content-type", PROTOBUF)];
    let answer = client.send("PUT", path, &headers, body).await;
    assert_eq!(answer.status, 200, "{path} {}", answer.body);
    answer.json()
}

/// Reads an object as protobuf, decoded by the witness, so that it can be sent back.
async fn read<M: Message + Default>(client: &mut Client, path: &str) -> M {
    use k8s_pb::apimachinery::pkg::runtime::Unknown;
    let accept = [("accept", PROTOBUF)];
    let (_, bytes) = client.send_raw("GET", path, &accept, "").await;
    let unknown = Unknown::decode(bytes.strip_prefix(b"k8s\0".as_slice()).unwrap()).unwrap();
    M::decode(unknown.raw.unwrap().as_slice()).unwrap()
}

/// api-machinery.md §3.2/bodies: create, update, `DeleteOptions`, Scale, Eviction, Binding, `TokenRequest`.
#[tokio::test]
async fn every_body_that_a_client_sends_may_be_a_message() {
    let (_server, mut client) = server().await;
    let pods = "/api/v1/namespaces/default/pods";
    let spec = json!({"containers": [{"name": "c", "image": "i"}]});
    for name in ["p", "q"] {
        let pod = json!({"metadata": {"name": name}, "spec": spec});
        assert_eq!(client.write("POST", pods, &pod).await.status, 201);
    }

    let target = message!(ObjectReference {
        kind: text("Node"),
        name: text("n")
    });
    let binding = message!(Binding {
        metadata: named("p"),
        target: target
    });
    let binding = body("v1", "Binding", binding.encode_to_vec());
    let bound = post(&mut client, &format!("{pods}/p/binding"), binding).await;
    assert_eq!(bound.status, 201, "{}", bound.body);

    let mut pod: Pod = read(&mut client, &format!("{pods}/p")).await;
    assert_eq!(pod.spec.as_ref().unwrap().node_name.as_deref(), Some("n"));
    pod.metadata
        .as_mut()
        .unwrap()
        .labels
        .insert(text("a"), text("b"));
    pod.status = Some(message!(PodStatus {
        phase: text("Running")
    }));
    let sent = body("v1", "Pod", pod.encode_to_vec());
    let put_pod = put(&mut client, &format!("{pods}/p"), sent).await;
    assert_eq!(put_pod["metadata"]["labels"], json!({"a": "b"}));
    assert_eq!(put_pod["status"]["phase"], "Pending");
    pod.metadata.as_mut().unwrap().resource_version = None;
    let sent = body("v1", "Pod", pod.encode_to_vec());
    let put_status = put(&mut client, &format!("{pods}/p/status"), sent).await;
    assert_eq!(put_status["status"]["phase"], "Running");

    let uid = message!(Preconditions { uid: text("other") });
    let options = message!(DeleteOptions { preconditions: uid });
    let eviction = message!(Eviction {
        metadata: named("q"),
        delete_options: options
    });
    let evict = |eviction: &Eviction| body("policy/v1", "Eviction", eviction.encode_to_vec());
    let path = format!("{pods}/q/eviction");
    let kept = post(&mut client, &path, evict(&eviction)).await;
    assert_eq!(kept.failure().0, 409);
    let eviction = message!(Eviction {
        metadata: named("q")
    });
    let gone = post(&mut client, &path, evict(&eviction)).await;
    assert_eq!(gone.status, 201, "{}", gone.body);
    assert_eq!(client.get(&format!("{pods}/q")).await.status, 404);
}

/// Scale and `TokenRequest` as protobuf, under the row of the test above.
#[tokio::test]
async fn a_scale_and_a_request_for_a_token_may_be_messages() {
    let (_server, mut client) = server().await;
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let deployment = json!({"metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }});
    assert_eq!(
        client.write("POST", deployments, &deployment).await.status,
        201
    );
    let path = format!("{deployments}/d/scale");
    let mut scale: Scale = read(&mut client, &path).await;
    assert_eq!(scale.spec, Some(ScaleSpec { replicas: Some(1) }));
    scale.spec = Some(ScaleSpec { replicas: Some(0) });
    let sent = body("autoscaling/v1", "Scale", scale.encode_to_vec());
    assert_eq!(put(&mut client, &path, sent).await["spec"], json!({}));
    let stored: Deployment = read(&mut client, &format!("{deployments}/d")).await;
    assert_eq!(stored.spec.unwrap().replicas, Some(0));

    let account = json!({"metadata": {"name": "a"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(client.write("POST", accounts, &account).await.status, 201);
    let request = message!(TokenRequest {
        spec: message!(TokenRequestSpec {
            audiences: [text("x")],
            expiration_seconds: 601_i64
        }),
    });
    let sent = body(
        "authentication.k8s.io/v1",
        "TokenRequest",
        request.encode_to_vec(),
    );
    let given = post(&mut client, &format!("{accounts}/a/token"), sent).await;
    assert_eq!(given.status, 201, "{}", given.body);
    let given = given.json();
    assert_eq!(given["spec"]["audiences"], json!(["x"]));
    assert_eq!(given["spec"]["expirationSeconds"], 601);
}
