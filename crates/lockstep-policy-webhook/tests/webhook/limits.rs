//! Limits, health and shutdown.

use lockstep_policy_webhook::limits::{REVIEW_BYTES_MAX, REVIEWS_MAX};

use crate::world::{World, response, review};

/// mutating-admission.md §3.8: at most 3 MiB.
#[tokio::test]
async fn a_review_beyond_the_limit_is_refused_and_one_below_it_is_answered() {
    let world = World::with_labels().await;
    let mut client = world.client("h2").await;
    let mut asked = review("a");
    asked["request"]["object"]["data"] =
        serde_json::json!({ "a": "x".repeat(REVIEW_BYTES_MAX - 2000) });
    let answer = client.write("POST", "/mutate", &asked).await;
    assert_eq!(response(&answer)["allowed"], true);
    asked["request"]["object"]["data"] = serde_json::json!({ "a": "x".repeat(REVIEW_BYTES_MAX) });
    let answer = client.write("POST", "/mutate", &asked).await;
    assert_eq!(answer.status, 413);
    assert_eq!(response(&answer)["status"]["code"], 413);
    world.stop().await;
}

#[tokio::test]
async fn a_webhook_without_policies_is_alive_and_not_ready() {
    let world = World::start().await;
    let mut client = world.client("http/1.1").await;
    assert_eq!(client.get("/healthz").await.brief(), (200, "ok\n"));
    assert_eq!(
        client.get("/readyz").await.brief(),
        (503, "policies are not loaded yet\n")
    );
    let answer = client.write("POST", "/mutate", &review("a")).await;
    assert_eq!(answer.status, 503);
    let response = response(&answer);
    assert_eq!(response["uid"], "u-1");
    let expected = "not yet ready: policies are not loaded yet";
    assert_eq!(response["status"]["message"], expected);
    world
        .policies
        .replace(crate::world::loaded(&crate::world::labels("a")));
    assert_eq!(client.get("/readyz").await.brief(), (200, "ok\n"));
    world.stop().await;
}

/// More reviews than there are places: all are answered in the end.
#[tokio::test(flavor = "multi_thread")]
async fn reviews_beyond_the_places_wait() {
    let world = World::with_labels().await;
    let mut clients = Vec::new();
    for _ in 0..REVIEWS_MAX + 16 {
        clients.push(world.client("http/1.1").await);
    }
    let mut tasks = tokio::task::JoinSet::new();
    for mut client in clients {
        tasks.spawn(async move {
            for _ in 0..5 {
                let answer = client.write("POST", "/mutate", &review("a")).await;
                assert_eq!(response(&answer)["allowed"], true);
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    world.stop().await;
}

#[tokio::test]
async fn a_client_without_tls_and_one_that_goes_away_disturb_none() {
    use tokio::io::AsyncWriteExt as _;
    let world = World::with_labels().await;
    let mut plain = tokio::net::TcpStream::connect(world.address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
    drop(tokio::net::TcpStream::connect(world.address).await.unwrap());
    let mut client = world.client("http/1.1").await;
    let answer = client.write("POST", "/mutate", &review("a")).await;
    assert_eq!(response(&answer)["allowed"], true);
    world.stop().await;
}
