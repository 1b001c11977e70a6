//! Users with a normal load, and the time that each of their requests takes.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::AuthInfo;
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::server::Server;

/// Pause of a user between two requests.
const PAUSE: Duration = Duration::from_millis(20);
/// Namespaces of users with a normal load.
const TENANTS: [&str; 2] = ["tenant-a", "tenant-b"];

/// Sends a request that must succeed.
pub(crate) async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> Value {
    let (code, answer) = send(client, method, path, body).await;
    assert!(
        (200..300).contains(&code),
        "{method} {path}: {code} {answer}"
    );
    serde_json::from_str(&answer).unwrap_or(Value::Null)
}

pub(crate) async fn send(client: &Client, method: &str, path: &str, body: &Value) -> (u16, String) {
    let media_type = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = hyper::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", media_type)
        .body(Body::from(body));
    let response = client.send(request.unwrap()).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8_lossy(&body).into_owned())
}

/// A client with the token of a service account, which gets a role: in its namespace, or everywhere for
/// `cluster-admin`. Namespace and account are made if they are missing.
pub(crate) async fn user(server: &Server, namespace: &str, account: &str, role: &str) -> Client {
    let admin = server.client().await;
    let make = async |path: &str, object: Value| {
        let (code, answer) = send(&admin, "POST", path, &object).await;
        assert!(matches!(code, 201 | 409), "{path}: {code} {answer}");
    };
    make(
        "/api/v1/namespaces",
        json!({ "metadata": { "name": namespace } }),
    )
    .await;
    let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
    make(&accounts, json!({ "metadata": { "name": account } })).await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    let path = match role {
        "cluster-admin" => format!("{rbac}/clusterrolebindings"),
        _ => format!("{rbac}/namespaces/{namespace}/rolebindings"),
    };
    let binding = json!({
        "metadata": { "name": format!("{namespace}-{account}") },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
        "subjects": [{ "kind": "ServiceAccount", "namespace": namespace, "name": account }],
    });
    make(&path, binding).await;
    let request = json!({ "spec": { "expirationSeconds": 24 * 3600 } });
    let token = ask(
        &admin,
        "POST",
        &format!("{accounts}/{account}/token"),
        &request,
    )
    .await;
    let token = token["status"]["token"].as_str().unwrap().to_owned();
    let mut config: Config = server.config().await;
    config.auth_info = AuthInfo {
        token: Some(token.into()),
        ..AuthInfo::default()
    };
    Client::try_from(config).unwrap()
}

/// Does work, and tells how long it took.
#[expect(
    clippy::disallowed_methods,
    reason = "the time of an answer is the result"
)]
pub(crate) async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = Instant::now();
    let done = work.await;
    (done, began.elapsed())
}

/// Times of the requests of all normal users.
#[derive(Default)]
pub(crate) struct Latencies {
    times: BTreeMap<&'static str, Vec<Duration>>,
    /// Requests that were not answered as expected, the first few.
    pub(crate) refused: Vec<String>,
}

impl Latencies {
    async fn measure(
        &mut self,
        name: &'static str,
        client: &Client,
        request: (&str, &str, &Value),
    ) {
        let (method, path, body) = request;
        let ((code, answer), took) = timed(send(client, method, path, body)).await;
        self.times.entry(name).or_default().push(took);
        if !(200..300).contains(&code) && self.refused.len() < 10 {
            self.refused
                .push(format!("{name}: {method} {path}: {code} {answer}"));
        }
        drop(tokio::time::timeout(PAUSE, std::future::pending::<()>()).await);
    }

    fn add(&mut self, other: Self) {
        for (name, times) in other.times {
            self.times.entry(name).or_default().extend(times);
        }
        self.refused.extend(other.refused);
    }

    /// The slowest request of all.
    pub(crate) fn slowest(&self) -> Duration {
        self.times
            .values()
            .flatten()
            .copied()
            .max()
            .unwrap_or_default()
    }

    pub(crate) fn table(&self) -> String {
        let mut table = format!(
            "{:<24} {:>8} {:>10} {:>10} {:>10}",
            "", "requests", "p50", "p99", "max"
        );
        for (name, times) in &self.times {
            let mut times = times.clone();
            times.sort_unstable();
            let part = |percent: usize| times[(times.len() - 1) * percent / 100];
            let count = times.len();
            table += &format!(
                "\n{name:<24} {count:>8} {:>10.1?} {:>10.1?} {:>10.1?}",
                part(50),
                part(99),
                part(100)
            );
        }
        table
    }
}

/// Starts two users with rights in namespaces of their own, an administrator, and a prober of health checks. They stop when
/// the attack is over.
pub(crate) async fn start(
    server: &Server,
    is_over: &Arc<AtomicBool>,
) -> impl Future<Output = Latencies> {
    let mut working = JoinSet::new();
    for namespace in TENANTS {
        let client = user(server, namespace, "worker", "admin").await;
        working.spawn(tenant(client, namespace, is_over.clone()));
    }
    working.spawn(administrator(server.client().await, is_over.clone()));
    async move {
        let mut all = Latencies::default();
        for latencies in working.join_all().await {
            all.add(latencies);
        }
        all
    }
}

async fn tenant(client: Client, namespace: &str, is_over: Arc<AtomicBool>) -> Latencies {
    let mut latencies = Latencies::default();
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let mut number = 0;
    while !is_over.load(Ordering::Relaxed) {
        number += 1;
        let map = format!("{maps}/m{number}");
        let object = json!({ "metadata": { "name": format!("m{number}") }, "data": { "a": "b" } });
        let change = json!({ "data": { "a": "c" } });
        let requests = [
            ("create", "POST", &maps, &object),
            ("get", "GET", &map, &Value::Null),
            ("patch", "PATCH", &map, &change),
            ("list", "GET", &maps, &Value::Null),
            ("delete", "DELETE", &map, &Value::Null),
        ];
        for (name, method, path, body) in requests {
            latencies.measure(name, &client, (method, path, body)).await;
        }
    }
    latencies
}

async fn administrator(client: Client, is_over: Arc<AtomicBool>) -> Latencies {
    let mut latencies = Latencies::default();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let lease = json!({ "metadata": { "name": "renewed" } });
    ask(&client, "POST", leases, &lease).await;
    let lease = format!("{leases}/renewed");
    let renewal = json!({ "spec": { "holderIdentity": "a", "leaseDurationSeconds": 15 } });
    while !is_over.load(Ordering::Relaxed) {
        let none = &Value::Null;
        latencies
            .measure("readyz", &client, ("GET", "/readyz", none))
            .await;
        latencies
            .measure("lease", &client, ("PATCH", &lease, &renewal))
            .await;
        let namespace = "/api/v1/namespaces/kube-system";
        latencies
            .measure("admin get", &client, ("GET", namespace, none))
            .await;
    }
    latencies
}
