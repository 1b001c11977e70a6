//! The deepest object that is accepted, sent to the real binary.

use hyper::Request;
use kube::Client;
use lockstep_object::json::DEPTH_MAX;

use crate::server::Server;

async fn post(client: &Client, path: &str, body: String) -> kube::Result<String> {
    let request = Request::post(path).header("content-type", "application/json");
    let request = request.body(body.into_bytes()).unwrap();
    client.request_text(request).await
}

/// A thread with too little stack would end the process.
#[tokio::test]
async fn the_deepest_object_does_not_end_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), "embedded");
    let client = server.client().await;
    let crd = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
        "metadata":{"name":"deeps.ex.io"},"spec":{"group":"ex.io","scope":"Cluster",
        "names":{"plural":"deeps","kind":"Deep"},"versions":[{"name":"v1","served":true,"storage":true,
        "schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}"#;
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    post(&client, crds, crd.to_owned()).await.unwrap();
    let deep = |name: &str, levels: usize| {
        let (open, close) = (r#"{"a":"#.repeat(levels - 1), "}".repeat(levels - 1));
        format!(
            r#"{{"apiVersion":"ex.io/v1","kind":"Deep","metadata":{{"name":"{name}"}},"a":{open}1{close}}}"#
        )
    };
    let deeps = "/apis/ex.io/v1/deeps";
    let made = post(&client, deeps, deep("a", DEPTH_MAX)).await.unwrap();
    assert!(made.contains(&r#"{"a":"#.repeat(DEPTH_MAX - 1)));
    let refused = post(&client, deeps, deep("b", DEPTH_MAX + 1)).await;
    assert_eq!(crate::kube_rs::code(refused), 400);
    let listed = Request::get(deeps).body(Vec::new()).unwrap();
    let listed = client.request_text(listed).await.unwrap();
    assert!(listed.contains(&r#"{"a":"#.repeat(DEPTH_MAX - 1)));
}
