//! etcd-api.md §9.

use pretty::answer;

use crate::harness::Running;
use crate::maintenance::alarm;
use lockstep_etcd_api::etcdserverpb as pb;
use pb::alarm_request::AlarmAction;

mod pretty {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// Status and body of a GET over HTTP/1.1.
    pub(super) async fn answer(port: u16, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }
}

/// etcd-api.md §9/health, etcd-api.md §9/probes, etcd-api.md §9/version, etcd-api.md §1/transport.
#[tokio::test]
async fn health_and_probes_are_served_where_grpc_is() {
    let server = Running::start().await;
    let get = async |path| answer(server.port, path).await;
    let ok = |text: &str| (200, text.to_owned());
    assert_eq!(get("/health").await, ok(r#"{"health":"true","reason":""}"#));
    assert_eq!(get("/livez").await, ok("ok\n"));
    assert_eq!(get("/readyz").await, ok("ok\n"));
    assert_eq!(
        get("/readyz/non_learner?verbose").await,
        ok("[+]non_learner ok\nok\n")
    );
    assert_eq!(
        get("/livez?verbose&exclude=serializable_read").await,
        ok("[+]serializable_read excluded: ok\nok\n")
    );
    assert_eq!(get("/livez/non_learner").await.0, 404);
    assert_eq!(
        get("/nothing").await,
        (404, "404 page not found\n".to_owned())
    );
    let (status, versions) = get("/version").await;
    assert_eq!(status, 200);
    assert!(versions.contains(r#""etcdserver":"3.7.0""#), "{versions}");
}

#[tokio::test]
async fn an_alarm_makes_a_member_unhealthy_unless_it_is_excluded() {
    let server = Running::start().await;
    alarm(&server, AlarmAction::Activate, 1, pb::AlarmType::Nospace).await;
    let get = async |path| answer(server.port, path).await;
    let ill = r#"{"health":"false","reason":"ALARM NOSPACE"}"#.to_owned();
    assert_eq!(get("/health").await, (503, ill));
    assert_eq!(get("/health?exclude=NOSPACE").await.0, 200);
    alarm(&server, AlarmAction::Activate, 1, pb::AlarmType::Corrupt).await;
    let (status, text) = get("/readyz").await;
    assert_eq!(status, 503);
    assert!(
        text.starts_with("[-]data_corruption failed: alarm activated: CORRUPT\n"),
        "{text}"
    );
}

/// etcd-api.md §9/metrics.
#[tokio::test]
async fn metrics_have_the_names_that_dashboards_know() {
    let server = Running::start().await;
    server.put("a", "1").await;
    let refused = server.kv().range(crate::harness::get("")).await;
    assert_eq!(
        crate::harness::code_and_text(&refused.unwrap_err()),
        "InvalidArgument: etcdserver: key is not provided"
    );
    assert_eq!(answer(server.port, "/health").await.0, 200);
    let (status, text) = answer(server.port, "/metrics").await;
    assert_eq!(status, 200);
    let kv = |name: &str| {
        format!("grpc_method=\"{name}\",grpc_service=\"etcdserverpb.KV\",grpc_type=\"unary\"")
    };
    let (put, range) = (kv("Put"), kv("Range"));
    let stream =
        "grpc_method=\"Watch\",grpc_service=\"etcdserverpb.Watch\",grpc_type=\"bidi_stream\"";
    for line in [
        format!("grpc_server_started_total{{{put}}} 1"),
        format!("grpc_server_started_total{{{stream}}} 0"),
        format!("grpc_server_handled_total{{grpc_code=\"OK\",{put}}} 1"),
        format!("grpc_server_handled_total{{grpc_code=\"InvalidArgument\",{range}}} 1"),
        format!("grpc_server_msg_received_total{{{put}}} 1"),
        format!("grpc_server_msg_sent_total{{{put}}} 1"),
        format!("grpc_server_msg_sent_total{{{range}}} 0"),
        format!("grpc_server_handling_seconds_bucket{{{put},le=\"+Inf\"}} 1"),
        format!("grpc_server_handling_seconds_count{{{put}}} 1"),
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "{line} is not in {text}"
        );
    }
    for line in [
        "etcd_disk_wal_fsync_duration_seconds_bucket{le=\"8.192\"} 1",
        "etcd_disk_wal_fsync_duration_seconds_count 1",
        "etcd_disk_backend_commit_duration_seconds_bucket{le=\"0.001\"}",
        "etcd_mvcc_put_total 1",
        "etcd_server_health_success 1",
        "etcd_server_proposals_failed_total 0",
        "etcd_server_slow_apply_total ",
        "etcd_server_slow_read_indexes_total 0",
        "etcd_debugging_mvcc_put_total 1",
        "etcd_debugging_mvcc_slow_watcher_total 0",
        "etcd_debugging_mvcc_pending_events_total 0",
    ] {
        assert!(
            text.lines().any(|shown| shown.starts_with(line)),
            "{line} is not in {text}"
        );
    }
    // A single member has no peers to report.
    assert!(!text.contains("etcd_network_peer_"), "{text}");
    for line in [
        "etcd_server_has_leader 1",
        "etcd_server_is_leader 1",
        "etcd_server_proposals_applied_total 1",
        "etcd_debugging_mvcc_current_revision 2",
        "etcd_debugging_mvcc_keys_total 1",
        "etcd_cluster_version{cluster_version=\"3.7\"} 1",
    ] {
        assert!(
            text.lines().any(|shown| shown == line),
            "{line} is not in {text}"
        );
    }
}

/// etcd-api.md §1/health-service.
#[tokio::test]
async fn the_health_service_says_serving() {
    let server = Running::start().await;
    let mut health = tonic_health::pb::health_client::HealthClient::new(server.channel());
    let request = tonic_health::pb::HealthCheckRequest::default();
    let answer = health.check(request).await.unwrap().into_inner();
    assert_eq!(answer.status, 1);
}
