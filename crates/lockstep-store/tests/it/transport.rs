//! Connections of HTTP/2, frame by frame.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::harness::Running;

const TIMEOUT: Duration = Duration::from_secs(30);
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Settings that change nothing.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

/// A client that speaks in frames.
struct Frames(TcpStream);

impl Frames {
    async fn open(server: &Running) -> Self {
        let address = (Ipv4Addr::LOCALHOST, server.port);
        let mut client = Self(TcpStream::connect(address).await.unwrap());
        client.send(PREFACE).await;
        client.send(SETTINGS).await;
        client
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The kind, the flags and the payload of the next frame; none if the connection is over.
    async fn next(&mut self) -> Option<(u8, u8, Vec<u8>)> {
        let mut head = [0; 9];
        timeout(TIMEOUT, self.0.read_exact(&mut head))
            .await
            .unwrap()
            .ok()?;
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        self.0.read_exact(&mut payload).await.ok()?;
        Some((head[3], head[4], payload))
    }

    /// The payload of the next frame of a kind.
    async fn next_of(&mut self, wanted: u8) -> Option<Vec<u8>> {
        loop {
            let (kind, _, payload) = self.next().await?;
            if kind == wanted {
                return Some(payload);
            }
        }
    }
}

/// etcd-api.md §1/streams.
#[tokio::test]
async fn clients_are_told_how_many_calls_a_connection_may_have() {
    let server = Running::start_with(|config| config.streams_max = 3).await;
    let settings = Frames::open(&server).await.next_of(4).await.unwrap();
    let told: Vec<&[u8]> = settings.chunks(6).collect();
    assert!(told.contains(&&[0, 3, 0, 0, 0, 3][..]), "{told:?}");
}

/// etcd-api.md §1/keepalive: a client that pings too often without a call gets `ENHANCE_YOUR_CALM` and is
/// disconnected.
#[tokio::test]
async fn too_many_pings_end_a_connection() {
    let server = Running::start().await;
    let mut client = Frames::open(&server).await;
    for _ in 0..3 {
        client.send(PING).await;
        assert_eq!(client.next_of(6).await.unwrap(), &PING[9..]);
    }
    client.send(PING).await;
    let go_away = [&[0, 0, 0, 0, 0, 0, 0, 11][..], b"too_many_pings"].concat();
    assert_eq!(client.next_of(7).await, Some(go_away));
    assert_eq!(client.next_of(7).await, None);
    assert_eq!(server.put("k", "v").await, 2, "others are served");
}

/// etcd-api.md §1/keepalive.
#[tokio::test]
async fn any_ping_rate_is_allowed_without_a_minimum_interval() {
    let server = Running::start_with(|config| config.keepalive_interval_min = Duration::ZERO).await;
    let mut client = Frames::open(&server).await;
    for _ in 0..20 {
        client.send(PING).await;
        assert_eq!(client.next_of(6).await.unwrap(), &PING[9..]);
    }
}

/// etcd-api.md §1/keepalive: a client that does not answer is gone.
#[tokio::test]
async fn a_silent_connection_is_asked_and_ends_without_an_answer() {
    let server = Running::start_with(|config| {
        config.keepalive_interval = Duration::from_millis(20);
        config.keepalive_timeout = Duration::from_millis(20);
    })
    .await;
    let mut client = Frames::open(&server).await;
    assert_eq!(
        client.next_of(6).await.map(|payload| payload.len()),
        Some(8)
    );
    while client.next().await.is_some() {}
}
