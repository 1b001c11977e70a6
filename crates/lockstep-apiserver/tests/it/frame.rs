//! Filters around all handlers: audit ID, warnings, body limits, timeouts, inflight limits and panics.

use std::time::Duration;

use lockstep_apiserver::authz::allow_all;
use lockstep_apiserver::limits::{BODY_BYTES_MAX, Limits};

use crate::server::{Setup, TestServer};

/// api-machinery.md §4/headers: `Audit-Id`, `Cache-Control`.
#[tokio::test]
async fn every_answer_has_an_audit_id_and_is_not_for_caches() {
    let server = TestServer::start().await;
    for mut client in [server.client(None).await, server.client_http1(None).await] {
        for path in ["/healthz", "/nothing", "/api/v1/users"] {
            let answer = client.get(path).await;
            assert_eq!(
                answer.header("cache-control"),
                "no-cache, private",
                "{path}"
            );
            assert_eq!(answer.header("audit-id").len(), 36, "{path}");
        }
        let answer = client
            .send("GET", "/healthz", &[("audit-id", "my-id.7")], "")
            .await;
        assert_eq!(answer.header("audit-id"), "my-id.7");
        let answer = client
            .send("GET", "/healthz", &[("audit-id", "<script>")], "")
            .await;
        assert_eq!(answer.header("audit-id").len(), 36);
    }
}

/// api-machinery.md §4/warnings.
#[tokio::test]
async fn warnings_are_headers_once_each() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let answer = client.get("/api/v1/warnings").await;
    let warnings: Vec<&str> = answer
        .headers
        .get_all("warning")
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect();
    assert_eq!(
        warnings,
        ["299 - \"first \\\"one\\\"\"", "299 - \"second\""]
    );
}

/// api-machinery.md §4/body-read and §14/sizes: 413, and the connection goes on.
#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_the_connection_survives() {
    let server = TestServer::start().await;
    for mut client in [
        server.client(Some(server.admin())).await,
        server.client_http1(Some(server.admin())).await,
    ] {
        let answer = client
            .send("POST", "/api/v1/echoes", &[], vec![b' '; BODY_BYTES_MAX])
            .await;
        assert_eq!(answer.brief(), (200, "3145728 bytes"));
        let answer = client
            .send(
                "POST",
                "/api/v1/echoes",
                &[],
                vec![b' '; BODY_BYTES_MAX + 1],
            )
            .await;
        assert_eq!(
            answer.failure(),
            (
                413,
                "RequestEntityTooLarge".to_owned(),
                "Request entity too large: limit is 3145728".to_owned()
            )
        );
        assert_eq!(client.get("/healthz").await.brief(), (200, "ok"));
    }
}

#[tokio::test]
async fn a_refused_request_with_a_body_leaves_the_connection_usable() {
    let server = TestServer::start().await;
    let mut client = server.client_http1(None).await;
    let answer = client
        .send("POST", "/api/v1/echoes", &[], vec![b'x'; 1 << 20])
        .await;
    assert_eq!(answer.failure().0, 403);
    assert_eq!(client.get("/healthz").await.brief(), (200, "ok"));
}

/// api-machinery.md §4/timeout.
#[tokio::test]
async fn a_timeout_is_a_duration_and_ends_the_request() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let answer = client.get("/api/v1/users?timeout=32").await;
    let (code, reason, message) = answer.failure();
    assert_eq!((code, reason.as_str()), (400, "BadRequest"));
    assert!(
        message.starts_with("invalid timeout specified in the request URL"),
        "{message}"
    );
    for fine in ["0s", "1h", "32s", "-5s", ""] {
        assert_eq!(
            client
                .get(&format!("/api/v1/users?timeout={fine}"))
                .await
                .status,
            200,
            "{fine}"
        );
    }
    let late = client.get("/api/v1/sleeps?timeout=10ms").await;
    assert_eq!(
        late.failure(),
        (
            504,
            "Timeout".to_owned(),
            "Timeout: request did not complete within the allotted timeout".to_owned()
        )
    );
}

/// api-machinery.md §14/timeouts: a minute, and none for a watch.
#[tokio::test]
async fn the_longest_time_of_a_request_is_the_servers() {
    assert_eq!(Limits::default().request_timeout, Duration::from_secs(60));
    let limits = Limits {
        request_timeout: Duration::from_millis(20),
        ..Limits::default()
    };
    let server = TestServer::with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let mut client = server.client(Some(server.admin())).await;
    assert_eq!(client.get("/api/v1/sleeps?timeout=1h").await.status, 504);
    let mut watch = client
        .open(
            "GET",
            "/api/v1/ticks?watch=1&timeout=nonsense",
            &[],
            "".into(),
        )
        .await
        .unwrap();
    assert_eq!(watch.status(), 200);
    let first = http_body_util::BodyExt::frame(watch.body_mut())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(first.into_data().unwrap(), "{\"type\":\"ADDED\"}\n");
}

/// api-machinery.md §14/in-flight and §5/too-busy, without priority and fairness.
#[tokio::test]
async fn too_many_requests_are_told_to_come_back_and_health_is_exempt() {
    let limits = Limits {
        requests_inflight_max: 1,
        mutating_requests_inflight_max: 1,
        priority_and_fairness: false,
        ..Limits::default()
    };
    let server = TestServer::with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let mut first = server.client(Some(server.admin())).await;
    let mut second = server.client(Some(server.admin())).await;
    let sleeping = first.open("GET", "/api/v1/sleeps", &[], "".into());
    let others = async {
        // The sleeper has its place once the gauge says so.
        let mut monitor = server.client(Some(server.admin())).await;
        while monitor.get("/healthz").await.status != 200 {}
        loop {
            let refused = second.get("/api/v1/users").await;
            if refused.status == 429 {
                break refused;
            }
        }
    };
    let refused = tokio::select! {
        _ = sleeping => panic!("it sleeps for an hour"),
        refused = others => refused,
    };
    assert_eq!(
        refused.failure(),
        (
            429,
            "TooManyRequests".to_owned(),
            "Too many requests, please try again later.".to_owned()
        )
    );
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(second.get("/readyz").await.brief(), (200, "ok"));
    assert_eq!(
        second.send("POST", "/api/v1/echoes", &[], "").await.status,
        200
    );
}

/// api-machinery.md §14/in-flight, without priority and fairness: 400 who read and 200 who write; a watch has no place
/// once it has begun, and leaders among the masters keep their leases.
#[tokio::test]
async fn watches_take_no_place_and_leases_of_masters_need_none() {
    let limits = Limits::default();
    let places = (
        limits.requests_inflight_max,
        limits.mutating_requests_inflight_max,
    );
    assert_eq!(places, (400, 200));
    let limits = Limits {
        requests_inflight_max: 1,
        priority_and_fairness: false,
        ..limits
    };
    let server = TestServer::with(Setup {
        limits,
        authorizer: allow_all(),
        tokens: Some("u,tom,1\n"),
        ..Setup::default()
    })
    .await;
    let mut client = server.client(Some(server.admin())).await;
    let mut watches = Vec::new();
    for _ in 0..3 {
        let watch = client.open("GET", "/api/v1/ticks?watch=1", &[], "".into());
        watches.push(watch.await.unwrap());
    }
    assert!(watches.iter().all(|watch| watch.status() == 200));
    assert_eq!(client.get("/api/v1/users").await.status, 200);
    let mut first = server.client(Some(server.admin())).await;
    let sleeping = first.open("GET", "/api/v1/sleeps", &[], "".into());
    let others = async {
        while client.get("/api/v1/users").await.status != 429 {}
        let lease = "/apis/coordination.k8s.io/v1/namespaces/n/leases/l";
        let leader = client.get(lease).await.status;
        let by_tom = [("authorization", "Bearer u")];
        let mut stranger = server.client(None).await;
        let other = stranger.send("GET", lease, &by_tom, "").await.status;
        (leader.as_u16(), other.as_u16())
    };
    let told = tokio::select! {
        _ = sleeping => panic!("it sleeps for an hour"),
        told = others => told,
    };
    // The admitted request gets a 404, since the test's resources do not include leases.
    assert_eq!(told, (404, 429));
}

#[tokio::test]
async fn a_panic_is_an_answer_without_its_text_and_others_go_on() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let answer = client.get("/api/v1/panics/password").await;
    let (code, reason, message) = answer.failure();
    assert_eq!((code, reason.as_str()), (500, "InternalError"));
    assert!(!message.contains("password"), "{message}");
    assert_eq!(answer.header("audit-id").len(), 36);
    assert_eq!(client.get("/healthz").await.brief(), (200, "ok"));
}

#[tokio::test]
async fn handlers_never_see_credentials() {
    let server = TestServer::with(Setup {
        tokens: Some("t,root,1,system:masters\n"),
        ..Setup::default()
    })
    .await;
    let mut client = server.client(None).await;
    let headers = [
        ("authorization", "Bearer t"),
        ("impersonate-user", "alice"),
        ("impersonate-extra-a", "b"),
        ("x-other", "1"),
    ];
    let answer = client
        .send("GET", "/api/v1/headers", &headers[..1], "")
        .await;
    assert_eq!(answer.body, "[]");
    let server_rules = client.send("GET", "/version", &headers, "").await;
    assert_eq!(server_rules.status, 200);
}
