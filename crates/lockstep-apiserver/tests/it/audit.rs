//! The audit log.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitManagedFields": true,
        "rules": [
            { "level": "None", "nonResourceURLs": ["/healthz*"] },
            { "level": "RequestResponse", "resources": [{ "group": "", "resources": ["echoes"] }], "omitStages": ["RequestReceived"] },
            { "level": "Metadata" },
        ],
    })
}

async fn events(requests: impl AsyncFnOnce(&TestServer)) -> Vec<Value> {
    let server = TestServer::with(Setup {
        audit: Some(policy()),
        tokens: Some("r,root,1,system:masters\n"),
        ..Setup::default()
    })
    .await;
    requests(&server).await;
    let text = log_of(server).await;
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    // The server's own requests are covered in `own_writes.rs`.
    events
        .filter(|event: &Value| event["user"]["username"] != "system:apiserver")
        .collect()
}

/// Stops the server and returns its audit log.
async fn log_of(server: TestServer) -> String {
    let log = server.path("audit.log");
    let TestServer {
        folder,
        mut running,
        stop,
        ..
    } = server;
    drop(stop);
    (&mut running).await.unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    drop(folder);
    text
}

/// api-machinery.md §14/audit.
#[tokio::test]
async fn an_event_says_who_asked_for_what_and_how_it_ended() {
    let events = events(async |server| {
        let mut client = server.client(None).await;
        client.get("/healthz").await;
        let headers = [
            ("authorization", "Bearer r"),
            ("impersonate-user", "alice"),
            ("impersonate-group", "system:masters"),
            ("audit-id", "id-1"),
            ("user-agent", "tester"),
            ("x-forwarded-for", "10.0.0.1, nonsense"),
        ];
        client
            .send("GET", "/api/v1/namespaces/n/users/u?x=1", &headers, "")
            .await;
    })
    .await;
    let stages: Vec<&Value> = events.iter().map(|event| &event["stage"]).collect();
    assert_eq!(stages, ["RequestReceived", "ResponseComplete"]);
    let last = &events[1];
    assert_eq!(
        *last,
        json!({
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": "id-1",
            "stage": "ResponseComplete",
            "requestURI": "/api/v1/namespaces/n/users/u?x=1",
            "verb": "get",
            "user": { "username": "root", "uid": "1", "groups": ["system:masters", "system:authenticated"] },
            "impersonatedUser": { "username": "alice", "groups": ["system:masters", "system:authenticated"] },
            "sourceIPs": ["10.0.0.1", "127.0.0.1"],
            "userAgent": "tester",
            "objectRef": { "resource": "users", "namespace": "n", "name": "u", "apiVersion": "v1" },
            "responseStatus": { "metadata": {}, "code": 200 },
            "annotations": { "authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "" },
            "requestReceivedTimestamp": last["requestReceivedTimestamp"],
            "stageTimestamp": last["stageTimestamp"],
        })
    );
}

#[tokio::test]
async fn bodies_are_logged_at_their_level_without_managed_fields_and_nowhere_else() {
    let events = events(async |server| {
        let mut client = server.client(Some(server.admin())).await;
        let body = json!({ "metadata": { "name": "a", "managedFields": [1] }, "data": { "password": "secret" } }).to_string();
        client.send("POST", "/api/v1/echoes", &[], body.clone()).await;
        client.send("POST", "/api/v1/users", &[], body).await;
        let yaml = [("content-type", "application/yaml")];
        client.send("POST", "/api/v1/echoes", &yaml, "metadata: {name: b}\ndata: {a: yes}\n").await;
    })
    .await;
    let echo: Vec<&Value> = events
        .iter()
        .filter(|event| event["objectRef"]["resource"] == "echoes")
        .collect();
    assert_eq!(echo.len(), 2);
    assert_eq!(
        echo[1]["requestObject"],
        json!({ "metadata": { "name": "b" }, "data": { "a": true } })
    );
    assert_eq!(
        echo[0]["requestObject"],
        json!({ "metadata": { "name": "a" }, "data": { "password": "secret" } })
    );
    let others: Vec<String> = events
        .iter()
        .filter(|event| event["objectRef"]["resource"] == "users")
        .map(Value::to_string)
        .collect();
    assert_eq!(others.len(), 2);
    assert!(
        others.iter().all(|event| !event.contains("secret")),
        "{others:?}"
    );
}

/// api-machinery.md §14/audit: an error that quotes the object is sent to the client and kept out of the log.
#[tokio::test]
async fn a_mistake_does_not_bring_content_into_the_log() {
    let server = TestServer::with(Setup {
        audit: Some(policy()),
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let secrets = "/api/v1/namespaces/default/secrets";
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "p": "hidden" } });
    assert_eq!(client.write("POST", secrets, &secret).await.status, 201);
    let map = json!({ "metadata": { "name": "m" }, "data": { "p": "hidden" } });
    let maps = "/api/v1/namespaces/default/configmaps";
    assert_eq!(client.write("POST", maps, &map).await.status, 201);
    let (merge, apply) = (
        "application/merge-patch+json",
        "application/apply-patch+yaml",
    );
    let strict = "?fieldValidation=Strict";
    let wish = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"data":{"p":{"q":"hidden"}}}"#;
    let mut told = Vec::new();
    for (method, path, media_type, body) in [
        (
            "PATCH",
            format!("{secrets}/s{strict}"),
            merge,
            r#"{"odd":1}"#,
        ),
        ("PATCH", format!("{maps}/m{strict}"), merge, r#"{"odd":1}"#),
        ("PATCH", format!("{secrets}/s?fieldManager=me"), apply, wish),
        (
            "POST",
            secrets.to_owned(),
            "application/json",
            r#"{"x":"hidden""#,
        ),
        // An error without content of the object appears in the log in full.
        (
            "POST",
            secrets.to_owned(),
            "application/json",
            r#"{"metadata":{"name":"s"}}"#,
        ),
    ] {
        let headers = [("content-type", media_type)];
        let answer = client.send(method, &path, &headers, body.to_owned()).await;
        told.push(answer.json()["message"].as_str().unwrap().to_owned());
    }
    // "hidden" as it is stored.
    let has_content = |text: &String| text.contains("hidden") || text.contains("aGlkZGVu");
    let shown: Vec<bool> = told.iter().map(has_content).collect();
    assert_eq!(shown, [true, true, true, true, false]);
    let text = log_of(server).await;
    assert!(!has_content(&text), "{text}");
    let events = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let ended = events.filter(|event: &Value| event["stage"] == "ResponseComplete");
    let refused = ended.filter(|event| event["responseStatus"]["code"].as_u64() >= Some(400));
    let logged: Vec<Value> = refused
        .map(|event| {
            let status = &event["responseStatus"];
            json!([status["code"], status["reason"], status["message"]])
        })
        .collect();
    let exists = "secrets \"s\" already exists";
    assert_eq!(
        logged,
        [
            json!([422, "Invalid", null]),
            json!([422, "Invalid", null]),
            json!([400, "BadRequest", null]),
            json!([400, "BadRequest", null]),
            json!([409, "AlreadyExists", exists]),
        ]
    );
}

#[tokio::test]
async fn refusals_panics_and_watches_have_their_stages() {
    let events = events(async |server| {
        let mut client = server.client(None).await;
        client
            .send(
                "GET",
                "/api",
                &[("authorization", "Bearer wrong-token")],
                "",
            )
            .await;
        let by_root = [("authorization", "Bearer r")];
        client.send("GET", "/api/v1/panics", &by_root, "").await;
        let mut watch = client
            .open("GET", "/api/v1/ticks?watch=1", &by_root, "".into())
            .await
            .unwrap();
        watch.frame().await.unwrap().unwrap();
        client.get("/metrics").await;
    })
    .await;
    let brief: Vec<String> = events
        .iter()
        .map(|event| {
            format!(
                "{} {} {}",
                event["requestURI"], event["stage"], event["responseStatus"]["code"]
            )
        })
        .collect();
    assert_eq!(
        brief,
        [
            "\"/api\" \"ResponseStarted\" 401",
            "\"/api/v1/panics\" \"RequestReceived\" null",
            "\"/api/v1/panics\" \"Panic\" 500",
            "\"/api/v1/ticks?watch=1\" \"RequestReceived\" null",
            "\"/api/v1/ticks?watch=1\" \"ResponseStarted\" 200",
            "\"/metrics\" \"RequestReceived\" null",
            "\"/metrics\" \"ResponseComplete\" 403",
            "\"/api/v1/ticks?watch=1\" \"ResponseComplete\" 200",
        ]
    );
    assert_eq!(
        events[6]["annotations"],
        json!({ "authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "" })
    );
    assert!(
        events
            .iter()
            .all(|event| !event.to_string().contains("wrong-token"))
    );
}
