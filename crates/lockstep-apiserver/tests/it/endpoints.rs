//! Non-resource endpoints: health, version, index and metrics.

use http_body_util::BodyExt as _;
use serde_json::json;

use crate::server::{Setup, TestServer};

/// api-machinery.md §2/health.
#[tokio::test]
async fn health_endpoints_answer_ok_lines_single_checks_and_exclusions() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    for endpoint in ["healthz", "livez", "readyz"] {
        assert_eq!(
            client.get(&format!("/{endpoint}")).await.brief(),
            (200, "ok")
        );
        let verbose = client.get(&format!("/{endpoint}?verbose")).await.body;
        let last = format!("{endpoint} check passed");
        assert_eq!(verbose.lines().last(), Some(last.as_str()));
        for name in [
            "ping",
            "log",
            "etcd",
            "autoregister-completion",
            "poststarthook/start-apiserver-admission-initializer",
            "poststarthook/generic-apiserver-start-informers",
            "poststarthook/start-apiextensions-informers",
            "poststarthook/start-apiextensions-controllers",
            "poststarthook/crd-informer-synced",
            "poststarthook/bootstrap-controller",
            "poststarthook/start-system-namespaces-controller",
            "poststarthook/start-service-ip-repair-controllers",
            "poststarthook/scheduling/bootstrap-system-priority-classes",
            "poststarthook/start-cluster-authentication-info-controller",
            "poststarthook/start-kube-aggregator-informers",
            "poststarthook/apiservice-registration-controller",
            "poststarthook/apiservice-status-local-available-controller",
            "poststarthook/apiservice-status-remote-available-controller",
            "poststarthook/kube-apiserver-autoregistration",
            "poststarthook/apiservice-openapi-controller",
            "poststarthook/storage-readiness",
        ] {
            let line = format!("[+]{name} ok");
            assert!(
                verbose.lines().any(|one| one == line),
                "{line} in {verbose}"
            );
            let single = client.get(&format!("/{endpoint}/{name}")).await;
            assert_eq!(single.brief(), (200, "ok"), "{endpoint}/{name}");
        }
        for name in ["informer-sync", "shutdown"] {
            let expected = endpoint == "readyz";
            let line = format!("[+]{name} ok");
            assert_eq!(
                verbose.lines().any(|one| one == line),
                expected,
                "{endpoint}"
            );
        }
    }
    let answer = client
        .get("/livez?verbose&exclude=etcd&exclude=nothing")
        .await;
    assert!(answer.body.contains("[+]etcd excluded: ok\n"));
    assert!(
        answer
            .body
            .contains("warn: some health checks cannot be excluded: no matches for \"nothing\"\n")
    );
    assert_eq!(
        client.get("/livez/nothing").await.brief(),
        (404, "404 page not found\n")
    );
}

/// api-machinery.md §2/version; feature-gates.md §6/version-document.
#[tokio::test]
async fn the_version_has_every_key() {
    let setup = Setup {
        emulated: "1.35",
        ..Setup::default()
    };
    let server = TestServer::with(setup).await;
    let mut client = server.client(None).await;
    let answer = client.get("/version").await;
    assert_eq!(answer.header("content-type"), "application/json");
    let version = answer.json();
    assert_eq!(
        version,
        json!({
            "major": "1",
            "minor": "36",
            "emulationMajor": "1",
            "emulationMinor": "35",
            "minCompatibilityMajor": "1",
            "minCompatibilityMinor": "34",
            "gitVersion": format!("v1.36.4+lockstep.{}", lockstep_gates::LOCKSTEP_VERSION),
            "gitCommit": version["gitCommit"],
            "gitTreeState": version["gitTreeState"],
            "buildDate": version["buildDate"],
            "goVersion": "",
            "compiler": "rustc",
            "platform": version["platform"],
        })
    );
    assert_eq!(client.get("/version/").await.json(), version);
}

/// api-machinery.md §1/index.
#[tokio::test]
async fn the_index_lists_paths_in_order_and_only_for_those_who_may() {
    let server = TestServer::start().await;
    let mut anonymous = server.client(None).await;
    assert_eq!(
        anonymous.get("/").await.failure(),
        (
            403,
            "Forbidden".to_owned(),
            "forbidden: User \"system:anonymous\" cannot get path \"/\"".to_owned()
        )
    );
    let mut client = server.client(Some(server.admin())).await;
    let paths = client.get("/").await.json();
    let paths: Vec<&str> = paths["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path.as_str().unwrap())
        .collect();
    assert!(paths.is_sorted());
    for path in [
        "/flagz",
        "/healthz/ping",
        "/metrics",
        "/readyz/shutdown",
        "/statusz",
        "/version",
    ] {
        assert!(paths.contains(&path), "{path}");
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
}

/// api-machinery.md §1/unknown-paths, §1/spelling.
#[tokio::test]
async fn unknown_paths_are_not_found_and_unknown_methods_not_allowed() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let answer = client.get("/nothing/here").await;
    assert_eq!(answer.brief(), (404, "404 page not found\n"));
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    for (method, path) in [
        ("OPTIONS", "/version"),
        ("POST", "/version"),
        ("TRACE", "/api/v1/users"),
        ("DELETE", "/flagz"),
    ] {
        let (code, reason, _) = client.send(method, path, &[], "").await.failure();
        assert_eq!(
            (code, reason.as_str()),
            (405, "MethodNotAllowed"),
            "{method} {path}"
        );
    }
}

/// feature-gates.md §9/access.
#[tokio::test]
async fn monitoring_may_read_metrics_and_pages_and_others_may_not() {
    let setup = Setup {
        tokens: Some("m,monitor,1,system:monitoring\nu,somebody,2\n"),
        ..Setup::default()
    };
    let server = TestServer::with(setup).await;
    let mut client = server.client(None).await;
    for (path, monitor, user, anonymous) in [
        ("/metrics", 200, 403, 403),
        ("/flagz", 200, 403, 403),
        ("/statusz", 200, 403, 403),
        ("/livez/ping", 200, 403, 403),
        ("/debug/features", 403, 403, 403),
        ("/version", 200, 200, 200),
        ("/api", 200, 200, 403),
    ] {
        let by = |token| [("authorization", token)];
        assert_eq!(
            client.send("GET", path, &by("Bearer m"), "").await.status,
            monitor,
            "{path}"
        );
        assert_eq!(
            client.send("GET", path, &by("Bearer u"), "").await.status,
            user,
            "{path}"
        );
        assert_eq!(client.get(path).await.status, anonymous, "{path}");
    }
}

/// feature-gates.md §9/debug-features, §5/run-time: it is read, never written.
#[tokio::test]
async fn live_features_are_those_of_the_list_command() {
    let setup = Setup {
        gates: "CRDFieldLevelVersioning=true",
        ..Setup::default()
    };
    let server = TestServer::with(setup).await;
    let mut client = server.client(Some(server.admin())).await;
    let list = client.get("/debug/features").await.json();
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("FeatureList"), &json!("cli.lockstep.dev/v1"))
    );
    let items = list["items"].as_array().unwrap();
    let row = items
        .iter()
        .find(|row| row["name"] == "CRDFieldLevelVersioning")
        .unwrap();
    assert_eq!(
        *row,
        json!({
            "component": "kube", "name": "CRDFieldLevelVersioning", "stage": "Alpha", "enabled": true,
            "default": false, "locked": false, "since": "1.36", "source": "flag", "removeIn": null, "dependsOn": [],
        })
    );
    for path in ["/debug/features", "/flagz", "/statusz"] {
        for method in ["POST", "PUT", "PATCH", "DELETE"] {
            let answer = client.send(method, path, &[], "{}").await;
            assert_eq!(answer.failure().0, 405, "{method} {path}");
        }
    }
    assert_eq!(client.get("/debug/features").await.json(), list);
}

/// api-machinery.md §14/metrics; feature-gates.md §9/enabled-metric, §6/metric.
#[tokio::test]
async fn metrics_have_the_names_that_dashboards_know_and_no_series_twice() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    client.get("/api/v1/users").await;
    client.get("/api/v1/invented-by-a-client").await;
    let mut watch = client
        .open("GET", "/api/v1/ticks?watch=1", &[], "".into())
        .await
        .unwrap();
    watch.frame().await.unwrap().unwrap();
    let answer = client.get("/metrics").await;
    assert_eq!(
        answer.header("content-type"),
        "text/plain; version=0.0.4; charset=utf-8"
    );
    for line in [
        "apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"users\",scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"v1\"} 1",
        "apiserver_longrunning_requests{component=\"apiserver\",group=\"\",resource=\"ticks\",scope=\"cluster\",subresource=\"\",verb=\"WATCH\",version=\"v1\"} 1",
        "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 1",
        "apiserver_tls_handshake_errors_total 0",
        "authentication_attempts{result=\"success\"} 4",
        "authenticated_user_requests{username=\"kubernetes-admin\"} 4",
        "authorization_attempts_total{result=\"allowed\"} 4",
        "kubernetes_feature_enabled{name=\"ComponentFlagz\",stage=\"BETA\"} 1",
        "kubernetes_feature_enabled{name=\"CRDFieldLevelVersioning\",stage=\"ALPHA\"} 0",
        "version_info{component=\"kube\",binary=\"1.36.4\",emulation=\"1.36\",min_compat=\"1.35\"} 1",
        "# TYPE apiserver_request_duration_seconds histogram",
        "# TYPE apiserver_request_sli_duration_seconds histogram",
        "# TYPE apiserver_response_sizes histogram",
        "# TYPE process_resident_memory_bytes gauge",
    ] {
        assert!(
            answer.body.lines().any(|one| one == line),
            "{line}\nin\n{}",
            answer.body
        );
    }
    assert!(!answer.body.contains("invented"));
    assert!(answer.body.contains("kubernetes_build_info{"));
    assert!(
        answer
            .body
            .contains("# HELP kubernetes_feature_enabled [BETA]")
    );
    let mut series: Vec<&str> = answer
        .body
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| line.rsplit_once(' ').unwrap().0)
        .collect();
    let count = series.len();
    series.sort_unstable();
    series.dedup();
    assert_eq!(series.len(), count);
}
