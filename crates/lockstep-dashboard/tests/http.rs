//! The dashboard's HTTP interface without an API server: ux.md §8.2, U8 and U9.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::net::SocketAddr;
use std::sync::Arc;

use lockstep_dashboard::{Backend, Dashboard, Viewer, assets};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// An API server address without a listener.
async fn unreachable_backend() -> Backend {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Backend {
        server: lockstep_callout::Server {
            host: "127.0.0.1".to_owned(),
            port,
            tls: Arc::new(tls),
        },
        authorization: None,
    }
}

async fn start(viewer: Viewer) -> (SocketAddr, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let dashboard = Dashboard::new(unreachable_backend().await, viewer);
    let mut running = JoinSet::new();
    running.spawn(dashboard.run(listener, std::future::pending()));
    (address, running)
}

fn invited() -> Viewer {
    Viewer::Invited {
        invitation: "invitation".to_owned(),
        fresh: || "session".to_owned(),
    }
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn message(&self) -> String {
        let status: serde_json::Value = serde_json::from_slice(&self.body).unwrap();
        status["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// Sends a request with a `Host` and further header lines.
async fn ask_as(address: SocketAddr, host: &str, first: &str, lines: &[&str]) -> Answer {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut request = format!("{first} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for line in lines {
        request += &format!("{line}\r\n");
    }
    stream
        .write_all(format!("{request}\r\n").as_bytes())
        .await
        .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let end = bytes
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    Answer {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        body: bytes[end + 4..].to_vec(),
        head,
    }
}

async fn ask(address: SocketAddr, first: &str, lines: &[&str]) -> Answer {
    ask_as(address, &address.to_string(), first, lines).await
}

#[tokio::test]
async fn every_file_is_served_in_three_forms_with_its_tag() {
    let (address, _running) = start(Viewer::Own).await;
    for asset in assets() {
        let first = format!("GET /ui/{}", asset.name);
        for (accepted, coding, bytes) in [
            ("identity", None, asset.plain),
            ("gzip", Some("gzip"), asset.gzip),
            ("gzip, br", Some("br"), asset.br),
        ] {
            let accept = format!("accept-encoding: {accepted}");
            let answer = ask(address, &first, &[&accept]).await;
            assert_eq!(
                (
                    answer.status,
                    answer.header("content-encoding"),
                    answer.header("content-type")
                ),
                (200, coding, Some(asset.content_type)),
                "{first} {accepted}"
            );
            assert!(answer.body == bytes, "{first} {accepted}");
            let known = format!("if-none-match: {}", answer.header("etag").unwrap());
            let again = ask(address, &first, &[&accept, &known]).await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{first}");
        }
    }
    let page = ask(address, "GET /ui/", &[]).await;
    assert!(page.body == assets()[0].plain);
    for path in ["/", "/ui"] {
        let answer = ask(address, &format!("GET {path}"), &[]).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (308, Some("/ui/"))
        );
    }
}

#[tokio::test]
async fn every_answer_carries_the_policy() {
    let (address, _running) = start(Viewer::Own).await;
    for first in ["GET /ui/", "GET /ui/nothing.js", "GET /apis/x", "POST /ui/"] {
        let answer = ask(address, first, &[]).await;
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'self'; frame-ancestors 'none'"),
            "{first}: {policy}"
        );
        assert_eq!(
            answer.header("x-content-type-options"),
            Some("nosniff"),
            "{first}"
        );
        assert_eq!(answer.header("set-cookie"), None, "{first}");
    }
}

#[tokio::test]
async fn what_is_not_there_and_what_is_not_allowed_is_told() {
    let (address, _running) = start(Viewer::Own).await;
    for (first, status, message) in [
        ("GET /ui/nothing.js", 404, "there is no such file"),
        ("GET /ui/features", 404, "there is no such file"),
        ("POST /ui/app.js", 405, "files are only read"),
        ("GET /metrics", 404, "there is no such page"),
        ("GET /debug/features", 404, "there is no such page"),
        ("GET /apis/../metrics", 404, "there is no such page"),
        (
            "DELETE /api/v1/namespaces/default",
            405,
            "the dashboard only reads",
        ),
        ("POST /api/v1/namespaces", 405, "the dashboard only reads"),
        ("POST /ui/session", 405, "there is nothing of the kind"),
        (
            "GET /apis/lockstep.dev/v1alpha1/featuregates",
            502,
            "the API server cannot be reached",
        ),
    ] {
        let answer = ask(address, first, &[]).await;
        assert_eq!(
            (answer.status, answer.message().as_str()),
            (status, message),
            "{first}"
        );
    }
}

#[tokio::test]
async fn other_names_and_other_pages_get_nothing() {
    let (address, _running) = start(Viewer::Own).await;
    let named = ask_as(address, "evil.example", "GET /ui/", &[]).await;
    assert_eq!(named.status, 403);
    for line in ["origin: http://evil.example", "sec-fetch-site: cross-site"] {
        let answer = ask(address, "GET /apis/x", &[line]).await;
        assert_eq!(
            (answer.status, answer.message().as_str()),
            (403, "another page may not ask this one")
        );
    }
}

#[tokio::test]
async fn an_invitation_becomes_a_session_once() {
    let (address, _running) = start(invited()).await;
    let how = ask(address, "GET /ui/session", &[]).await;
    assert_eq!(how.body, br#"{"signIn":"invitation"}"#);
    let api = "GET /apis/lockstep.dev/v1alpha1/featuregates";
    for lines in [
        &[][..],
        &["authorization: Bearer invitation"],
        &["authorization: Bearer session"],
    ] {
        assert_eq!(ask(address, api, lines).await.status, 401, "{lines:?}");
    }
    assert_eq!(
        ask(
            address,
            "POST /ui/session",
            &["authorization: Bearer guess"]
        )
        .await
        .status,
        401
    );
    let begun = ask(
        address,
        "POST /ui/session",
        &["authorization: Bearer invitation"],
    )
    .await;
    assert_eq!(
        (begun.status, &begun.body[..]),
        (200, &br#"{"token":"session"}"#[..])
    );
    let again = ask(
        address,
        "POST /ui/session",
        &["authorization: Bearer invitation"],
    )
    .await;
    assert_eq!(again.status, 401);
    // The API server is unreachable, but the session is accepted.
    assert_eq!(
        ask(address, api, &["authorization: Bearer session"])
            .await
            .status,
        502
    );
}
