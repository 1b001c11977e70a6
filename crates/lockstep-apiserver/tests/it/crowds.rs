//! Many watches, and one whose client does not read: api-machinery.md §4/streams, §7/watch-end.

use lockstep_testkit::client::config;
use std::sync::Arc;

use http_body_util::BodyExt as _;
use lockstep_testkit::wait::{eventually, holds};
use rustls::pki_types::ServerName;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;
use tokio_rustls::TlsConnector;

use crate::server::{Setup, TestServer};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Fewer than the server bears, so that the test is quick; the figure a watch is the same.
const WATCHES: usize = 1000;
/// Number of watches per connection.
const STREAMS: usize = 250;
/// Upper bound on memory per watch, including the client in this process, in an unoptimised build.
const WATCH_BYTES_MAX: usize = 64 << 10;

/// Watches that are not read, and objects that they begin with.
const UNREAD_WATCHES: usize = 500;
const UNREAD_OBJECTS: usize = 40;
const UNREAD_OBJECT_BYTES: usize = 400 << 10;
/// Upper bound on memory per unread watch, including the client in this process: far below one object.
const UNREAD_BYTES_MAX: usize = 100 << 10;

fn resident_bytes() -> Option<usize> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: usize = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[tokio::test]
async fn a_thousand_watches_are_cheap_and_each_hears_of_a_change() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let before = resident_bytes();
    let mut clients = Vec::new();
    let mut watches = Vec::new();
    for _ in 0..WATCHES / STREAMS {
        let mut client = server.client(Some(server.admin())).await;
        for _ in 0..STREAMS {
            let path = format!("{MAPS}?watch=true&fieldSelector=metadata.name%3Dx");
            let watch = client.open("GET", &path, &[], "".into()).await.unwrap();
            assert_eq!(watch.status(), 200);
            watches.push(watch);
        }
        clients.push(client);
    }
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let each = after.saturating_sub(before) / WATCHES;
        assert!(each < WATCH_BYTES_MAX, "a watch takes {each} bytes");
    }
    let map = json!({ "metadata": { "name": "x" } });
    let made = clients[0].write("POST", MAPS, &map).await;
    assert_eq!(made.status, 201);
    let version = made.json()["metadata"]["resourceVersion"].clone();
    for watch in &mut watches {
        let frame = watch.frame().await.unwrap().unwrap().into_data().unwrap();
        let event: Value = serde_json::from_slice(&frame).unwrap();
        assert_eq!(event["type"], "ADDED");
        assert_eq!(event["object"]["metadata"]["resourceVersion"], version);
    }
    let metrics = clients[0].get("/metrics").await.body;
    let line = format!(
        "apiserver_watch_events_total{{group=\"\",resource=\"configmaps\",version=\"v1\"}} {WATCHES}"
    );
    assert!(metrics.lines().any(|one| one == line), "{line}");
}

/// Initial events are encoded only as far as the client reads, and once for all watches at the same place.
#[tokio::test]
async fn watches_that_are_not_read_share_their_initial_events() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let mut writer = server.client(Some(server.admin())).await;
    let large = "x".repeat(UNREAD_OBJECT_BYTES);
    for number in 0..UNREAD_OBJECTS {
        let map = json!({ "metadata": { "name": format!("m{number}") }, "data": { "k": large } });
        assert_eq!(writer.write("POST", MAPS, &map).await.status, 201);
    }
    let before = resident_bytes();
    let mut clients = Vec::new();
    let mut watches = Vec::new();
    for _ in 0..UNREAD_WATCHES / STREAMS {
        let mut client = server.client(Some(server.admin())).await;
        for _ in 0..STREAMS {
            let path = format!("{MAPS}?watch=true");
            let watch = client.open("GET", &path, &[], "".into()).await.unwrap();
            assert_eq!(watch.status(), 200);
            watches.push(watch);
        }
        clients.push(client);
    }
    // The server sends what it can, which takes the time of some answers. Their own connections take no answer, since
    // nothing on them is read.
    for _ in 0..20 {
        assert_eq!(writer.get("/version").await.status, 200);
    }
    if let (Some(before), Some(after)) = (before, resident_bytes()) {
        let each = after.saturating_sub(before) / UNREAD_WATCHES;
        assert!(
            each < UNREAD_BYTES_MAX,
            "an unread watch takes {each} bytes"
        );
    }
    // One that is read after all has every object once.
    let mut read = watches.swap_remove(UNREAD_WATCHES / 2);
    drop(watches);
    let (mut lines, mut count) = (Vec::new(), 0);
    while count < UNREAD_OBJECTS {
        let frame = read.frame().await.unwrap().unwrap().into_data().unwrap();
        count += frame.split(|byte| *byte == b'\n').count() - 1;
        lines.extend(frame);
    }
    let names = lines
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let names = names.map(|line| {
        let event: Value = serde_json::from_slice(line).unwrap();
        event["object"]["metadata"]["name"]
            .as_str()
            .unwrap()
            .to_owned()
    });
    let mut expected: Vec<_> = (0..UNREAD_OBJECTS)
        .map(|number| format!("m{number}"))
        .collect();
    expected.push("kube-root-ca.crt".to_owned());
    expected.sort();
    let names: Vec<_> = names.collect();
    assert_eq!(names, expected[..names.len()]);
}

#[tokio::test]
async fn a_client_that_never_reads_holds_up_nobody_and_is_cut_off() {
    let server = TestServer::with(Setup::own()).await;
    server.ready().await;
    let trust = config(&server.authority(), Some(server.admin()), "http/1.1");
    let socket = TcpSocket::new_v4().unwrap();
    // A small receive buffer, so that the kernel does not absorb all unread events.
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let socket = socket.connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let tls = TlsConnector::from(Arc::new(trust));
    let mut deaf = tls.connect(name, socket).await.unwrap();
    let head = format!("GET {MAPS}?watch=true HTTP/1.1\r\nhost: a\r\n\r\n");
    deaf.write_all(head.as_bytes()).await.unwrap();
    deaf.flush().await.unwrap();
    let mut client = server.client(Some(server.admin())).await;
    let mut good = client
        .open("GET", &format!("{MAPS}?watch=true"), &[], "".into())
        .await
        .unwrap();
    good.frame().await.unwrap().unwrap();
    let gauge = async |client: &mut lockstep_testkit::client::Client| -> i64 {
        let text = client.get("/metrics").await.body;
        let name = "apiserver_longrunning_requests{component=\"apiserver\",group=\"\",resource=\"configmaps\"";
        let line = text.lines().find(|line| line.starts_with(name));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    };
    while gauge(&mut client).await != 2 {}
    let large = "x".repeat(256 << 10);
    for number in 0..24 {
        let map = json!({ "metadata": { "name": format!("m{number}") }, "data": { "k": large } });
        assert_eq!(
            client.write("POST", MAPS, &map).await.status,
            201,
            "{number}"
        );
        let mut lines = Vec::new();
        while !lines.ends_with(b"\n") {
            lines.extend(good.frame().await.unwrap().unwrap().into_data().unwrap());
        }
    }
    // The server ends a watch whose client has not read for a minute.
    tokio::time::pause();
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    tokio::time::resume();
    eventually("one watch is left", async || {
        let watches = gauge(&mut client).await;
        holds(watches == 1, watches)
    })
    .await;
    let mut rest = Vec::new();
    drop(deaf.read_to_end(&mut rest).await);
    assert!(
        rest.len() < 6 << 20,
        "not all was written to it: {}",
        rest.len()
    );
    let last = json!({ "metadata": { "name": "last" } });
    assert_eq!(client.write("POST", MAPS, &last).await.status, 201);
    let frame = good.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(String::from_utf8_lossy(&frame).contains("\"last\""));
}
