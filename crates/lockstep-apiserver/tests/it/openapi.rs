//! OpenAPI as clients fetch it: api-machinery.md §2, T3, T4.

use lockstep_testkit::client::{Answer, Client};
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const DOCUMENT: &str = "apis/ex.io/v1";

async fn start() -> (TestServer, Client) {
    let server = TestServer::with(Setup::own()).await;
    let client = server.client(Some(server.admin())).await;
    (server, client)
}

async fn make_widgets(client: &mut Client, description: &str) {
    let crd = json!({"metadata": {"name": "widgets.ex.io"}, "spec": {"group": "ex.io", "scope": "Cluster",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "description": description}}}]}});
    let answer = client.write("POST", CRDS, &crd).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
}

/// Where the index says that a document is.
async fn place(client: &mut Client, path: &str) -> Option<String> {
    let index = client.get("/openapi/v3").await.json();
    let url = index["paths"][path]["serverRelativeURL"].as_str();
    url.map(str::to_owned)
}

async fn asking(client: &mut Client, path: &str, accept: &str) -> Answer {
    client.send("GET", path, &[("accept", accept)], "").await
}

/// api-machinery.md §2/openapi-v3.
#[tokio::test]
async fn a_document_is_named_by_its_hash_and_kept_for_ever() {
    let (_server, mut client) = start().await;
    make_widgets(&mut client, "first").await;
    let url = place(&mut client, DOCUMENT).await.unwrap();
    let (path, hash) = url.split_once("?hash=").unwrap();
    assert_eq!(path, format!("/openapi/v3/{DOCUMENT}"));
    let answer = client.get(&url).await;
    assert_eq!(answer.header("cache-control"), "public, immutable");
    assert!(
        answer.header("expires").ends_with(" GMT"),
        "{:?}",
        answer.headers
    );
    assert_eq!(answer.header("etag"), format!("\"{hash}\""));
    let schema = &answer.json()["components"]["schemas"]["io.ex.v1.Widget"];
    assert_eq!(schema["description"], "first");

    let bare = client.get(path).await;
    assert_eq!((bare.status.as_u16(), &bare.body), (200, &answer.body));
    assert_eq!(bare.header("cache-control"), "no-cache, private");
    let tag = format!("\"{hash}\"");
    let known = client
        .send("GET", path, &[("if-none-match", &tag)], "")
        .await;
    assert_eq!(known.brief(), (304, ""));
    let stale = client.get(&format!("{path}?hash=00")).await;
    assert_eq!(
        (stale.status.as_u16(), stale.header("location")),
        (301, url.as_str())
    );
}

/// api-machinery.md §2/explain: a CRD is in the documents with its write and no longer than it.
#[tokio::test]
async fn a_crd_is_in_the_documents_with_its_write_and_gone_with_its_removal() {
    let (_server, mut client) = start().await;
    assert_eq!(place(&mut client, DOCUMENT).await, None);
    make_widgets(&mut client, "first").await;
    let first = place(&mut client, DOCUMENT).await.unwrap();
    let change = json!([{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/description", "value": "second"}]);
    let headers = [("content-type", "application/json-patch+json")];
    let path = format!("{CRDS}/widgets.ex.io");
    let answer = client
        .send("PATCH", &path, &headers, change.to_string())
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let second = place(&mut client, DOCUMENT).await.unwrap();
    assert_ne!(first, second);
    let moved = client.get(&first).await;
    assert_eq!(
        (moved.status.as_u16(), moved.header("location")),
        (301, second.as_str())
    );
    let name = "io.ex.v1.Widget";
    let schema = &client.get(&second).await.json()["components"]["schemas"][name];
    assert_eq!(schema["description"], "second");
    let all = client.get("/openapi/v2").await.json();
    assert_eq!(all["definitions"][name]["description"], "second");

    assert_eq!(client.send("DELETE", &path, &[], "").await.status, 200);
    client.get_until(&path, |answer| answer.status != 200).await;
    assert_eq!(place(&mut client, DOCUMENT).await, None);
    assert_eq!(
        client.get(&second).await.brief(),
        (404, "404 page not found\n")
    );
    let all = client.get("/openapi/v2").await.json();
    assert_eq!(all["definitions"].get(name), None);
}

/// §0/T4: how kubectl learns that the server validates fields.
#[tokio::test]
async fn the_patch_of_a_kind_takes_field_validation() {
    let (_server, mut client) = start().await;
    let document = client.get("/openapi/v3/api/v1").await.json();
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]["patch"];
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    let parameters = patch["parameters"].as_array().unwrap();
    let names: Vec<&Value> = parameters
        .iter()
        .map(|parameter| &parameter["name"])
        .collect();
    assert_eq!(
        names,
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
}

/// api-machinery.md §2/openapi-v2.
#[tokio::test]
async fn version_2_is_json_or_a_message_and_nothing_else() {
    let (_server, mut client) = start().await;
    let json = asking(&mut client, "/openapi/v2", "*/*").await;
    assert_eq!(json.header("content-type"), "application/json");
    assert_eq!(json.json()["swagger"], "2.0");
    let asked = [(
        "accept",
        "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    )];
    let (parts, body) = client.send_raw("GET", "/openapi/v2", &asked, "").await;
    let told = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_eq!(parts.headers["content-type"], told);
    assert_eq!(&body[..5], b"\x0a\x032.0");
    let other = asking(&mut client, "/openapi/v2", "text/html").await;
    assert_eq!(other.failure().0, 406);
    let other = asking(
        &mut client,
        "/openapi/v3",
        "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
    )
    .await;
    assert_eq!(other.failure().0, 406);
    let tag = json.header("etag").to_owned();
    let known = client
        .send("GET", "/openapi/v2", &[("if-none-match", &tag)], "")
        .await;
    assert_eq!(known.brief(), (304, ""));
}
