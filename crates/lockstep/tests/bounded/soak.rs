//! A server under churn of all kinds: it uses at the end what it used after the warm-up. `cargo xtask soak` runs it for
//! as long as wanted.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::outage::get;
use crate::server::Server;
use crate::usage::{Usage, heading};

/// Growth that is tolerated, as a factor and an absolute amount.
const GROWTH_MAX: f64 = 1.25;
const MEMORY_SLACK_MEBIBYTES: f64 = 16.0;
const DISK_SLACK_MEBIBYTES: f64 = 32.0;
/// Connections that close at their own time.
const DESCRIPTORS_SLACK: usize = 8;
/// Threads of the runtime for blocking work, which end at their own time.
const THREADS_SLACK: usize = 4;
/// Longest wait for what has ended to be given back.
const SETTLE_MAX: Duration = Duration::from_secs(3 * 60);
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// Part of the time that is warm-up.
const WARM_UP_PART: u32 = 4;
/// Time of a run in CI.
const SHORT: Duration = Duration::from_secs(24);

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// One kind of churn: all that it makes in a round is gone after it, or soon expires.
type Round = fn(Client, u64) -> futures::future::BoxFuture<'static, ()>;

const ROUNDS: [(&str, Round); 7] = [
    ("objects", |client, n| Box::pin(objects(client, n))),
    ("definitions and gates", |client, n| {
        Box::pin(definitions(client, n))
    }),
    ("watches", |client, n| Box::pin(watches(client, n))),
    ("tokens", |client, n| Box::pin(tokens(client, n))),
    ("events", |client, n| Box::pin(events(client, n))),
    ("namespaces", |client, n| Box::pin(namespaces(client, n))),
    ("leases", |client, n| Box::pin(leases(client, n))),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_server_under_churn_uses_at_the_end_what_it_used_after_the_warm_up() {
    let minutes = std::env::var("LOCKSTEP_SOAK_MINUTES");
    let whole = minutes.map_or(SHORT, |minutes| {
        Duration::from_secs(60 * minutes.parse::<u64>().unwrap())
    });
    let folder = tempfile::tempdir().unwrap();
    let flags = [
        "--etcd-compaction-interval",
        "2s",
        "--event-ttl",
        "2s",
        "--feature-gates",
        "CRDFieldLevelVersioning=true",
    ];
    let server = Server::embedded(folder.path(), &flags);
    let warm_up = whole / WARM_UP_PART;
    let counted = Arc::new(Counts::default());
    churn(&server, warm_up, &counted).await;
    let before = settled(&server, None).await;
    churn(&server, warm_up * (WARM_UP_PART - 1), &counted).await;
    let after = settled(&server, Some(before)).await;
    println!("soak of {whole:.0?}\n{}", heading());
    println!("{}", before.row("after the warm-up"));
    println!("{}", after.row("at the end"));
    for ((name, _), count) in ROUNDS.iter().zip(&counted.0) {
        println!("{name:<24} {:>8} rounds", count.load(Ordering::Relaxed));
    }
    assert_eq!(grown(&before, &after), [""; 0]);
}

/// Rounds of each kind.
#[derive(Default)]
struct Counts([AtomicU64; ROUNDS.len()]);

/// Runs all kinds of churn beside each other.
async fn churn(server: &Server, time: Duration, counted: &Arc<Counts>) {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut churning = JoinSet::new();
    for (at, (_, round)) in ROUNDS.into_iter().enumerate() {
        let (client, counted, is_over) = (server.client().await, counted.clone(), is_over.clone());
        churning.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let number = counted.0[at].fetch_add(1, Ordering::Relaxed);
                round(client.clone(), number).await;
            }
        });
    }
    drop(tokio::time::timeout(time, std::future::pending::<()>()).await);
    is_over.store(true, Ordering::Relaxed);
    churning.join_all().await;
}

/// Waits until the server uses no more than before, or as little as it will; returns the last look.
#[expect(
    clippy::disallowed_methods,
    reason = "the server gives back what it no longer needs after a time of its own"
)]
async fn settled(server: &Server, before: Option<Usage>) -> Usage {
    const QUIET_LOOKS: u32 = 20;
    let until = Instant::now() + SETTLE_MAX;
    let mut interval = tokio::time::interval(LOOK_INTERVAL);
    let mut looks = 0;
    loop {
        interval.tick().await;
        looks += 1;
        let now = Usage::of(server.id(), server.data());
        let is_settled = match &before {
            Some(before) => grown(before, &now).is_empty(),
            None => looks >= QUIET_LOOKS,
        };
        if is_settled || Instant::now() >= until {
            return now;
        }
    }
}

/// Resources that have grown beyond their tolerance.
fn grown(before: &Usage, after: &Usage) -> Vec<&'static str> {
    let is_more = |before: f64, after: f64, slack| after > before * GROWTH_MAX + slack;
    let grown = [
        (
            "memory",
            is_more(before.memory, after.memory, MEMORY_SLACK_MEBIBYTES),
        ),
        (
            "disk",
            is_more(before.disk, after.disk, DISK_SLACK_MEBIBYTES),
        ),
        (
            "descriptors",
            after.descriptors > before.descriptors + DESCRIPTORS_SLACK,
        ),
        ("threads", after.threads > before.threads + THREADS_SLACK),
    ];
    let grown = grown.into_iter().filter(|(_, has_grown)| *has_grown);
    grown.map(|(what, _)| what).collect()
}

/// Sends a request that must succeed.
async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let (code, answer) = send(client, method, path, body).await;
    assert!(
        (200..300).contains(&code),
        "{method} {path}: {code} {answer}"
    );
    answer
}

async fn send(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let media_type = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = hyper::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type);
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let response = client.send(request.body(Body::from(body.into_bytes())).unwrap());
    let response = response.await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap())
}

async fn objects(client: Client, number: u64) {
    let name = format!("object-{number}");
    let map = json!({ "metadata": { "name": name }, "data": { "k": "x".repeat(2000) } });
    ask(&client, "POST", CONFIG_MAPS, &map).await;
    let path = format!("{CONFIG_MAPS}/{name}");
    for nth in 0..3 {
        let merged = json!({ "data": { "nth": nth.to_string() } });
        ask(&client, "PATCH", &path, &merged).await;
    }
    ask(
        &client,
        "GET",
        &format!("{CONFIG_MAPS}?limit=5"),
        &Value::Null,
    )
    .await;
    ask(&client, "DELETE", &path, &Value::Null).await;
}

fn definition(group: &str, is_open: bool) -> Value {
    let spec = json!({ "type": "object", "properties": {
        "size": { "type": "integer" }, "note": { "type": "string" },
    } });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
            "customFeatureGates": { "component": "istio", "featureGates": [{
                "name": "N", "preRelease": "alpha", "enabled": is_open, "fieldPaths": [".spec.note"],
            }] },
        },
    })
}

async fn definitions(client: Client, number: u64) {
    let group = format!("soak{number}.example.com");
    ask(&client, "POST", CRDS, &definition(&group, true)).await;
    let widgets = format!("/apis/{group}/v1/namespaces/default/widgets");
    let widget = json!({
        "apiVersion": format!("{group}/v1"), "kind": "Widget",
        "metadata": { "name": "w" }, "spec": { "size": 1, "note": "n" },
    });
    // The definition is served when its status says so.
    while send(&client, "POST", &widgets, &widget).await.0 != 201 {}
    let path = format!("{CRDS}/widgets.{group}");
    for is_open in [false, true, false] {
        let flip = json!({ "spec": { "customFeatureGates": definition(&group, is_open)["spec"]["customFeatureGates"] } });
        ask(&client, "PATCH", &path, &flip).await;
        let merged = json!({ "spec": { "size": number, "note": number.to_string() } });
        ask(&client, "PATCH", &format!("{widgets}/w"), &merged).await;
    }
    ask(&client, "DELETE", &path, &Value::Null).await;
    while send(&client, "GET", &path, &Value::Null).await.0 != 404 {}
}

async fn watches(client: Client, number: u64) {
    let (bookmarks, scope) = ("allowWatchBookmarks=true", number % 3);
    let path = match scope {
        0 => format!("{CONFIG_MAPS}?watch=true&{bookmarks}"),
        1 => "/api/v1/namespaces?watch=true&labelSelector=a%3Db".to_owned(),
        _ => format!("/api/v1/events?watch=true&{bookmarks}&resourceVersion=0"),
    };
    let mut open = Vec::new();
    for _ in 0..10 {
        let request = hyper::Request::get(&path).body(Body::empty()).unwrap();
        open.push(client.send(request).await.unwrap());
    }
    // Some are read, and all are left without a word.
    if scope != 1 {
        for watch in open.iter_mut().take(5) {
            watch.body_mut().frame().await.unwrap().unwrap();
        }
    }
}

async fn tokens(client: Client, _: u64) {
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 600 },
    });
    let token = ask(&client, "POST", path, &request).await;
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": { "token": token["status"]["token"] },
    });
    let path = "/apis/authentication.k8s.io/v1/tokenreviews";
    let reviewed = ask(&client, "POST", path, &review).await;
    assert_eq!(reviewed["status"]["authenticated"], true, "{reviewed}");
}

async fn events(client: Client, number: u64) {
    let event = json!({
        "metadata": { "name": format!("event-{number}") },
        "involvedObject": { "kind": "ConfigMap", "namespace": "default", "name": "a" },
        "reason": "Soak", "message": "x".repeat(500), "type": "Normal",
    });
    ask(&client, "POST", "/api/v1/namespaces/default/events", &event).await;
}

async fn namespaces(client: Client, number: u64) {
    let name = format!("soak-{number}");
    let namespace = json!({ "metadata": { "name": name } });
    ask(&client, "POST", "/api/v1/namespaces", &namespace).await;
    let map = json!({ "metadata": { "name": "in-it" } });
    let maps = format!("/api/v1/namespaces/{name}/configmaps");
    ask(&client, "POST", &maps, &map).await;
    let path = format!("/api/v1/namespaces/{name}");
    ask(&client, "DELETE", &path, &Value::Null).await;
    while get(&client, &path).await.0 != 404 {}
}

async fn leases(client: Client, number: u64) {
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let name = format!("lease-{}", number % 10);
    let path = format!("{leases}/{name}");
    let renewed =
        json!({ "spec": { "holderIdentity": number.to_string(), "leaseDurationSeconds": 15 } });
    if send(&client, "PATCH", &path, &renewed).await.0 == 404 {
        let mut lease = renewed;
        lease["metadata"] = json!({ "name": name });
        ask(&client, "POST", leases, &lease).await;
    }
}
