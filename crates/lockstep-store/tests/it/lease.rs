//! etcd-api.md §4.

use lockstep_etcd_api::etcdserverpb as pb;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::harness::{Running, code_and_text, get, put};

async fn grant(server: &Running, id: i64, ttl: i64) -> Result<(i64, i64), String> {
    let granted = server
        .lease()
        .lease_grant(pb::LeaseGrantRequest { ttl, id })
        .await;
    let granted = granted
        .map_err(|status| code_and_text(&status))?
        .into_inner();
    Ok((granted.id, granted.ttl))
}

async fn time_to_live(server: &Running, id: i64) -> pb::LeaseTimeToLiveResponse {
    let request = pb::LeaseTimeToLiveRequest { id, keys: true };
    let answer = server
        .lease()
        .lease_time_to_live(request)
        .await
        .unwrap()
        .into_inner();
    pb::LeaseTimeToLiveResponse {
        header: None,
        ..answer
    }
}

/// etcd-api.md §4/grant, etcd-api.md §11/lease.
#[tokio::test]
async fn a_grant_has_the_wished_id_or_a_positive_one_and_a_ttl_that_is_long_enough() {
    let server = Running::start().await;
    assert_eq!(grant(&server, 5, 60).await, Ok((5, 60)));
    let taken = "FailedPrecondition: etcdserver: lease already exists";
    assert_eq!(grant(&server, 5, 60).await, Err(taken.to_owned()));
    let long = "OutOfRange: etcdserver: too large lease TTL";
    assert_eq!(grant(&server, 6, 9_000_000_001).await, Err(long.to_owned()));
    let (id, ttl) = grant(&server, 0, 0).await.unwrap();
    assert!(id > 0, "{id}");
    assert_eq!(ttl, 2);
    let listed = server.lease().lease_leases(pb::LeaseLeasesRequest {}).await;
    let listed: Vec<_> = listed.unwrap().into_inner().leases;
    assert_eq!(listed, [pb::LeaseStatus { id: 5 }, pb::LeaseStatus { id }]);
}

/// etcd-api.md §4/revoke, etcd-api.md §4/leases.
#[tokio::test]
async fn a_revoke_deletes_the_keys_at_one_revision_and_survives_a_restart() {
    let server = Running::start().await;
    grant(&server, 5, 600).await.unwrap();
    for key in ["b", "a"] {
        let request = pb::PutRequest {
            lease: 5,
            ..put(key, "x")
        };
        server.kv().put(request).await.unwrap();
    }
    let (folder, _) = server.stop().await;
    let server = Running::start_on(folder, |_| {}).await;
    let status = time_to_live(&server, 5).await;
    assert_eq!(status.granted_ttl, 600);
    assert_eq!(status.keys, ["a", "b"]);
    let revoke = pb::LeaseRevokeRequest { id: 5 };
    let revoked = server
        .lease()
        .lease_revoke(revoke)
        .await
        .unwrap()
        .into_inner();
    assert_eq!(revoked.header.unwrap().revision, 4);
    let read = server.kv().range(get("a")).await.unwrap().into_inner();
    assert_eq!(read.count, 0);
    let again = server.lease().lease_revoke(revoke).await.unwrap_err();
    assert_eq!(
        code_and_text(&again),
        "NotFound: etcdserver: requested lease not found"
    );
    let gone = pb::LeaseTimeToLiveResponse {
        id: 5,
        ttl: -1,
        ..pb::LeaseTimeToLiveResponse::default()
    };
    assert_eq!(time_to_live(&server, 5).await, gone);
}

/// etcd-api.md §4/keep-alive, etcd-api.md §4/time-to-live.
#[tokio::test]
async fn a_keep_alive_renews_and_an_unknown_lease_answers_zero() {
    let server = Running::start().await;
    grant(&server, 5, 60).await.unwrap();
    let (requests, taken) = mpsc::channel(4);
    let answers = server
        .lease()
        .lease_keep_alive(ReceiverStream::new(taken))
        .await;
    let mut answers = answers.unwrap().into_inner();
    let mut keep_alive = async |id| {
        requests
            .send(pb::LeaseKeepAliveRequest { id })
            .await
            .unwrap();
        let answer = answers.message().await.unwrap().unwrap();
        (answer.id, answer.ttl, answer.header.unwrap().revision)
    };
    assert_eq!(keep_alive(5).await, (5, 60, 1));
    assert_eq!(keep_alive(6).await, (6, 0, 1));
}

/// etcd-api.md §4/expiry.
#[tokio::test]
async fn an_expired_lease_takes_its_keys_along() {
    let server = Running::start().await;
    grant(&server, 5, 1).await.unwrap();
    let request = pb::PutRequest {
        lease: 5,
        ..put("k", "x")
    };
    server.kv().put(request).await.unwrap();
    let mut watching = server
        .watch()
        .watch(tokio_stream::once(pb::WatchRequest {
            request_union: Some(pb::watch_request::RequestUnion::CreateRequest(
                pb::WatchCreateRequest {
                    key: "k".into(),
                    ..pb::WatchCreateRequest::default()
                },
            )),
        }))
        .await
        .unwrap()
        .into_inner();
    let created = watching.message().await.unwrap().unwrap();
    assert!(created.created, "{created:?}");
    let expired = watching.message().await.unwrap().unwrap();
    assert_eq!(expired.events[0].r#type, 1);
    assert_eq!(time_to_live(&server, 5).await.ttl, -1);
}
