//! Paths and what they lead to: api-machinery.md §1, §2, §11.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use lockstep_testkit::client::Client;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// A server with its own resources and a CRD of two versions, one of them deprecated.
async fn begin() -> (TestServer, Client) {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let made = client.write("POST", CRDS, &widgets()).await;
    assert_eq!(made.status, 201, "{}", made.body);
    (server, client)
}

fn widgets() -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    json!({
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": schema },
                { "name": "v1beta1", "served": true, "storage": false, "schema": schema,
                  "deprecated": true },
                { "name": "v1alpha1", "served": true, "storage": false, "schema": schema,
                  "deprecated": true, "deprecationWarning": "use \"v1\"" },
            ],
        },
    })
}

/// §1/cluster-path, §1/objects, §1/subresources, §1/unknown-paths, §1/absent-namespace.
#[tokio::test]
async fn what_cannot_be_done_at_a_path_is_told_as_upstream_tells_it() {
    let (_server, mut client) = begin().await;
    let page = "404 page not found\n";
    let not_allowed = "the server does not allow this method on the requested resource";
    let no_such = "the server could not find the requested resource";
    for (request, code, text) in [
        ("POST /api/v1/configmaps", 405, not_allowed),
        ("DELETE /api/v1/configmaps", 405, not_allowed),
        ("GET /api/v1/configmaps/a", 404, no_such),
        ("POST /apis/ex.io/v1/widgets", 404, page),
        ("DELETE /apis/ex.io/v1/widgets", 404, page),
        ("GET /apis/ex.io/v1/widgets/a", 404, page),
        (
            "PUT /api/v1/namespaces/default/configmaps",
            405,
            not_allowed,
        ),
        (
            "PATCH /api/v1/namespaces/default/configmaps",
            405,
            not_allowed,
        ),
        (
            "POST /api/v1/namespaces/default/configmaps/a",
            405,
            not_allowed,
        ),
        (
            "PUT /apis/ex.io/v1/namespaces/default/widgets",
            400,
            "name must be provided",
        ),
        (
            "POST /apis/ex.io/v1/namespaces/default/widgets/a",
            405,
            "create is not supported on resources of kind \"widgets.ex.io\"",
        ),
        ("DELETE /api/v1/namespaces", 405, not_allowed),
        ("GET /apis/ex.io/v7/namespaces/default/widgets", 404, page),
        ("GET /apis/ex.io/v1/namespaces/default/gadgets", 404, page),
        ("GET /apis/nowhere.io/v1/widgets", 404, page),
        ("GET /api/v1/gadgets", 404, no_such),
        (
            "GET /api/v1/namespaces/nowhere/configmaps/a",
            404,
            "configmaps \"a\" not found",
        ),
        (
            "GET /apis/ex.io/v1/namespaces/default/widgets/a/scale",
            404,
            "widgets.ex.io \"a\" not found",
        ),
        (
            "OPTIONS /api/v1/namespaces/default/configmaps",
            405,
            not_allowed,
        ),
        ("OPTIONS /apis", 405, not_allowed),
        ("POST /apis", 405, not_allowed),
    ] {
        let (method, path) = request.split_once(' ').unwrap();
        let answer = client.write(method, path, &json!({})).await;
        assert_eq!(answer.status, code, "{request}: {}", answer.body);
        let told = match text {
            text if text == page => answer.body.clone(),
            _ => answer.failure().2,
        };
        assert!(told.contains(text), "{request}: {told}");
    }
}

/// §1/objects: HEAD is GET without its body, and the connection goes on.
#[tokio::test]
async fn heads_have_the_code_and_the_length_of_a_body_that_is_not_sent() {
    let (server, client) = begin().await;
    let older = server.client_http1(Some(server.admin())).await;
    for mut client in [client, older] {
        for path in [
            "/api/v1/namespaces/default",
            "/api/v1/namespaces",
            "/api/v1/namespaces/nowhere",
            "/apis/ex.io/v1/widgets",
            "/apis",
            "/version",
            "/healthz",
            "/openapi/v3",
        ] {
            let whole = client.get(path).await;
            let head = client.send("HEAD", path, &[], "").await;
            assert_eq!(
                (head.status, head.body.as_str()),
                (whole.status, ""),
                "{path}"
            );
            let kind = whole.header("content-type");
            assert_eq!(head.header("content-type"), kind, "{path}");
            let length = whole.body.len().to_string();
            assert_eq!(head.header("content-length"), length, "{path}");
        }
        let watch = "/api/v1/namespaces?watch=true";
        assert_eq!(client.send("HEAD", watch, &[], "").await.brief(), (200, ""));
    }
}

/// §1/spelling: a slash at the end means nothing, and names are decoded once.
#[tokio::test]
async fn paths_are_read_as_upstream_reads_them() {
    let (_server, mut client) = begin().await;
    for path in [
        "/api/v1/namespaces/default",
        "/apis",
        "/version",
        "/apis/ex.io/v1",
    ] {
        let plain = client.get(path).await;
        let slashed = client.get(&format!("{path}/")).await;
        assert_eq!(slashed.brief(), plain.brief(), "{path}");
    }
    let objects = "/api/v1/namespaces/default/configmaps";
    for (name, decoded) in [("a%2Fb", "a/b"), ("%2e%2e", ".."), ("a%2525", "a%25")] {
        let answer = client.get(&format!("{objects}/{name}")).await;
        let expected = format!("configmaps {decoded:?} not found");
        assert_eq!(answer.failure().2, expected);
    }
    for name in [".", "..", "a/b", "a%b"] {
        for path in [objects, "/apis/rbac.authorization.k8s.io/v1/clusterroles"] {
            let object = json!({ "metadata": { "name": name } });
            let refused = client.write("POST", path, &object).await;
            assert_eq!(refused.failure().0, 422, "{path} {name}");
        }
    }
}

/// §1/index, §1/endpoints, §1/discovery: every path in the index and in discovery is served.
#[tokio::test]
async fn every_listed_path_is_answered() {
    let (_server, mut client) = begin().await;
    let index = client.get("/").await.json();
    let paths: Vec<String> = serde_json::from_value(index["paths"].clone()).unwrap();
    assert!(paths.is_sorted(), "{paths:?}");
    for path in [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apiextensions.k8s.io",
        "/apis/events.k8s.io/v1",
        "/apis/ex.io",
        "/apis/ex.io/v1",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ] {
        assert!(paths.iter().any(|listed| listed == path), "{path}");
    }
    for path in &paths {
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
}

/// §2/true: all that discovery says can be listed and watched can be; §2/aggregated, §2/legacy.
#[tokio::test]
async fn what_discovery_shows_can_be_listed_and_watched() {
    let (_server, mut client) = begin().await;
    let mut seen = Vec::new();
    for path in ["/api", "/apis"] {
        let accept = [("accept", AGGREGATED)];
        let answer = client.send("GET", path, &accept, "").await;
        assert_eq!(answer.header("content-type"), AGGREGATED);
        assert_eq!(answer.header("vary"), "Accept");
        assert_eq!(answer.header("cache-control"), "public");
        let tag = answer.header("etag").to_owned();
        let again = [("accept", AGGREGATED), ("if-none-match", tag.as_str())];
        assert_eq!(
            client.send("GET", path, &again, "").await.brief(),
            (304, "")
        );
        for group in answer.json()["items"].as_array().unwrap() {
            let name = group["metadata"]["name"].as_str().unwrap_or_default();
            for version in group["versions"].as_array().unwrap() {
                assert_eq!(version["freshness"], "Current");
                let root = match name {
                    "" => format!("/api/{}", version["version"].as_str().unwrap()),
                    name => format!("/apis/{name}/{}", version["version"].as_str().unwrap()),
                };
                let legacy = client.get(&root).await.json();
                for resource in version["resources"].as_array().unwrap() {
                    let plural = resource["resource"].as_str().unwrap();
                    let listed = legacy["resources"].as_array().unwrap().iter();
                    let row = listed.clone().find(|row| row["name"] == plural).unwrap();
                    assert_eq!(row["verbs"], resource["verbs"], "{root}/{plural}");
                    seen.push((format!("{root}/{plural}"), resource["verbs"].clone()));
                }
            }
        }
    }
    let listed: Vec<_> = seen
        .iter()
        .filter(|(_, verbs)| verbs.as_array().unwrap().contains(&json!("list")))
        .collect();
    assert!(listed.len() >= 14, "{listed:?}");
    for (path, verbs) in listed {
        let list = client.get(path).await;
        assert_eq!(list.status, 200, "{path}");
        let kind = list.json()["kind"].as_str().unwrap().to_owned();
        assert!(kind.ends_with("List"), "{path}: {kind}");
        if *verbs == json!(["get", "list"]) {
            // Componentstatuses are computed, not stored, so they cannot be watched.
            assert_eq!(path, "/api/v1/componentstatuses");
            continue;
        }
        assert!(
            verbs.as_array().unwrap().contains(&json!("watch")),
            "{path}"
        );
        let watch = format!(
            "{path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        );
        let events = client.open("GET", &watch, &[], Bytes::new()).await.unwrap();
        assert_eq!(events.status(), 200, "{path}");
        // Initial events end with a bookmark; without it the test would not end.
        let mut events = events.into_body();
        let mut told = Vec::new();
        while !String::from_utf8_lossy(&told).contains("\"k8s.io/initial-events-end\":\"true\"") {
            let frame = events.frame().await.unwrap().unwrap();
            told.extend_from_slice(&frame.into_data().unwrap());
        }
    }
}

/// §2/crd: discovery includes a CRD once its write returns, and no longer once its deletion is watched.
#[tokio::test]
async fn discovery_follows_a_crd() {
    let (_server, mut client) = begin().await;
    let groups = client.get("/apis").await.json();
    let names = |groups: &Value| -> Vec<String> {
        let groups = groups["groups"].as_array().unwrap().iter();
        groups
            .map(|group| group["name"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(names(&groups).contains(&"ex.io".to_owned()));
    let group = client.get("/apis/ex.io").await.json();
    assert_eq!(
        group["versions"],
        json!([
            { "groupVersion": "ex.io/v1", "version": "v1" },
            { "groupVersion": "ex.io/v1beta1", "version": "v1beta1" },
            { "groupVersion": "ex.io/v1alpha1", "version": "v1alpha1" },
        ])
    );
    let unserved = json!([{ "op": "replace", "path": "/spec/versions/1/served", "value": false }]);
    let patch = [("content-type", "application/json-patch+json")];
    let crd = format!("{CRDS}/widgets.ex.io");
    client
        .send("PATCH", &crd, &patch, unserved.to_string())
        .await;
    assert_eq!(client.get("/apis/ex.io/v1beta1").await.status, 404);
    assert_eq!(client.get("/apis/ex.io/v1beta1/widgets").await.status, 404);
    let watch = format!("{CRDS}?watch=true&fieldSelector=metadata.name=widgets.ex.io");
    let mut watch = client.open("GET", &watch, &[], "".into()).await.unwrap();
    assert_eq!(client.send("DELETE", &crd, &[], "").await.status, 200);
    loop {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        if String::from_utf8_lossy(&frame).contains("\"DELETED\"") {
            break;
        }
    }
    assert_eq!(
        client.get("/apis/ex.io/v1").await.brief().1,
        "404 page not found\n"
    );
    assert!(!names(&client.get("/apis").await.json()).contains(&"ex.io".to_owned()));
}

/// §2/aggregated: the older version of the document, for clients that know no other.
#[tokio::test]
async fn the_older_aggregated_discovery_is_told_as_it_was_asked_for() {
    let (_server, mut client) = begin().await;
    let older = AGGREGATED.replace("v=v2;", "v=v2beta1;");
    let accept = format!("{older},application/json");
    let answer = client
        .send("GET", "/apis", &[("accept", &accept)], "")
        .await;
    assert_eq!(answer.header("content-type"), older);
    let list = answer.json();
    assert_eq!(list["apiVersion"], "apidiscovery.k8s.io/v2beta1");
    let newer = client
        .send("GET", "/apis", &[("accept", AGGREGATED)], "")
        .await;
    assert_eq!(list["items"], newer.json()["items"]);
    let both = format!("{AGGREGATED},{older},application/json");
    let answer = client.send("GET", "/apis", &[("accept", &both)], "").await;
    assert_eq!(answer.header("content-type"), AGGREGATED);
}

/// §2/crd, §11/conditions: a CRD without accepted names is not served; it is served once they are accepted.
#[tokio::test]
async fn a_crd_without_its_names_is_not_served_until_they_are_free() {
    let (_server, mut client) = begin().await;
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let loser = json!({
        "metadata": { "name": "gadgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Namespaced",
            "names": { "plural": "gadgets", "singular": "gadget", "kind": "Widget" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }],
        },
    });
    assert_eq!(client.write("POST", CRDS, &loser).await.status, 201);
    let path = format!("{CRDS}/gadgets.ex.io");
    let condition = |crd: &Value, name: &str| {
        let conditions = crd["status"]["conditions"].as_array().cloned();
        let mut conditions = conditions.unwrap_or_default().into_iter();
        let found = conditions.find(|condition| condition["type"] == name);
        found.map(|found| format!("{} {}", found["status"], found["reason"]))
    };
    let told = loop {
        let crd = client.get(&path).await.json();
        if condition(&crd, "Established").is_some() {
            break crd;
        }
    };
    let lost = Some("\"False\" \"KindConflict\"".to_owned());
    assert_eq!(condition(&told, "NamesAccepted"), lost);
    let waits = Some("\"False\" \"NotAccepted\"".to_owned());
    assert_eq!(condition(&told, "Established"), waits);
    let plurals = |list: &Value| -> Vec<String> {
        let resources = list["resources"].as_array().unwrap().iter();
        resources
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let listed = client.get("/apis/ex.io/v1").await.json();
    assert_eq!(plurals(&listed), ["widgets"]);
    let gadgets = "/apis/ex.io/v1/namespaces/default/gadgets";
    assert_eq!(
        client.get(gadgets).await.brief(),
        (404, "404 page not found\n")
    );
    let winner = format!("{CRDS}/widgets.ex.io");
    assert_eq!(client.send("DELETE", &winner, &[], "").await.status, 200);
    loop {
        let crd = client.get(&path).await.json();
        if condition(&crd, "Established").is_some_and(|told| told.starts_with("\"True\"")) {
            break;
        }
    }
    assert_eq!(client.get(gadgets).await.status, 200);
    let listed = client.get("/apis/ex.io/v1").await.json();
    assert_eq!(plurals(&listed), ["gadgets"]);
}

/// §11/deprecated, §4/warnings: on success and on failure, in the words of the CRD or in ours.
#[tokio::test]
async fn deprecated_versions_warn_with_every_answer() {
    let (_server, mut client) = begin().await;
    let here = "namespaces/default/widgets";
    for (path, code, warning) in [
        (format!("/apis/ex.io/v1/{here}"), 200, ""),
        (
            format!("/apis/ex.io/v1beta1/{here}"),
            200,
            "299 - \"ex.io/v1beta1 Widget is deprecated\"",
        ),
        (
            format!("/apis/ex.io/v1beta1/{here}/none"),
            404,
            "299 - \"ex.io/v1beta1 Widget is deprecated\"",
        ),
        (
            format!("/apis/ex.io/v1alpha1/{here}"),
            200,
            "299 - \"use \\\"v1\\\"\"",
        ),
    ] {
        let answer = client.get(&path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.header("warning")),
            (code, warning),
            "{path}"
        );
    }
    let metrics = client.get("/metrics").await.body;
    let line = "apiserver_requested_deprecated_apis{group=\"ex.io\",removed_release=\"\",resource=\"widgets\",subresource=\"\",version=\"v1beta1\"} 1";
    assert!(metrics.lines().any(|one| one == line), "{metrics}");
    assert!(!metrics.contains("resource=\"widgets\",subresource=\"\",version=\"v1\"} 1"));
}
