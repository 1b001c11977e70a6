//! API priority and fairness: api-machinery.md §14/in-flight, §14/flows, §5/too-busy. The expectations are those of
//! upstream's `test/e2e/apimachinery/flowcontrol.go` and `test/integration/apiserver/flowcontrol`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use lockstep_apiserver::authz::allow_all;
use lockstep_apiserver::limits::Limits;
use lockstep_apiserver::{Handler, text};
use lockstep_testkit::client::{Answer, Client, config, raw};
use lockstep_testkit::wait::{eventually, holds};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::server::{Setup, TestServer};
use crate::world::World;

const FLOW: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ACCESS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// Resources whose requests are answered when the test permits, and the users in the order in which they were served.
#[derive(Clone)]
struct Stage {
    served: Arc<Mutex<Vec<String>>>,
    permits: Arc<Semaphore>,
}

impl Stage {
    fn new() -> Self {
        Self {
            served: Arc::default(),
            permits: Arc::new(Semaphore::new(0)),
        }
    }

    fn handler(&self) -> Handler {
        let stage = self.clone();
        Arc::new(move |request| {
            let stage = stage.clone();
            Box::pin(async move {
                let user = request.user.name.clone();
                stage.served.lock().push(user.clone());
                // The administrator is answered at once.
                if !request.user.is_in("system:masters") {
                    stage.permits.acquire().await.unwrap().forget();
                }
                text(StatusCode::OK, user)
            })
        })
    }

    fn setup(&self, seats: usize) -> Setup {
        Setup {
            limits: seats_of(seats),
            authorizer: allow_all(),
            handler: Some(self.handler()),
            ..Setup::default()
        }
    }

    /// Requests that were served, by user.
    fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for user in self.served.lock().iter() {
            *counts.entry(user.clone()).or_default() += 1;
        }
        counts
    }
}

fn seats_of(seats: usize) -> Limits {
    Limits {
        requests_inflight_max: seats,
        mutating_requests_inflight_max: 0,
        ..Limits::default()
    }
}

fn level(name: &str, shares: u32, queues: u32, length: u32) -> Value {
    let queuing = json!({ "queues": queues, "handSize": 1, "queueLengthLimit": length });
    json!({
        "metadata": { "name": name },
        "spec": { "type": "Limited", "limited": {
            "nominalConcurrencyShares": shares,
            "borrowingLimitPercent": 0,
            "limitResponse": { "type": "Queue", "queuing": queuing },
        } },
    })
}

fn schema(name: &str, level: &str, users: &[&str]) -> Value {
    let subject = |name: &&str| json!({ "kind": "User", "user": { "name": name } });
    let subjects: Vec<Value> = users.iter().map(subject).collect();
    let all = ["*"];
    json!({
        "metadata": { "name": name },
        "spec": {
            "matchingPrecedence": 1000,
            "priorityLevelConfiguration": { "name": level },
            "distinguisherMethod": { "type": "ByUser" },
            "rules": [{
                "subjects": subjects,
                "resourceRules": [{ "verbs": all, "apiGroups": all, "resources": all, "namespaces": all, "clusterScope": true }],
                "nonResourceRules": [{ "verbs": all, "nonResourceURLs": all }],
            }],
        },
    })
}

async fn as_user(client: &mut Client, user: &str, path: &str) -> Answer {
    let headers = [("impersonate-user", user)];
    client.send("GET", path, &headers, "").await
}

/// Schema and level that a response names.
fn flow_of(answer: &Answer) -> [String; 2] {
    let names = [
        "x-kubernetes-pf-flowschema-uid",
        "x-kubernetes-pf-prioritylevel-uid",
    ];
    names.map(|name| answer.header(name).to_owned())
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

/// Value of a metric, which is 0 until it is first set.
async fn metric(client: &mut Client, series: &str) -> u64 {
    let text = client.get("/metrics").await.body;
    let line = text.lines().find_map(|line| line.strip_prefix(series));
    line.map_or(0, |value| value.trim().parse().unwrap())
}

/// Upstream: requests can be classified by adding a FlowSchema and a PriorityLevelConfiguration.
#[tokio::test]
async fn a_response_names_the_flow_that_the_stored_objects_give_it() {
    let mut world = World::start(Setup::own()).await;
    let stored = async |world: &mut World, name: &str| {
        let schema = world.get(&format!("{FLOW}/flowschemas/{name}")).await;
        let level = schema["spec"]["priorityLevelConfiguration"]["name"].clone();
        let level = format!(
            "{FLOW}/prioritylevelconfigurations/{}",
            level.as_str().unwrap()
        );
        [uid(&schema), uid(&world.get(&level).await)]
    };
    let (exempt, probes) = (
        stored(&mut world, "exempt").await,
        stored(&mut world, "probes").await,
    );
    let default = stored(&mut world, "global-default").await;
    assert_eq!(flow_of(&world.client.get(MAPS).await), exempt);
    assert_eq!(flow_of(&world.client.get("/nowhere").await), exempt);
    let health = as_user(&mut world.client, "noxu", "/readyz").await;
    assert_eq!(flow_of(&health), probes);
    let refused = as_user(&mut world.client, "noxu", MAPS).await;
    assert_eq!(
        (refused.status.as_u16(), flow_of(&refused)),
        (403, default.clone())
    );
    // They are in force when their writes return, without a wait.
    let level = world
        .make(
            &format!("{FLOW}/prioritylevelconfigurations"),
            &level("e2e", 1, 16, 5),
        )
        .await;
    let made = world
        .make(
            &format!("{FLOW}/flowschemas"),
            &schema("e2e", "e2e", &["noxu"]),
        )
        .await;
    let matching = as_user(&mut world.client, "noxu", MAPS).await;
    assert_eq!(flow_of(&matching), [uid(&made), uid(&level)]);
    assert_eq!(
        flow_of(&as_user(&mut world.client, "foo", MAPS).await),
        default
    );
    let path = format!("{FLOW}/flowschemas/e2e");
    let merged = json!({ "spec": { "rules": null } });
    assert_eq!(world.patch(&path, &merged).await.status, 200);
    assert_eq!(
        flow_of(&as_user(&mut world.client, "noxu", MAPS).await),
        default
    );
    let unauthenticated = world
        .server
        .client(None)
        .await
        .send("GET", MAPS, &[("authorization", "Bearer x")], "")
        .await;
    assert_eq!(
        (unauthenticated.status.as_u16(), flow_of(&unauthenticated)),
        (401, Default::default())
    );
}

/// Upstream: `fs_condition_test.go`, and the metric that its specs poll.
#[tokio::test]
async fn a_schema_says_whether_its_level_exists_and_the_mandatory_objects_come_back() {
    let mut world = World::start(Setup::own()).await;
    let schemas = format!("{FLOW}/flowschemas");
    world
        .make(&schemas, &schema("mine", "late", &["alice"]))
        .await;
    let condition = async |world: &mut World, status: &str, reason: &str| {
        eventually("the condition is written", async || {
            let schema = world.get(&format!("{schemas}/mine")).await;
            let condition = &schema["status"]["conditions"][0];
            let is_so = condition["status"] == status && condition["reason"] == reason;
            holds(is_so && condition["type"] == "Dangling", condition.clone())
        })
        .await;
    };
    condition(&mut world, "True", "NotFound").await;
    world
        .make(
            &format!("{FLOW}/prioritylevelconfigurations"),
            &level("late", 30, 16, 5),
        )
        .await;
    let nominal = "apiserver_flowcontrol_nominal_limit_seats{priority_level=\"late\"}";
    assert_eq!(metric(&mut world.client, nominal).await, 66);
    condition(&mut world, "False", "Found").await;
    for path in [
        "flowschemas/catch-all",
        "prioritylevelconfigurations/exempt",
    ] {
        let path = format!("{FLOW}/{path}");
        let before = uid(&world.get(&path).await);
        assert_eq!(
            world.client.send("DELETE", &path, &[], "").await.status,
            200
        );
        eventually("the mandatory object is back", async || {
            let answer = world.client.get(&path).await;
            holds(
                answer.status == 200 && uid(&answer.json()) != before,
                answer.body,
            )
        })
        .await;
    }
}

/// Issues requests of a user, each on a stream of its own, and counts the answers by status.
async fn send_all(
    server: &TestServer,
    tasks: &mut JoinSet<(String, u16)>,
    user: &str,
    number: usize,
) {
    let client = server.client(Some(server.admin())).await;
    for _ in 0..number {
        let sent = client.get_aside("/api/v1/turns", &[("impersonate-user", user)]);
        let user = user.to_owned();
        tasks.spawn(async move { (user, sent.await.as_u16()) });
    }
}

/// Waits until all of these requests wait or are served.
async fn all_are_there(client: &mut Client, level: &str, number: u64) {
    eventually("the requests are there", async || {
        let text = client.get("/metrics").await.body;
        let label = format!("priority_level=\"{level}\"}}");
        let of = |name: &str| -> u64 {
            let lines = text
                .lines()
                .filter(|line| line.starts_with(name) && line.contains(&label));
            lines
                .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
                .sum()
        };
        let there = of("apiserver_flowcontrol_current_inqueue_requests{")
            + of("apiserver_flowcontrol_current_executing_requests{");
        holds(there == number, there)
    })
    .await;
}

/// Puts a level of one seat into the store, and a schema for some of its users. The handler of a [`Stage`] serves the
/// path of these objects, so that they cannot be created there.
async fn plant(world: &World, client: &mut Client, name: &str, level: Value, users: &[&str]) {
    world
        .plant(&format!("prioritylevelconfigurations/{name}"), Some(&level))
        .await;
    world
        .plant(
            &format!("flowschemas/{name}"),
            Some(&schema(name, name, users)),
        )
        .await;
    eventually("the level is in force", async || {
        let series =
            format!("apiserver_flowcontrol_nominal_limit_seats{{priority_level=\"{name}\"}}");
        let seats = metric(client, &series).await;
        holds(seats == 1, seats)
    })
    .await;
}

/// Number of requests that were served before the last one of alice and of bob, beside a flood of this size.
async fn last_turns(flood: usize) -> Vec<usize> {
    let stage = Stage::new();
    let world = World::start(stage.setup(1)).await;
    let mut client = world.admin().await;
    // So many queues that no two users share one.
    let level = level("users", 30, 1 << 20, 1_000);
    plant(
        &world,
        &mut client,
        "users",
        level,
        &["flood", "alice", "bob"],
    )
    .await;
    let mut tasks = JoinSet::new();
    let mut sent = 0;
    for (user, number) in [("flood", flood), ("alice", 6), ("bob", 6)] {
        send_all(&world.server, &mut tasks, user, number).await;
        sent += number as u64;
        all_are_there(&mut client, "users", sent).await;
    }
    stage.permits.add_permits(1 << 20);
    while let Some(done) = tasks.join_next().await {
        assert_eq!(done.unwrap().1, 200);
    }
    let served = stage.served.lock().clone();
    let last = |user: &str| served.iter().rposition(|served| served == user).unwrap();
    ["alice", "bob"].map(last).to_vec()
}

/// The flood was there first and is thirty times as large. Queues pay for the time that their requests took, so the
/// exact order depends on the machine; `lockstep-fairness` tests the shares in simulated time.
#[tokio::test]
async fn two_users_are_served_before_the_flood_of_a_third_ends() {
    let flood = 200;
    let turns = last_turns(flood).await;
    assert!(turns.iter().all(|turn| *turn < flood), "{turns:?}");
}

/// Upstream: `TestPriorityLevelIsolation`. The elephant's requests never end, and the mouse is served all the same.
#[tokio::test]
async fn a_level_is_not_delayed_by_another() {
    let stage = Stage::new();
    let world = World::start(stage.setup(2)).await;
    let (server, mut client) = (&world.server, world.admin().await);
    for user in ["elephant", "mouse"] {
        plant(&world, &mut client, user, level(user, 1, 100, 50), &[user]).await;
    }
    let mut tasks = JoinSet::new();
    send_all(server, &mut tasks, "elephant", 51).await;
    all_are_there(&mut client, "elephant", 51).await;
    assert_eq!(stage.counts(), BTreeMap::from([("elephant".to_owned(), 1)]));
    let mut mouse = JoinSet::new();
    send_all(server, &mut mouse, "mouse", 3).await;
    all_are_there(&mut client, "mouse", 3).await;
    assert_eq!(stage.counts()["mouse"], 1);
    stage.permits.add_permits(1 << 20);
    while let Some(done) = mouse.join_next().await {
        assert_eq!(done.unwrap().1, 200);
    }
    while let Some(done) = tasks.join_next().await {
        assert_eq!(done.unwrap().1, 200);
    }
    for (user, sent) in [("elephant", 51), ("mouse", 3)] {
        let dispatched = format!(
            "apiserver_flowcontrol_dispatched_requests_total{{flow_schema=\"{user}\",priority_level=\"{user}\"}}"
        );
        assert_eq!(metric(&mut client, &dispatched).await, sent);
    }
    let text = client.get("/metrics").await.body;
    assert!(
        !text.contains("apiserver_flowcontrol_rejected_requests_total{"),
        "none was refused"
    );
}

#[tokio::test]
async fn an_administrator_and_health_checks_need_no_seat_and_others_are_told_to_come_back() {
    let stage = Stage::new();
    let server = TestServer::with(stage.setup(1)).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let mut tasks = JoinSet::new();
    send_all(&server, &mut tasks, "alice", 1).await;
    all_are_there(&mut client, "global-default", 1).await;
    // It waits for a quarter of its time.
    let late = as_user(&mut client, "bob", "/api/v1/turns?timeout=80ms").await;
    let (code, reason, message) = late.failure();
    assert_eq!(
        (code, reason.as_str(), message.as_str()),
        (
            429,
            "TooManyRequests",
            "Too many requests, please try again later."
        )
    );
    assert_eq!(late.header("retry-after"), "1");
    assert_ne!(flow_of(&late), [String::new(), String::new()]);
    let refused = "apiserver_flowcontrol_rejected_requests_total{flow_schema=\"global-default\",priority_level=\"global-default\",reason=\"time-out\"}";
    assert_eq!(metric(&mut client, refused).await, 1);
    assert_eq!(client.get("/api/v1/turns").await.status, 200);
    let mut stranger = server.client(None).await;
    assert_eq!(stranger.get("/readyz").await.brief(), (200, "ok"));
    assert_eq!(stranger.get("/livez").await.brief(), (200, "ok"));
    stage.permits.add_permits(1);
    assert_eq!(tasks.join_next().await.unwrap().unwrap().1, 200);
    assert_eq!(stage.counts().get("bob"), None);
}

/// A client that leaves its queue, or is dropped while it is served, gives back what it had.
#[tokio::test]
async fn requests_that_are_given_up_leave_no_trace() {
    let stage = Stage::new();
    let server = TestServer::with(stage.setup(1)).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let mut tasks = JoinSet::new();
    send_all(&server, &mut tasks, "alice", 20).await;
    all_are_there(&mut client, "global-default", 20).await;
    tasks.shutdown().await;
    all_are_there(&mut client, "global-default", 0).await;
    let dump = "/debug/api_priority_and_fairness/dump_queues";
    eventually("no queue has a request", async || {
        let queues = client.get(dump).await.body;
        holds(!queues.contains("global-default"), queues)
    })
    .await;
    send_all(&server, &mut tasks, "bob", 1).await;
    stage.permits.add_permits(1);
    assert_eq!(
        tasks.join_next().await.unwrap().unwrap(),
        ("bob".to_owned(), 200)
    );
}

/// A watch has seats while it begins, and none afterwards.
#[tokio::test]
async fn watches_give_back_their_seats_once_they_have_begun() {
    let world = World::start(Setup {
        limits: seats_of(1),
        authorizer: allow_all(),
        ..Setup::own()
    })
    .await;
    let mut client = world.admin().await;
    let alice = [("impersonate-user", "alice")];
    let mut watches = Vec::new();
    for version in [
        "",
        "&resourceVersion=0",
        "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
    ] {
        let path = format!("{MAPS}?watch=true{version}");
        let watch = client.open("GET", &path, &alice, "".into()).await.unwrap();
        assert_eq!(watch.status(), 200, "{version}");
        watches.push(watch);
    }
    assert_eq!(as_user(&mut client, "alice", MAPS).await.status, 200);
}

/// Issue: one-byte bodies held all slots for mutating requests.
#[tokio::test]
async fn bodies_that_arrive_slowly_hold_no_seats() {
    let world = World::start(Setup {
        limits: seats_of(2),
        ..Setup::own()
    })
    .await;
    let mut slow = Vec::new();
    for _ in 0..20 {
        let config = config(
            &world.server.authority(),
            Some(world.server.admin()),
            "http/1.1",
        );
        let mut stream = raw(world.server.address, "localhost", config)
            .await
            .unwrap();
        let head = format!(
            "POST {ACCESS} HTTP/1.1\r\nhost: a\r\nimpersonate-user: alice\r\ncontent-type: application/json\r\ncontent-length: 450\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        slow.push(stream);
    }
    let mut client = world.admin().await;
    let body = json!({ "spec": { "resourceAttributes": { "verb": "get", "resource": "pods" } } })
        .to_string();
    for user in ["alice", "bob"] {
        let headers = [
            ("impersonate-user", user),
            ("content-type", "application/json"),
        ];
        let path = format!("{ACCESS}?timeout=20s");
        let answer = client.send("POST", &path, &headers, body.clone()).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    let executing = "apiserver_flowcontrol_current_executing_requests{flow_schema=\"global-default\",priority_level=\"global-default\"}";
    assert_eq!(metric(&mut client, executing).await, 0);
}

#[tokio::test]
async fn the_state_of_levels_and_queues_can_be_read() {
    let stage = Stage::new();
    let server = TestServer::with(stage.setup(1)).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let mut tasks = JoinSet::new();
    send_all(&server, &mut tasks, "alice", 2).await;
    all_are_there(&mut client, "global-default", 2).await;
    let debug = "/debug/api_priority_and_fairness";
    let levels = client
        .get(&format!("{debug}/dump_priority_levels"))
        .await
        .body;
    let row = |name: &str| -> Vec<String> {
        let line = levels.lines().find(|line| line.starts_with(name)).unwrap();
        line.split(',').map(|cell| cell.trim().to_owned()).collect()
    };
    let busy = [
        "global-default",
        "1",
        "false",
        "false",
        "1",
        "1",
        "1",
        "0",
        "0",
        "0",
    ];
    assert_eq!(row("global-default"), busy);
    let queues = client.get(&format!("{debug}/dump_queues")).await.body;
    assert!(
        queues
            .lines()
            .any(|line| line.starts_with("global-default,")),
        "{queues}"
    );
}

/// `--enable-priority-and-fairness=false`.
#[tokio::test]
async fn without_priority_and_fairness_the_plain_limits_hold() {
    let stage = Stage::new();
    let mut setup = stage.setup(1);
    setup.limits.priority_and_fairness = false;
    let server = TestServer::with(setup).await;
    server.ready().await;
    let mut client = server.client(Some(server.admin())).await;
    let mut tasks = JoinSet::new();
    send_all(&server, &mut tasks, "alice", 1).await;
    eventually("alice is served", async || {
        let counts = stage.counts();
        holds(counts.contains_key("alice"), counts)
    })
    .await;
    let refused = client.get("/api/v1/turns").await;
    assert_eq!(
        (refused.status.as_u16(), flow_of(&refused)),
        (429, Default::default())
    );
    let dump = client
        .get("/debug/api_priority_and_fairness/dump_queues")
        .await;
    assert_eq!(dump.status, 429);
    stage.permits.add_permits(1);
    assert_eq!(tasks.join_next().await.unwrap().unwrap().1, 200);
    let dump = client
        .get("/debug/api_priority_and_fairness/dump_queues")
        .await;
    assert_eq!(dump.status, 404);
}

/// A body that takes long to compute leaves its thread to the others: the runtime has one, and the computation ends when
/// a small request has been answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn small_requests_are_answered_while_a_large_body_is_computed() {
    let is_answered = Arc::new(AtomicBool::new(false));
    let answered = Arc::clone(&is_answered);
    let handler: Handler = Arc::new(move |request| {
        let answered = Arc::clone(&answered);
        Box::pin(async move {
            let body = request.body.read().await.unwrap();
            if body.is_empty() {
                answered.store(true, Ordering::SeqCst);
                return text(StatusCode::OK, "small");
            }
            while !answered.load(Ordering::SeqCst) {
                std::hint::spin_loop();
            }
            text(StatusCode::OK, "large")
        })
    });
    let server = TestServer::with(Setup {
        handler: Some(handler),
        ..Setup::default()
    })
    .await;
    let mut large = server.client(Some(server.admin())).await;
    let mut small = server.client(Some(server.admin())).await;
    let body = vec![b' '; (64 << 10) + 1];
    let computing = large.send("POST", "/api/v1/turns", &[], body);
    let others = async {
        // The computation has begun once it has its turn; whenever that is, these are answered.
        let answers = [
            small.get("/livez").await.status,
            small.get("/api/v1/turns").await.status,
        ];
        answers.map(|status| status.as_u16())
    };
    let (computed, others) = tokio::join!(computing, others);
    assert_eq!(computed.brief(), (200, "large"));
    assert_eq!(others, [200, 200]);
}
