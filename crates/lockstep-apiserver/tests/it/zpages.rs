//! `/flagz` and `/statusz`.

use serde_json::json;

use crate::server::{Setup, TestServer};

/// feature-gates.md §9/flagz, §9/statusz.
#[tokio::test]
async fn zpages_are_text_unless_a_versioned_kind_is_asked_for() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let accept = |media: &str, kind: &str, version: &str| {
        format!("application/{media};as={kind};v={version};g=config.k8s.io")
    };
    for (path, kind) in [("/flagz", "Flagz"), ("/statusz", "Statusz")] {
        for wanted in ["", "*/*", "text/plain", "application/cbor, text/*;q=0.1"] {
            let headers: &[(&str, &str)] = if wanted.is_empty() {
                &[]
            } else {
                &[("accept", wanted)]
            };
            let answer = client.send("GET", path, headers, "").await;
            assert_eq!(
                answer.header("content-type"),
                "text/plain; charset=utf-8",
                "{wanted}"
            );
        }
        for wanted in [
            "application/json",
            "application/yaml",
            "application/vnd.kubernetes.protobuf",
            &accept("json", kind, "v1"),
            &accept("json", "Table", "v1beta1"),
        ] {
            let answer = client.send("GET", path, &[("accept", wanted)], "").await;
            assert_eq!(answer.failure().0, 406, "{wanted}");
        }
        let old = client
            .send(
                "GET",
                path,
                &[("accept", &accept("json", kind, "v1alpha1"))],
                "",
            )
            .await;
        assert_eq!(old.json()["apiVersion"], "config.k8s.io/v1alpha1");
        assert_eq!(
            old.header("warning"),
            format!(
                "299 - \"config.k8s.io/v1alpha1 {kind} is deprecated; use config.k8s.io/v1beta1 {kind}\""
            )
        );
    }
}

/// feature-gates.md §9/flagz, §9/statusz.
#[tokio::test]
async fn flags_and_status_are_documents_with_these_keys() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let accept = |media: &str, kind: &str, version: &str| {
        format!("application/{media};as={kind};v={version};g=config.k8s.io")
    };
    let flags = client
        .send(
            "GET",
            "/flagz",
            &[("accept", &accept("json", "Flagz", "v1beta1"))],
            "",
        )
        .await;
    assert_eq!(
        flags.json(),
        json!({
            "kind": "Flagz",
            "apiVersion": "config.k8s.io/v1beta1",
            "metadata": { "name": "kube-apiserver" },
            "flags": { "data-dir": "./d", "store": "embedded" },
        })
    );
    let yaml = client
        .send(
            "GET",
            "/flagz",
            &[("accept", &accept("yaml", "Flagz", "v1beta1"))],
            "",
        )
        .await;
    assert!(yaml.body.contains("kind: Flagz\n"), "{}", yaml.body);
    assert!(
        client
            .get("/flagz")
            .await
            .body
            .contains("\ndata-dir=./d\nstore=embedded\n")
    );
    let status = client
        .send(
            "GET",
            "/statusz",
            &[("accept", &accept("json", "Statusz", "v1beta1"))],
            "",
        )
        .await
        .json();
    let mut keys: Vec<&str> = status
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    assert_eq!(
        keys,
        [
            "apiVersion",
            "binaryVersion",
            "emulationVersion",
            "goVersion",
            "kind",
            "metadata",
            "minCompatibilityVersion",
            "paths",
            "rustVersion",
            "startTime",
            "uptimeSeconds"
        ]
    );
    assert_eq!(
        (
            &status["emulationVersion"],
            &status["minCompatibilityVersion"],
            &status["goVersion"]
        ),
        (&json!("1.36"), &json!("1.35"), &json!(""))
    );
}

/// feature-gates.md §9/access: the gates switch the pages off.
#[tokio::test]
async fn pages_behind_gates_that_are_off_do_not_exist() {
    let setup = Setup {
        gates: "ComponentFlagz=false,ComponentStatusz=false",
        ..Setup::default()
    };
    let server = TestServer::with(setup).await;
    let mut client = server.client(Some(server.admin())).await;
    for path in ["/flagz", "/statusz"] {
        assert_eq!(
            client.get(path).await.brief(),
            (404, "404 page not found\n"),
            "{path}"
        );
    }
    let paths = client.get("/").await.body;
    assert!(!paths.contains("flagz") && !paths.contains("statusz"));
}
