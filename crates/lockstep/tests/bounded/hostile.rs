//! A user who sends the most expensive requests of every kind, verb and patch type, beside users with a normal load.
//! `cargo xtask hostile` runs it for as long as wanted: api-machinery.md §6, §11.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use http_body_util::BodyExt as _;
use kube::Client;
use lockstep_testkit::bodies;
use parking_lot::Mutex;
use serde_json::json;
use tokio::task::JoinSet;

use crate::neighbours::{self, Latencies, timed, user};
use crate::requests::{Random, Request, targets};
use crate::server::Server;
use crate::usage::Usage;

/// Connections of the hostile user, each with one request at a time.
const ATTACKERS: usize = 8;
/// Time of a run in CI.
const SHORT: Duration = Duration::from_secs(20);
/// Bodies in CI, where the server is not optimised; otherwise up to the limit of a body.
const SHORT_BODY_BYTES_MAX: usize = 128 << 10;
const BODY_BYTES_MAX: usize = 3 << 20;
/// Memory that the server may take: the budget of bodies (256 MiB), what the heavy work of a few of them needs, and
/// responses that wait for their reader.
const MEMORY_MEBIBYTES_MAX: f64 = 2048.0;
/// Longest request of another user.
const LATENCY_MAX: Duration = Duration::from_secs(1);
const SAMPLE_INTERVAL: Duration = Duration::from_millis(100);
/// Internal errors that are shown.
const FAULTS_MAX: usize = 10;
/// Bytes of an answer that a failure shows.
const SHOWN_BYTES_MAX: usize = 2048;
/// Time that an unread watch stays open.
const UNREAD: Duration = Duration::from_secs(2);

/// Length of a run.
struct Length {
    time: Duration,
    body_bytes_max: usize,
    /// Whether latencies are judged: only of an optimised server.
    is_timed: bool,
}

impl Length {
    fn of_environment() -> Self {
        match std::env::var("LOCKSTEP_HOSTILE_MINUTES") {
            Ok(minutes) => Self {
                time: Duration::from_secs(60 * minutes.parse::<u64>().unwrap()),
                body_bytes_max: BODY_BYTES_MAX,
                is_timed: true,
            },
            Err(_) => Self {
                time: SHORT,
                body_bytes_max: SHORT_BODY_BYTES_MAX,
                is_timed: false,
            },
        }
    }
}

/// Answers of the server to the hostile user.
#[derive(Default)]
struct Answers {
    codes: Mutex<BTreeMap<u16, u64>>,
    /// The first requests that were answered by an internal error.
    faults: Mutex<Vec<String>>,
    slowest: Mutex<(Duration, String)>,
}

impl Answers {
    fn count(&self, code: u16, request: &str, body: &[u8], took: Duration) {
        *self.codes.lock().entry(code).or_default() += 1;
        let mut slowest = self.slowest.lock();
        if took > slowest.0 {
            *slowest = (took, request.to_owned());
        }
        let mut faults = self.faults.lock();
        if code == 500 && faults.len() < FAULTS_MAX {
            faults.push(format!("{request}: {}", String::from_utf8_lossy(body)));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_user_does_not_keep_others_from_the_server() {
    let length = Length::of_environment();
    let seed = std::env::var("LOCKSTEP_HOSTILE_SEED").map_or(1, |seed| seed.parse().unwrap());
    println!("hostile: {:.0?}; seed {seed}", length.time);
    let folder = tempfile::tempdir().unwrap();
    let server = Server::embedded(folder.path(), &["--etcd-compaction-interval", "30s"]);
    let admin = server.client().await;
    define(&admin).await;
    let targets = Arc::new(targets(&admin).await);
    assert!(targets.len() > 60, "{} kinds", targets.len());

    let is_over = Arc::new(AtomicBool::new(false));
    let answers = Arc::new(Answers::default());
    let sent = Arc::new(AtomicU64::new(0));
    let mut attack = JoinSet::new();
    for number in 0..ATTACKERS {
        let client = user(&server, "hostile", "attacker", "cluster-admin").await;
        let mut random = Random::new(seed, number);
        let (targets, answers) = (targets.clone(), answers.clone());
        let (is_over, sent) = (is_over.clone(), sent.clone());
        let bytes_max = length.body_bytes_max;
        attack.spawn(async move {
            while !is_over.load(Ordering::Relaxed) {
                let request = random.request(&targets, bytes_max);
                sent.fetch_add(1, Ordering::Relaxed);
                submit(&client, request, &answers).await;
            }
        });
    }
    let latencies = neighbours::start(&server, &is_over).await;
    let peak = watch_memory(&server, length.time).await;
    is_over.store(true, Ordering::Relaxed);
    attack.join_all().await;
    let latencies: Latencies = latencies.await;

    println!("{} hostile requests", sent.load(Ordering::Relaxed));
    println!("answers: {:?}", answers.codes.lock());
    println!("slowest hostile request: {:?}", answers.slowest.lock());
    println!("memory: {peak:.0} MiB at most\n{}", latencies.table());
    assert_eq!(*answers.faults.lock(), [""; 0]);
    assert_eq!(latencies.refused, [""; 0]);
    assert!(peak < MEMORY_MEBIBYTES_MAX, "{peak:.0} MiB");
    if length.is_timed {
        assert!(
            latencies.slowest() < LATENCY_MAX,
            "{:?}",
            latencies.slowest()
        );
    }
}

/// Greatest memory of the server in a time.
async fn watch_memory(server: &Server, time: Duration) -> f64 {
    let mut interval = tokio::time::interval(SAMPLE_INTERVAL);
    let mut peak: f64 = 0.0;
    let sampled = async {
        loop {
            interval.tick().await;
            peak = peak.max(Usage::memory_of(server.id()));
        }
    };
    let _: Result<std::convert::Infallible, _> = tokio::time::timeout(time, sampled).await;
    peak
}

/// Sends a request and counts its answer.
async fn submit(client: &Client, request: Request, answers: &Answers) {
    let what = request.to_string();
    let (cleanup, is_watch) = (request.cleanup(), request.is_watch());
    let (answered, took) = timed(answer(client, request)).await;
    let Some((code, body)) = answered else {
        // A connection that the server closed on a body past its limits.
        answers.count(0, &what, b"", took);
        return;
    };
    let took = if is_watch { Duration::ZERO } else { took };
    answers.count(code, &what, &body, took);
    if let (200..300, Some(cleanup)) = (code, cleanup) {
        answer(client, cleanup).await;
    }
}

/// Code of the answer, and the beginning of its body. A watch is left unread for a time.
async fn answer(client: &Client, request: Request) -> Option<(u16, Vec<u8>)> {
    let is_watch = request.is_watch();
    let response = client.send(request.into_http()).await.ok()?;
    let code = response.status().as_u16();
    let mut body = response.into_body();
    let mut text = Vec::new();
    if is_watch {
        drop(tokio::time::timeout(UNREAD, std::future::pending::<()>()).await);
        return Some((code, text));
    }
    while let Some(Ok(frame)) = body.frame().await {
        let bytes = frame.into_data().unwrap_or_default();
        text.extend_from_slice(&bytes[..bytes.len().min(SHOWN_BYTES_MAX - text.len())]);
    }
    Some((code, text))
}

/// Defines custom resources that cost much to validate, one kind each, as far as the server accepts them.
async fn define(admin: &Client) {
    for (number, (_, schema, _)) in bodies::customs(0).into_iter().enumerate() {
        let map = json!({ "type": "object", "additionalProperties": {
            "type": "object", "properties": { "l": schema } } });
        let spec = json!({ "type": "object", "properties": { "l": schema, "m": map } });
        let plural = format!("costs{number}");
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("{plural}.ex.io") },
            "spec": {
                "group": "ex.io", "scope": "Namespaced",
                "names": { "plural": plural, "singular": format!("cost{number}"),
                    "kind": format!("Cost{number}"), "listKind": format!("Cost{number}List") },
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                    "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } } }],
            },
        });
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let (code, answer) = neighbours::send(admin, "POST", path, &definition).await;
        // A rule whose cost by estimate is too high is refused.
        let is_costly = code == 422 && answer.contains("estimated rule cost");
        assert!(code == 201 || is_costly, "{plural}: {code} {answer}");
    }
}
