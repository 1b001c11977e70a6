//! The forms of answers: YAML, indentation, compression, and what happens when there is none.

use lockstep_testkit::client::{Answer, Client};
use std::io::Read as _;

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

/// Texts that a reader of YAML takes for something else unless they are quoted.
const ODD: &str = "yes|n|off|Null|~|0644|0x1f|1_000|1e3|.inf|12:30:45|2001-01-01|=|<<|-|| a |a: b|# c|\
    two\nlines\n|\ttab|é\u{85}\u{2028}|{x}|[y]|*z|&z|!z|%z|@z|`z|'q'|\"q\"|trailing:|0b1|0o17|+1|1.|---|...";

/// A server with its own resources, and its administrator.
async fn start() -> (TestServer, Client) {
    let server = TestServer::with(Setup {
        handler: None,
        ..Setup::default()
    })
    .await;
    let client = server.client(Some(server.admin())).await;
    server.ready().await;
    (server, client)
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const YAML: (&str, &str) = ("accept", "application/yaml");

async fn get(client: &mut Client, path: &str, headers: &[(&str, &str)]) -> Answer {
    client.send("GET", path, headers, "").await
}

/// An answer in YAML as the document it is.
fn from_yaml(answer: &Answer) -> Value {
    assert_eq!(answer.header("content-type"), "application/yaml");
    let decoded = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(64 << 20);
        let read = || lockstep_object::yaml::decode(answer.body.as_bytes());
        thread.spawn_scoped(scope, read).unwrap().join().unwrap()
    });
    decoded.unwrap().value
}

/// api-machinery.md §3/yaml; errors too; texts stay texts for readers of YAML 1.1.
#[tokio::test]
async fn objects_lists_and_errors_are_answered_in_yaml() {
    let (_server, mut client) = start().await;
    let data: Value = ODD
        .split('|')
        .enumerate()
        .map(|(at, text)| (format!("k{at}"), text.into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let sent = json!({ "metadata": { "name": "odd" }, "data": data });
    let made = client.send("POST", MAPS, &[YAML], sent.to_string()).await;
    assert_eq!(made.status, 201);
    assert_eq!(from_yaml(&made)["data"], data);
    let read = get(&mut client, &format!("{MAPS}/odd"), &[YAML]).await;
    assert_eq!(from_yaml(&read), from_yaml(&made));
    let listed = get(
        &mut client,
        &format!("{MAPS}?fieldSelector=metadata.name=odd"),
        &[YAML],
    )
    .await;
    let listed = from_yaml(&listed);
    assert_eq!(
        (&listed["kind"], &listed["items"][0]["data"]),
        (&json!("ConfigMapList"), &data)
    );
    let missing = get(&mut client, &format!("{MAPS}/none"), &[YAML]).await;
    assert_eq!(missing.status, 404);
    assert_eq!(
        from_yaml(&missing)["message"],
        "configmaps \"none\" not found"
    );
    let table = [("accept", "application/yaml;as=Table;v=v1;g=meta.k8s.io")];
    let table = get(
        &mut client,
        &format!("{MAPS}/odd?includeObject=None"),
        &table,
    )
    .await;
    assert_eq!(from_yaml(&table)["rows"][0]["cells"][0], "odd");
}

/// The deepest object that is taken can be answered in YAML, if not at any length.
#[tokio::test]
async fn deep_objects_are_answered_in_yaml_or_refused() {
    let (_server, mut client) = start().await;
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "deeps.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Cluster", "names": { "plural": "deeps", "kind": "Deep" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(
        client.send("POST", crds, &[], crd.to_string()).await.status,
        201
    );
    let object = |name: &str, inside: &str| {
        let (open, close) = ("[".repeat(498), "]".repeat(498));
        format!(
            r#"{{"apiVersion":"ex.io/v1","kind":"Deep","metadata":{{"name":"{name}"}},"a":{open}{inside}{close}}}"#
        )
    };
    let deeps = "/apis/ex.io/v1/deeps";
    let made = client
        .send("POST", deeps, &[YAML], object("deep", ""))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    assert!(made.body.starts_with("a:\n"), "{}", made.body);
    let wide = object("wide", &vec!["0"; 100_000].join(","));
    assert_eq!(client.send("POST", deeps, &[], wide).await.status, 201);
    let read = get(&mut client, &format!("{deeps}/wide"), &[YAML]).await;
    let expected = "Internal error occurred: the answer is too large as YAML; ask for JSON";
    assert_eq!(
        read.failure(),
        (500, "InternalError".into(), expected.into())
    );
    let read = get(&mut client, &format!("{deeps}/wide?pretty=true"), &[]).await;
    assert_eq!(
        (read.status.as_u16(), read.body.contains('\n')),
        (200, false)
    );
}

/// api-machinery.md §3: `pretty=true` or curl/wget/browser agents → two-space indent, else compact.
#[tokio::test]
async fn people_get_indented_json() {
    let (_server, mut client) = start().await;
    let path = "/api/v1/namespaces/default";
    let plain = get(&mut client, path, &[]).await;
    let indented = format!("{:#}", plain.json());
    for (query, agent, is_indented) in [
        ("", "kubectl/v1.32.4", false),
        ("?pretty=true", "kubectl/v1.32.4", true),
        ("?pretty=1", "", true),
        ("?pretty=yes", "", false),
        ("", "curl/8.5.0", true),
        ("", "Wget/1.21", true),
        ("", "Mozilla/5.0 (X11)", true),
        ("?pretty=false", "curl/8.5.0", false),
        ("?pretty", "curl/8.5.0", true),
    ] {
        let answer = get(
            &mut client,
            &format!("{path}{query}"),
            &[("user-agent", agent)],
        )
        .await;
        assert_eq!(answer.json(), plain.json());
        assert_eq!(
            answer.body.contains("\n  \"apiVersion\""),
            is_indented,
            "{query} {agent}"
        );
        assert_eq!(
            answer.body.lines().count() > 1,
            is_indented,
            "{query} {agent}"
        );
    }
    let shown = get(&mut client, &format!("{path}?pretty=true"), &[]).await;
    assert_eq!(format!("{:#}", shown.json()), indented);
    let missing = get(&mut client, "/api/v1/namespaces/none?pretty=true", &[]).await;
    assert_eq!(missing.body, format!("{:#}", missing.json()));
}

/// api-machinery.md §3/gzip: gzip when the body is larger than 128 KiB, never for watch.
#[tokio::test]
async fn large_answers_are_compressed_and_watches_are_not() {
    let (_server, mut client) = start().await;
    let large = "x".repeat(200 * 1024);
    let sent = json!({ "metadata": { "name": "large" }, "data": { "a": large } });
    client.send("POST", MAPS, &[], sent.to_string()).await;
    let path = format!("{MAPS}/large");
    let plain = get(&mut client, &path, &[]).await;
    assert_eq!(plain.header("content-encoding"), "");

    let gzip = ("accept-encoding", "gzip");
    for accept in ["application/json", "application/yaml"] {
        let headers = [gzip, ("accept", accept)];
        let (parts, body) = client.send_raw("GET", &path, &headers, "").await;
        assert_eq!(parts.headers["content-encoding"], "gzip");
        assert_eq!(parts.headers["vary"], "Accept-Encoding");
        assert_eq!(parts.headers["content-type"], accept);
        assert!(body.len() < 4 * 1024, "{} bytes", body.len());
        let mut text = String::new();
        flate2::read::GzDecoder::new(&*body)
            .read_to_string(&mut text)
            .unwrap();
        assert!(text.contains(&large));
        if accept == "application/json" {
            assert_eq!(text, plain.body);
        }
    }
    let small = get(&mut client, "/api/v1/namespaces/default", &[gzip]).await;
    assert_eq!(small.header("content-encoding"), "");

    let watch = format!("{MAPS}?watch=true&fieldSelector=metadata.name=large");
    let watching = client
        .open("GET", &watch, &[gzip], "".into())
        .await
        .unwrap();
    assert_eq!(watching.headers().get("content-encoding"), None);
    let first = watching.into_body().frame().await.unwrap().unwrap();
    let first = first.into_data().unwrap();
    assert!(
        first.starts_with(br#"{"type":"ADDED","object":{"#),
        "{first:?}"
    );
}

/// api-machinery.md §3/not-acceptable, §3/content-type: the texts.
#[tokio::test]
async fn forms_that_nobody_knows_are_refused() {
    let (_server, mut client) = start().await;
    let refused = "only the following media types are accepted: application/json, application/yaml, \
                   application/vnd.kubernetes.protobuf";
    for accept in [
        "application/cbor",
        "text/html",
        "application/json;as=Chart;v=v1;g=meta.k8s.io",
        "application/json;q=0",
    ] {
        let answer = get(&mut client, MAPS, &[("accept", accept)]).await;
        assert_eq!(
            answer.failure(),
            (406, "NotAcceptable".into(), refused.into()),
            "{accept}"
        );
    }
    let watch = get(&mut client, &format!("{MAPS}?watch=1"), &[YAML]).await;
    let streams = "only the following media types are accepted: application/json;stream=watch, \
                   application/vnd.kubernetes.protobuf;stream=watch";
    assert_eq!(
        watch.failure(),
        (406, "NotAcceptable".into(), streams.into())
    );
    let sent = client
        .send("POST", MAPS, &[("content-type", "text/xml")], "<a/>")
        .await;
    let known = "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf";
    assert_eq!(
        sent.failure(),
        (415, "UnsupportedMediaType".into(), known.into())
    );
}

/// api-machinery.md §3/yaml: bodies, as deep as they may be.
#[tokio::test]
async fn bodies_in_yaml_are_read_to_their_depth() {
    let (_server, mut client) = start().await;
    let content = [("content-type", "application/yaml; charset=utf-8")];
    let body = "metadata:\n  name: yam\ndata:\n  a: |\n    text\n";
    let made = client.send("POST", MAPS, &content, body).await;
    assert_eq!(
        (made.status.as_u16(), &made.json()["data"]),
        (201, &json!({ "a": "text\n" }))
    );
    let deep = format!("a: {}{}", "[".repeat(150), "]".repeat(150));
    let refused = client.send("POST", MAPS, &content, deep).await;
    let (code, reason, message) = refused.failure();
    assert_eq!((code, reason.as_str()), (400, "BadRequest"));
    assert!(message.contains("exceeded max depth of 100"), "{message}");
}

/// api-machinery.md §3: discovery and refusals are written as asked too; aggregated discovery is JSON.
#[tokio::test]
async fn discovery_and_refusals_have_forms() {
    let (server, mut client) = start().await;
    for path in [
        "/api",
        "/apis",
        "/apis/rbac.authorization.k8s.io",
        "/api/v1",
    ] {
        let plain = get(&mut client, path, &[]).await;
        let yaml = get(&mut client, path, &[YAML]).await;
        assert_eq!(from_yaml(&yaml), plain.json(), "{path}");
        let shown = get(&mut client, path, &[("user-agent", "curl/8")]).await;
        assert_eq!(shown.body, format!("{:#}", plain.json()), "{path}");
        let refused = get(&mut client, path, &[("accept", "text/html")]).await;
        assert_eq!(refused.status, 406, "{path}");
    }
    let aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    for accept in [
        format!("{aggregated},application/json"),
        format!("application/vnd.kubernetes.protobuf,{aggregated}"),
    ] {
        let answer = get(&mut client, "/apis", &[("accept", &accept)]).await;
        assert_eq!(answer.header("content-type"), aggregated, "{accept}");
    }
    let legacy = format!("application/json,{aggregated}");
    let answer = get(&mut client, "/apis", &[("accept", &legacy)]).await;
    assert_eq!(answer.json()["kind"], "APIGroupList");

    let nowhere = get(&mut client, "/apis/no.io/v1/nothings", &[YAML]).await;
    assert_eq!(nowhere.brief(), (404, "404 page not found\n"));
    let unknown = get(&mut client, "/api/v1/nothings", &[YAML]).await;
    assert_eq!(
        (unknown.status.as_u16(), &from_yaml(&unknown)["reason"]),
        (404, &json!("NotFound"))
    );

    let mut nobody = server.client(None).await;
    let forbidden = get(&mut nobody, MAPS, &[YAML]).await;
    assert_eq!(
        (forbidden.status.as_u16(), &from_yaml(&forbidden)["reason"]),
        (403, &json!("Forbidden"))
    );
}

/// api-machinery.md §14/audit: `responseObject` is the object, however it was written for the client.
#[tokio::test]
async fn answers_are_audited_before_they_are_rewritten() {
    let server = TestServer::with(Setup {
        handler: None,
        audit: Some(json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [{ "level": "RequestResponse", "resources": [{ "group": "", "resources": ["configmaps"] }] },
                      { "level": "None" }],
        })),
        ..Setup::default()
    })
    .await;
    let mut client = server.client(Some(server.admin())).await;
    server.ready().await;
    let sent = json!({ "metadata": { "name": "large" }, "data": { "a": "x".repeat(200 * 1024) } });
    let headers = [YAML, ("accept-encoding", "gzip")];
    let (parts, _) = client
        .send_raw("POST", MAPS, &headers, sent.to_string())
        .await;
    assert_eq!(parts.headers["content-encoding"], "gzip");
    let missing = get(&mut client, &format!("{MAPS}/none"), &headers).await;
    assert_eq!(missing.header("content-type"), "application/yaml");
    let log = server.path("audit.log");
    let TestServer {
        folder: _folder,
        running,
        stop,
        ..
    } = server;
    drop(stop);
    running.await.unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<[&Value; 3]> = events
        .iter()
        .filter(|event| event["user"]["username"] != "system:apiserver")
        .map(|event| {
            [
                &event["responseObject"]["kind"],
                &event["responseObject"]["metadata"]["name"],
                &event["responseStatus"]["reason"],
            ]
        })
        .collect();
    assert_eq!(
        told,
        [
            [&json!("ConfigMap"), &json!("large"), &Value::Null],
            [&json!("Status"), &Value::Null, &json!("NotFound")],
        ]
    );
}
