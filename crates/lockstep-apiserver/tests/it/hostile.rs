//! Clients that are slow, broken or worse: a clear answer or a closed connection, and no effect on
//! others.

use lockstep_testkit::client::{config, raw};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::server::TestServer;

/// Sends bytes over TLS, closes nothing, and reads until the server has said everything.
async fn send_raw(server: &TestServer, bytes: &[u8]) -> String {
    let config = config(&server.authority(), None, "http/1.1");
    let mut stream = raw(server.address, "localhost", config).await.unwrap();
    // The server may close before it has read everything.
    drop(stream.write_all(bytes).await);
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer).await);
    String::from_utf8_lossy(&answer).into_owned()
}

async fn assert_alive(server: &TestServer) {
    assert_eq!(
        server.client(None).await.get("/healthz").await.brief(),
        (200, "ok")
    );
}

#[tokio::test]
async fn plain_http_is_told_to_use_tls() {
    let server = TestServer::start().await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(
        answer,
        "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n"
    );
    assert_alive(&server).await;
}

#[tokio::test]
async fn bytes_that_are_no_tls_end_the_connection() {
    let server = TestServer::start().await;
    for garbage in [
        &b"\x16\x03\x01\xff\xff garbage"[..],
        b"\x00\x00\x00",
        b"\x80\x80",
    ] {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(garbage).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        assert!(answer.len() < 64, "at most a TLS alert: {answer:?}");
    }
    assert_alive(&server).await;
}

/// api-machinery.md §14/sizes: header 1 MiB.
#[tokio::test]
async fn too_large_and_too_many_headers_are_refused() {
    let server = TestServer::start().await;
    let large = format!(
        "GET /healthz HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n",
        "y".repeat(2 << 20)
    );
    let answer = send_raw(&server, large.as_bytes()).await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431 "),
        "{answer}"
    );
    let many = format!(
        "GET /healthz HTTP/1.1\r\nhost: a\r\n{}\r\n",
        "x: y\r\n".repeat(300)
    );
    let answer = send_raw(&server, many.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert_alive(&server).await;
}

#[tokio::test]
async fn requests_whose_end_is_unclear_are_refused_and_nothing_behind_them_is_answered() {
    let server = TestServer::start().await;
    let hidden = "GET /version HTTP/1.1\r\nhost: a\r\n\r\n";
    let cases = [
        format!(
            "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 4\r\ncontent-length: 5\r\n\r\n1234{hidden}"
        ),
        format!("POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: +4\r\n\r\n1234{hidden}"),
        format!(
            "POST /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\ntransfer-encoding: identity\r\n\r\n0\r\n\r\n{hidden}"
        ),
        format!(
            "POST /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding : chunked\r\n\r\n0\r\n\r\n{hidden}"
        ),
        format!(
            "POST /healthz HTTP/1.1\r\nhost: a\r\ntransfer-encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"
        ),
        format!("GET /healthz HTTP/1.1\r\nhost: a\r\nx: a\r\n b\r\n\r\n{hidden}"),
        format!("GET /health\0z HTTP/1.1\r\nhost: a\r\n\r\n{hidden}"),
        format!("NONSENSE\r\n\r\n{hidden}"),
    ];
    for case in cases {
        let answer = send_raw(&server, case.as_bytes()).await;
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{case:?}\n{answer}"
        );
        assert!(!answer.contains("gitVersion"), "{case:?}\n{answer}");
    }
    assert_alive(&server).await;
}

#[tokio::test]
async fn two_kinds_of_length_do_not_smuggle_a_request() {
    let server = TestServer::start().await;
    // By its Content-Length the body ends behind the hidden request, by its chunks before it.
    let hidden = "GET /version HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    let body = format!("0\r\n\r\n{hidden}");
    let request = format!(
        "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\ntransfer-encoding: chunked\r\n\r\n{body}",
        body.len()
    );
    let answer = send_raw(&server, request.as_bytes()).await;
    assert!(!answer.contains("gitVersion"), "{answer}");
    assert_alive(&server).await;
}

#[tokio::test]
async fn a_body_that_is_cut_short_harms_nobody() {
    let server = TestServer::start().await;
    for head in [
        "content-length: 100\r\n\r\nshort",
        "transfer-encoding: chunked\r\n\r\n5\r\nabc",
        "transfer-encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let config = config(&server.authority(), Some(server.admin()), "http/1.1");
        let mut stream = raw(server.address, "localhost", config).await.unwrap();
        let request = format!("POST /api/v1/echoes HTTP/1.1\r\nhost: a\r\n{head}");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{answer}"
        );
    }
    assert_alive(&server).await;
}

/// Runs on a paused clock, which advances only while all tasks are idle.
#[tokio::test]
async fn clients_that_never_finish_a_handshake_or_a_head_or_do_nothing_are_cut_off() {
    let server = TestServer::start().await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    let config = config(&server.authority(), None, "http/1.1");
    let mut slow = raw(server.address, "localhost", config).await.unwrap();
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: a\r\n")
        .await
        .unwrap();
    slow.flush().await.unwrap();
    let mut idle = server.client_http1(None).await;
    assert_eq!(idle.get("/healthz").await.status, 200);
    tokio::time::pause();
    let begin = tokio::time::Instant::now();
    assert_eq!(silent.read(&mut [0; 16]).await.unwrap_or(0), 0);
    let mut answer = Vec::new();
    drop(slow.read_to_end(&mut answer).await);
    let answer = String::from_utf8_lossy(&answer);
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408 "),
        "{answer}"
    );
    idle.ended.await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(60));
    tokio::time::resume();
    assert_alive(&server).await;
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_for_a_large_body_is_not_asked() {
    let server = TestServer::start().await;
    let config = config(&server.authority(), Some(server.admin()), "http/1.1");
    let mut stream = raw(server.address, "localhost", config).await.unwrap();
    let head = "POST /api/v1/echoes HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 99999999\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer).await);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.to_lowercase().contains("\r\nconnection: close\r\n"),
        "{answer}"
    );
    assert!(!answer.contains("100 Continue"), "{answer}");
}

/// api-machinery.md §4/streams: at least 100 streams on a connection, and watches do not starve others.
#[tokio::test]
async fn hundreds_of_watches_share_a_connection_with_other_requests() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    let mut watches = Vec::new();
    for _ in 0..300 {
        let watch = client
            .open("GET", "/api/v1/ticks?watch=1", &[], "".into())
            .await
            .unwrap();
        assert_eq!(watch.status(), 200);
        watches.push(watch);
    }
    assert_eq!(client.get("/healthz").await.brief(), (200, "ok"));
    assert_eq!(watches.len(), 300);
}

/// A frame of HTTP/2: its type, its flags, its stream.
fn frame((kind, flags): (u8, u8), stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// HPACK block of literal header fields without indexing.
fn fields(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        for text in [name, value] {
            if text == name {
                block.push(0);
            }
            block.push(u8::try_from(text.len()).unwrap());
            block.extend(text.as_bytes());
        }
    }
    block
}

const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// HTTP/2 error code `ENHANCE_YOUR_CALM` (11), in network byte order.
const ENHANCE_YOUR_CALM: &[u8] = &[0, 0, 0, 11];

/// Sends pieces until the server has had enough. Returns how many it took, and its last words.
async fn flood(server: &TestServer, pieces: impl Iterator<Item = Vec<u8>>) -> (usize, Vec<u8>) {
    let config = config(&server.authority(), Some(server.admin()), "h2");
    let stream = raw(server.address, "localhost", config).await.unwrap();
    let (mut answers, mut requests) = tokio::io::split(stream);
    let mut words = tokio::task::JoinSet::new();
    words.spawn(async move {
        let mut words = Vec::new();
        drop(answers.read_to_end(&mut words).await);
        words
    });
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let begin = [&preface[..], &frame((SETTINGS, 0), 0, &[])].concat();
    requests.write_all(&begin).await.unwrap();
    let mut taken = 0;
    for piece in pieces {
        if requests.write_all(&piece).await.is_err() || requests.flush().await.is_err() {
            break;
        }
        taken += 1;
    }
    (taken, words.join_next().await.unwrap().unwrap())
}

fn contains(words: &[u8], what: &[u8]) -> bool {
    words.windows(what.len()).any(|part| part == what)
}

/// Requests that are taken back as soon as they are made cost the server work and the client nothing.
#[tokio::test]
async fn a_client_that_takes_its_requests_back_is_cut_off() {
    let server = TestServer::start().await;
    let request = fields(&[
        (":method", "GET"),
        (":scheme", "https"),
        (":path", "/api/v1/users"),
        (":authority", "a"),
    ]);
    let pieces = (0..100_000).map(|number| {
        let stream = 2 * number + 1;
        let asked = frame((HEADERS, END_STREAM | END_HEADERS), stream, &request);
        let taken_back = frame((RESET, 0), stream, &8_u32.to_be_bytes());
        [asked, taken_back].concat()
    });
    let (taken, words) = flood(&server, pieces).await;
    assert!(taken < 100_000, "{taken} requests");
    assert!(contains(&words, ENHANCE_YOUR_CALM), "{words:?}");
    assert_alive(&server).await;
}

/// §14/sizes: headers in ever more pieces are headers too, also where the pieces are empty.
#[tokio::test]
async fn headers_without_end_are_not_read_to_the_end() {
    let server = TestServer::start().await;
    let many = fields(&vec![("x", "y"); 2000]);
    for piece in [many.as_slice(), &[]] {
        let first = frame((HEADERS, END_STREAM), 1, &fields(&[(":method", "GET")]));
        let more = frame((CONTINUATION, 0), 1, piece).repeat(50);
        let pieces = std::iter::once(first).chain(std::iter::repeat_n(more, 10_000));
        let (taken, words) = flood(&server, pieces).await;
        assert!(taken < 10_000, "{taken} pieces");
        assert!(contains(&words, ENHANCE_YOUR_CALM), "{words:?}");
    }
    assert_alive(&server).await;
}

#[tokio::test]
async fn strange_paths_are_answered() {
    let server = TestServer::start().await;
    let mut client = server.client(Some(server.admin())).await;
    for (path, code) in [
        ("/api/v1/users/%ff%00%2f..", 200),
        ("//healthz", 200),
        ("/healthz//", 200),
        ("/healthz/../metrics", 404),
        ("/%68ealthz", 200),
        ("/api/v1/namespaces/%2e%2e/users", 200),
    ] {
        assert_eq!(client.get(path).await.status, code, "{path}");
    }
    let mut anonymous = server.client(None).await;
    for path in [
        "/healthz/../metrics",
        "/healthz/%2e%2e/metrics",
        "/%6detrics",
        "//metrics",
        "/metrics/",
    ] {
        assert_eq!(anonymous.get(path).await.status, 403, "{path}");
    }
}
