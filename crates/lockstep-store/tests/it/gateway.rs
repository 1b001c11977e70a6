//! etcd-api.md §9/gateway: the API as JSON.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::harness::Running;

/// A connection that speaks HTTP/1.1.
struct Browser {
    sender: hyper::client::conn::http1::SendRequest<Full<Bytes>>,
    _talking: JoinSet<()>,
}

impl Browser {
    async fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .unwrap();
        let mut talking = JoinSet::new();
        talking.spawn(async move { connection.await.unwrap_or_default() });
        Self {
            sender,
            _talking: talking,
        }
    }

    async fn ask(&mut self, method: &str, path: &str, body: &str) -> Response<Incoming> {
        let body = Full::from(body.to_owned());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "x");
        self.sender
            .send_request(request.body(body).unwrap())
            .await
            .unwrap()
    }

    /// Status and text of a POST that ends.
    async fn post(&mut self, path: &str, body: &str) -> (u16, String) {
        let response = self.ask("POST", path, body).await;
        let status = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (status, masked(&bytes))
    }
}

/// Text without what differs from run to run.
fn masked(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).unwrap();
    ["cluster_id", "member_id"]
        .iter()
        .fold(text.to_owned(), |text, name| {
            let marker = format!("\"{name}\":\"");
            let Some((before, rest)) = text.split_once(&marker) else {
                return text;
            };
            let (_, after) = rest.split_once("\",").unwrap();
            format!("{before}{after}")
        })
}

fn ok(text: &str) -> (u16, String) {
    (200, text.to_owned())
}

#[tokio::test]
async fn bytes_are_base64_numbers_are_strings_and_defaults_are_left_out() {
    let server = Running::start().await;
    let mut browser = Browser::open(server.port).await;
    let put = browser
        .post("/v3/kv/put", r#"{"key":"Zm9v","value":"YmFy"}"#)
        .await;
    assert_eq!(put, ok(r#"{"header":{"revision":"2","raft_term":"2"}}"#));
    let range = browser.post("/v3/kv/range", r#"{"key":"Zm9v"}"#).await;
    let kv =
        r#"{"key":"Zm9v","create_revision":"2","mod_revision":"2","version":"1","value":"YmFy"}"#;
    let expected =
        format!(r#"{{"header":{{"revision":"2","raft_term":"2"}},"kvs":[{kv}],"count":"1"}}"#);
    assert_eq!(range, ok(&expected));
    // Numbers may be numbers, enums names or numbers, fields of either spelling.
    for sort in [r#""sort_order":"DESCEND""#, r#""sortOrder":2"#] {
        let body =
            format!(r#"{{"key":"AA==","range_end":"AA==","limit":5,"revision":"2",{sort}}}"#);
        assert_eq!(browser.post("/v3/kv/range", &body).await, ok(&expected));
    }
    assert_eq!(
        browser.post("/v3beta/kv/range", r#"{"key":"Zm9v"}"#).await,
        ok(&expected)
    );
}

#[tokio::test]
async fn transactions_and_leases_have_their_paths() {
    let server = Running::start().await;
    let mut browser = Browser::open(server.port).await;
    let txn = r#"{
        "compare": [{"target":"CREATE","key":"Zm9v","create_revision":"0"}],
        "success": [{"request_put":{"key":"Zm9v","value":"YmFy"}}]
    }"#;
    let expected = concat!(
        r#"{"header":{"revision":"2","raft_term":"2"},"succeeded":true,"#,
        r#""responses":[{"response_put":{"header":{"revision":"2"}}}]}"#
    );
    assert_eq!(browser.post("/v3/kv/txn", txn).await, ok(expected));
    let granted = browser
        .post("/v3/lease/grant", r#"{"TTL":100,"ID":"7"}"#)
        .await;
    let expected = r#"{"header":{"revision":"2","raft_term":"2"},"ID":"7","TTL":"100"}"#;
    assert_eq!(granted, ok(expected));
    let kept = browser.post("/v3/lease/keepalive", r#"{"ID":"7"}"#).await;
    assert_eq!(kept, ok(&format!("{{\"result\":{expected}}}\n")));
    let leases = browser.post("/v3/kv/lease/leases", "").await;
    let expected = r#"{"header":{"revision":"2","raft_term":"2"},"leases":[{"ID":"7"}]}"#;
    assert_eq!(leases, ok(expected));
}

#[tokio::test]
async fn refusals_have_a_status_a_code_and_the_text() {
    let server = Running::start_with(|config| config.request_bytes_max = 1000).await;
    let mut browser = Browser::open(server.port).await;
    let large = format!(r#"{{"key":"Zm9v","value":"{}"}}"#, "AAAA".repeat(400));
    for (path, body, status, code, text) in [
        (
            "/v3/kv/range",
            "{}",
            400,
            3,
            "etcdserver: key is not provided",
        ),
        (
            "/v3/kv/put",
            large.as_str(),
            400,
            3,
            "etcdserver: request is too large",
        ),
        (
            "/v3/kv/range",
            r#"{"key":"Zm9v","revision":9}"#,
            400,
            11,
            "etcdserver: mvcc: required revision is a future revision",
        ),
        (
            "/v3/lease/revoke",
            r#"{"ID":9}"#,
            404,
            5,
            "etcdserver: requested lease not found",
        ),
        ("/v3/nothing", "{}", 404, 5, "Not Found"),
    ] {
        let expected = format!(r#"{{"code":{code},"error":"{text}","message":"{text}"}}"#);
        assert_eq!(
            browser.post(path, body).await,
            (status, expected),
            "{path} {body}"
        );
    }
    for body in [
        "{",
        r#"{"key":1}"#,
        r#"{"key":"Zm9v","unknown":1}"#,
        "[]",
        r#"{"key":"*"}"#,
    ] {
        let (status, text) = browser.post("/v3/kv/range", body).await;
        assert_eq!(status, 400, "{body} {text}");
        assert!(text.starts_with(r#"{"code":3,"error":""#), "{text}");
    }
    for path in ["/v3/auth/enable", "/v3/lock/lock", "/v3/election/leader"] {
        let (status, text) = browser.post(path, "{}").await;
        assert_eq!(status, 501, "{path}");
        assert!(text.contains("not implemented by lockstep store"), "{text}");
    }
    let wrong = browser.ask("GET", "/v3/kv/range", "").await;
    assert_eq!(wrong.status().as_u16(), 405);
    assert_eq!(wrong.headers()["allow"], "POST");
}

#[tokio::test]
async fn a_watch_is_a_line_for_each_response() {
    let server = Running::start().await;
    server.put("foo", "1").await;
    let mut browser = Browser::open(server.port).await;
    let create = r#"{"create_request":{"key":"Zm9v","start_revision":"2"}}"#;
    let response = browser.ask("POST", "/v3/watch", create).await;
    assert_eq!(response.status().as_u16(), 200);
    let mut body = response.into_body();
    let mut line = async || {
        let frame = body.frame().await.unwrap().unwrap();
        masked(&frame.into_data().unwrap())
    };
    let header = r#""header":{"revision":"2","raft_term":"2"}"#;
    assert_eq!(
        line().await,
        format!("{{\"result\":{{{header},\"created\":true}}}}\n")
    );
    let kv =
        r#"{"key":"Zm9v","create_revision":"2","mod_revision":"2","version":"1","value":"MQ=="}"#;
    let expected = format!("{{\"result\":{{{header},\"events\":[{{\"kv\":{kv}}}]}}}}\n");
    assert_eq!(line().await, expected);
    server.delete("foo").await;
    let header = r#""header":{"revision":"3","raft_term":"2"}"#;
    let kv = r#"{"key":"Zm9v","mod_revision":"3"}"#;
    let event = format!(r#"{{"type":"DELETE","kv":{kv}}}"#);
    assert_eq!(
        line().await,
        format!("{{\"result\":{{{header},\"events\":[{event}]}}}}\n")
    );
}

/// etcd-api.md §2/range-stream, etcd-api.md §9/gateway.
#[tokio::test]
async fn a_range_stream_is_a_line_for_each_chunk() {
    let server = Running::start().await;
    server.put("a", "1").await;
    server.put("b", "2").await;
    let mut browser = Browser::open(server.port).await;
    let all = r#"{"key":"AA==","range_end":"AA==","keys_only":true}"#;
    let (status, text) = browser.post("/v3/kv/rangestream", all).await;
    let kv = |key, revision| {
        format!(
            r#"{{"key":"{key}","create_revision":"{revision}","mod_revision":"{revision}","version":"1"}}"#
        )
    };
    let header = r#""header":{"revision":"3","raft_term":"2"}"#;
    let kvs = format!(r#""kvs":[{},{}]"#, kv("YQ==", 2), kv("Yg==", 3));
    let line =
        format!("{{\"result\":{{\"range_response\":{{{header},{kvs},\"count\":\"2\"}}}}}}\n");
    assert_eq!((status, masked(text.as_bytes())), (200, line));
    let sorted = r#"{"key":"AA==","range_end":"AA==","sort_order":"DESCEND"}"#;
    let (status, text) = browser.post("/v3/kv/rangestream", sorted).await;
    assert_eq!(status, 501, "{text}");
}

#[tokio::test]
async fn who_switches_it_off_has_no_gateway() {
    let server = Running::start_with(|config| config.gateway = false).await;
    let mut browser = Browser::open(server.port).await;
    let expected = (404, "404 page not found\n".to_owned());
    assert_eq!(browser.post("/v3/kv/range", "{}").await, expected);
}

#[tokio::test]
async fn an_address_for_metrics_serves_no_keys() {
    let server = Running::start_with(|config| {
        config.listen_metrics = std::mem::take(&mut config.listen_client);
    })
    .await;
    let mut browser = Browser::open(server.port).await;
    let expected = (404, "404 page not found\n".to_owned());
    assert_eq!(browser.post("/v3/kv/range", "{}").await, expected);
    assert_eq!(
        browser.ask("GET", "/health", "").await.status().as_u16(),
        200
    );
}
