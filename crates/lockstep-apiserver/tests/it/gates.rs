//! Gates of the server itself, on and off.

use lockstep_testkit::client::Client;
use serde_json::Value;

use crate::loops::there;
use crate::server::{Setup, TestServer};

async fn with_gates(gates: &'static str, emulated: &'static str) -> (TestServer, Client) {
    let server = TestServer::with(Setup {
        gates,
        emulated,
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let client = server.client(Some(server.admin())).await;
    (server, client)
}

/// First result of a watch with `sendInitialEvents`: the type of its first event, or the error.
async fn first_of_watch(client: &mut Client, matching: &str) -> String {
    let path = format!(
        "/api/v1/namespaces?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=1{matching}"
    );
    let answer = client.get(&path).await;
    match answer.status.as_u16() {
        200 => {
            let first = answer.body.lines().next().unwrap();
            let first: Value = serde_json::from_str(first).unwrap();
            first["type"].as_str().unwrap().to_owned()
        }
        code => format!("{code} {}", answer.failure().2),
    }
}

/// feature-gates.md §11/watch-list
#[tokio::test]
async fn a_watch_begins_with_the_objects_that_exist_where_the_gate_is_on() {
    let matching = "&resourceVersionMatch=NotOlderThan";
    let refused = "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled";
    for (gates, emulated, is_on) in [
        ("", "", true),
        ("WatchList=false", "", false),
        ("", "1.33", false),
        ("WatchList=true", "1.33", true),
    ] {
        let (_server, mut client) = with_gates(gates, emulated).await;
        let told = first_of_watch(&mut client, matching).await;
        let expected = if is_on {
            "ADDED".to_owned()
        } else {
            format!("422 ListOptions.meta.k8s.io \"\" is invalid: {refused}")
        };
        assert_eq!(told, expected, "{gates} {emulated}");
    }
    let (_server, mut client) = with_gates("WatchList=false", "").await;
    let told = first_of_watch(&mut client, "").await;
    assert!(
        told.ends_with(&format!("to NotOlderThan, {refused}]")),
        "{told}"
    );
    let listed = client.get("/api/v1/namespaces").await;
    assert_eq!(
        listed.status.as_u16(),
        200,
        "lists are no business of the gate"
    );
}

/// feature-gates.md §11/identity
#[tokio::test]
async fn a_server_has_a_lease_where_the_gate_is_on() {
    for (gates, expected) in [
        ("", vec!["apiserver-", "lockstep-controllers"]),
        ("APIServerIdentity=false", vec!["lockstep-controllers"]),
    ] {
        let (_server, mut client) = with_gates(gates, "").await;
        let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
        // The service account is created after the lease: both leases are written before the controllers' objects.
        there(
            &mut client,
            "/api/v1/namespaces/default/serviceaccounts/default",
        )
        .await;
        let list = client.get(leases).await.json();
        let items = list["items"].as_array().unwrap();
        let names: Vec<&str> = items
            .iter()
            .map(|lease| lease["metadata"]["name"].as_str().unwrap())
            .collect();
        let begin_alike = names
            .iter()
            .zip(&expected)
            .all(|(name, expected)| name.starts_with(expected));
        assert!(
            begin_alike && names.len() == expected.len(),
            "{gates}: {names:?}"
        );
    }
}
