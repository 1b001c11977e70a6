//! The end of a server.

use std::sync::Arc;
use std::time::Duration;

use http_body_util::BodyExt as _;
use lockstep_apiserver::Handler;
use lockstep_apiserver::limits::Limits;
use tokio::sync::Notify;

use crate::server::{Setup, TestServer};

/// ux.md E7; api-machinery.md §4/shutdown: watches end and their connections are closed.
#[tokio::test]
async fn watches_end_at_once_and_with_them_the_server() {
    let server = TestServer::start().await;
    let mut watches = Vec::new();
    let mut clients = Vec::new();
    for protocol in 0..2 {
        let mut client = match protocol {
            0 => server.client(Some(server.admin())).await,
            _ => server.client_http1(Some(server.admin())).await,
        };
        let mut watch = client
            .open("GET", "/api/v1/ticks?watch=true", &[], "".into())
            .await
            .unwrap();
        watch.frame().await.unwrap().unwrap();
        watches.push(watch);
        clients.push(client);
    }
    let address = server.address;
    server.stop().await;
    let late = tokio::net::TcpStream::connect(address).await;
    assert_eq!(
        late.unwrap_err().kind(),
        std::io::ErrorKind::ConnectionRefused
    );
    for watch in watches {
        let rest = watch.into_body().collect().await;
        assert_eq!(rest.unwrap().to_bytes(), "", "the stream ends in order");
    }
    for client in clients {
        client.ended.await.unwrap();
    }
}

#[tokio::test]
async fn running_requests_finish_and_their_connection_closes() {
    let begun = Arc::new(Notify::new());
    let begins = Arc::clone(&begun);
    let handler: Handler = Arc::new(move |_| {
        begins.notify_one();
        Box::pin(std::future::pending())
    });
    let server = TestServer::with(Setup {
        handler: Some(handler),
        ..Setup::default()
    })
    .await;
    let mut client = server.client_http1(Some(server.admin())).await;
    let running = client.get("/api/v1/sleeps?timeout=300ms");
    let stop = async {
        begun.notified().await;
        server.stop().await;
    };
    let (answer, ()) = tokio::join!(running, stop);
    assert_eq!(
        answer.status, 504,
        "it ran into its own deadline, not into ours"
    );
    assert_eq!(answer.header("connection"), "close");
    client.ended.await.unwrap();
}

/// api-machinery.md §2/shutdown: `/readyz` fails from the signal on, `/livez` does not.
#[tokio::test]
async fn during_the_delay_only_readiness_fails() {
    let limits = Limits {
        shutdown_delay: Duration::from_secs(3600),
        ..Limits::default()
    };
    let mut server = TestServer::with(Setup {
        limits,
        ..Setup::default()
    })
    .await;
    let mut client = server.client(Some(server.admin())).await;
    assert_eq!(client.get("/readyz").await.brief(), (200, "ok"));
    drop(server.stop.take());
    let failing = loop {
        let answer = client.get("/readyz").await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(failing.status, 500);
    assert!(
        failing
            .body
            .contains("[-]shutdown failed: reason withheld\n"),
        "{}",
        failing.body
    );
    assert!(
        failing.body.ends_with("readyz check failed\n"),
        "{}",
        failing.body
    );
    let single = client.get("/readyz/shutdown").await;
    assert_eq!(
        single.brief(),
        (500, "internal server error: process is shutting down\n")
    );
    assert_eq!(client.get("/livez").await.brief(), (200, "ok"));
    assert_eq!(client.get("/api/v1/users").await.status, 200);
    server.running.abort();
}
