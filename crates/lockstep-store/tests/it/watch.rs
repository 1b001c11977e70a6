//! etcd-api.md §3.

use std::time::Duration;

use lockstep_etcd_api::{etcdserverpb as pb, mvccpb};
use pb::watch_request::RequestUnion;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::harness::{Running, get, put};

struct Client {
    requests: mpsc::Sender<pb::WatchRequest>,
    responses: Streaming<pb::WatchResponse>,
}

impl Client {
    async fn connect(server: &Running) -> Self {
        let (requests, taken) = mpsc::channel(64);
        let watching = server.watch().watch(ReceiverStream::new(taken)).await;
        let responses = watching.unwrap().into_inner();
        Self {
            requests,
            responses,
        }
    }

    async fn ask(&self, request: RequestUnion) {
        let request_union = Some(request);
        let request = pb::WatchRequest { request_union };
        self.requests.send(request).await.unwrap();
    }

    /// Creates a watcher and answers with the first response.
    async fn create(
        &mut self,
        change: impl FnOnce(&mut pb::WatchCreateRequest),
    ) -> pb::WatchResponse {
        let mut create = pb::WatchCreateRequest {
            key: "k".into(),
            range_end: "l".into(),
            ..pb::WatchCreateRequest::default()
        };
        change(&mut create);
        self.ask(RequestUnion::CreateRequest(create)).await;
        self.next().await
    }

    async fn next(&mut self) -> pb::WatchResponse {
        self.responses.message().await.unwrap().unwrap()
    }

    async fn progress(&mut self) -> (i64, i64) {
        self.ask(RequestUnion::ProgressRequest(pb::WatchProgressRequest {}))
            .await;
        let told = self.next().await;
        assert_eq!(told.events, []);
        (told.watch_id, told.header.unwrap().revision)
    }

    /// Key, value and revision of each event of the next response, with a letter for the kind.
    async fn events(&mut self) -> (i64, Vec<String>) {
        let response = self.next().await;
        (
            response.watch_id,
            response.events.iter().map(show).collect(),
        )
    }
}

fn show(event: &mvccpb::Event) -> String {
    let text = |kv: &mvccpb::KeyValue| {
        let (key, value) = (
            String::from_utf8_lossy(&kv.key),
            String::from_utf8_lossy(&kv.value),
        );
        format!("{key}={value}@{}", kv.mod_revision)
    };
    let kind = ["put", "delete"][usize::try_from(event.r#type).unwrap()];
    let previous = event
        .prev_kv
        .as_ref()
        .map(|kv| format!(" was {}", text(kv)));
    format!(
        "{kind} {}{}",
        text(event.kv.as_ref().unwrap()),
        previous.unwrap_or_default()
    )
}

/// etcd-api.md §3/create.
#[tokio::test]
async fn created_comes_first_and_ids_count_from_zero() {
    let server = Running::start().await;
    server.put("k1", "a").await;
    let mut client = Client::connect(&server).await;
    let created = client.create(|create| create.start_revision = 1).await;
    assert_eq!(
        (created.created, created.canceled, created.watch_id),
        (true, false, 0)
    );
    assert_eq!(created.header.unwrap().revision, 2);
    assert_eq!(client.events().await, (0, vec!["put k1=a@2".to_owned()]));
    let own = client.create(|create| create.watch_id = 1).await;
    assert_eq!(own.watch_id, 1);
    let next = client.create(|_| {}).await;
    assert_eq!(next.watch_id, 2);
}

/// etcd-api.md §3/create, etcd-api.md §3/range, etcd-api.md §3/start-negative.
#[tokio::test]
async fn an_id_in_use_an_empty_range_and_a_negative_start_are_created_and_canceled() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|create| create.watch_id = 7).await;
    let mut refused = async |change: fn(&mut pb::WatchCreateRequest)| {
        let response = client.create(change).await;
        assert_eq!(
            (response.created, response.canceled, response.watch_id),
            (true, true, -1)
        );
        response.cancel_reason
    };
    assert_eq!(
        refused(|create| create.watch_id = 7).await,
        "mvcc: duplicate watch ID provided on the WatchStream"
    );
    assert_eq!(
        refused(|create| create.range_end = "a".into()).await,
        "mvcc: watcher range is empty"
    );
    assert_eq!(
        refused(|create| create.start_revision = -1).await,
        "etcdserver: mvcc: required revision has been compacted"
    );
    server.put("k", "still there").await;
    assert_eq!(
        client.events().await,
        (7, vec!["put k=still there@2".to_owned()])
    );
}

/// etcd-api.md §3/start-compacted.
#[tokio::test]
async fn a_start_before_the_compaction_is_canceled_and_one_at_it_delivers_its_deletes() {
    let server = Running::start().await;
    server.put("k", "a").await;
    server.delete("k").await;
    server.put("k", "b").await;
    server.compact(3).await.unwrap();
    let mut client = Client::connect(&server).await;
    client.create(|create| create.start_revision = 2).await;
    let canceled = client.next().await;
    assert_eq!(
        (
            canceled.canceled,
            canceled.compact_revision,
            canceled.watch_id
        ),
        (true, 3, 0)
    );
    client.create(|create| create.start_revision = 3).await;
    let expected = ["delete k=@3", "put k=b@4"].map(str::to_owned).to_vec();
    assert_eq!(client.events().await, (1, expected));
}

/// etcd-api.md §3/start-future.
#[tokio::test]
async fn a_start_in_the_future_is_silent_until_then() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|create| create.start_revision = 4).await;
    for value in ["a", "b", "c"] {
        server.put("k", value).await;
    }
    assert_eq!(client.events().await, (0, vec!["put k=c@4".to_owned()]));
}

/// etcd-api.md §3/filters, etcd-api.md §3/prev-kv.
#[tokio::test]
async fn filters_and_previous_values_are_the_servers_work() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client
        .create(|create| {
            create.filters = vec![0];
            create.prev_kv = true;
        })
        .await;
    server.put("k", "a").await;
    server.put("k", "b").await;
    server.delete("k").await;
    assert_eq!(
        client.events().await,
        (0, vec!["delete k=@4 was k=b@3".to_owned()])
    );
}

/// etcd-api.md §3/atomicity.
#[tokio::test]
async fn all_events_of_a_revision_are_in_one_response() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|_| {}).await;
    let ops = ["k1", "k2", "z", "k3"].map(|key| pb::RequestOp {
        request: Some(pb::request_op::Request::RequestPut(put(key, "v"))),
    });
    let txn = pb::TxnRequest {
        success: ops.into(),
        ..pb::TxnRequest::default()
    };
    server.kv().txn(txn).await.unwrap();
    let expected = ["put k1=v@2", "put k2=v@2", "put k3=v@2"].map(str::to_owned);
    assert_eq!(client.events().await, (0, expected.to_vec()));
}

/// etcd-api.md §3/atomicity.
#[tokio::test]
async fn a_response_is_cut_only_if_that_was_asked_for() {
    let server = Running::start_with(|config| config.request_bytes_max = 5000).await;
    for number in 0..6 {
        server.put(&format!("k{number}"), &"v".repeat(1000)).await;
    }
    let mut client = Client::connect(&server).await;
    client.create(|create| create.start_revision = 1).await;
    let whole = client.next().await;
    assert_eq!((whole.events.len(), whole.fragment), (6, false));
    client
        .create(|create| {
            create.start_revision = 1;
            create.fragment = true;
        })
        .await;
    let (first, second) = (client.next().await, client.next().await);
    assert_eq!((first.events.len(), first.fragment), (4, true));
    assert_eq!((second.events.len(), second.fragment), (2, false));
}

/// etcd-api.md §3/cancel.
#[tokio::test]
async fn a_canceled_watcher_is_told_so_and_an_unknown_one_is_ignored() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|_| {}).await;
    for watch_id in [99, 0] {
        let cancel = pb::WatchCancelRequest { watch_id };
        client.ask(RequestUnion::CancelRequest(cancel)).await;
    }
    let canceled = client.next().await;
    assert_eq!(
        (canceled.watch_id, canceled.canceled, canceled.created),
        (0, true, false)
    );
    server.put("k", "unseen").await;
    client.create(|_| {}).await;
    server.put("k", "seen").await;
    assert_eq!(client.events().await, (1, vec!["put k=seen@3".to_owned()]));
}

/// etcd-api.md §3/progress-request, etcd-api.md §11/watch.
#[tokio::test]
async fn manual_progress_comes_behind_all_events_of_all_watchers() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    assert_eq!(client.progress().await, (-1, 1));
    client.create(|_| {}).await;
    client.create(|create| create.key = "kz".into()).await;
    assert_eq!(client.progress().await, (-1, 1));
    server.put("other", "x").await;
    assert_eq!(client.progress().await, (-1, 2));
    server.put("k", "a").await;
    assert_eq!(client.events().await, (0, vec!["put k=a@3".to_owned()]));
    assert_eq!(client.progress().await, (-1, 3));
}

/// etcd-api.md §3/progress-request.
#[tokio::test]
async fn progress_waits_for_a_watcher_in_the_future() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|create| create.start_revision = 4).await;
    client
        .ask(RequestUnion::ProgressRequest(pb::WatchProgressRequest {}))
        .await;
    server.put("other", "x").await;
    server.put("other", "y").await;
    let told = client.next().await;
    assert_eq!((told.watch_id, told.header.unwrap().revision), (-1, 3));
}

/// etcd-api.md §3/progress-notify.
#[tokio::test]
async fn an_idle_watcher_that_asked_for_it_is_told_its_progress() {
    let interval = Duration::from_millis(100);
    let server = Running::start_with(|config| config.watch_progress_interval = interval).await;
    let mut client = Client::connect(&server).await;
    client.create(|_| {}).await;
    client.create(|create| create.progress_notify = true).await;
    let told = client.next().await;
    assert_eq!((told.watch_id, told.header.unwrap().revision), (1, 1));
    assert_eq!(told.events, []);
}

/// etcd-api.md §3/stream-end.
#[tokio::test]
async fn a_stream_goes_on_after_the_client_closed_its_half() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|_| {}).await;
    let Client {
        requests,
        mut responses,
    } = client;
    drop(requests);
    server.put("k", "a").await;
    let response = responses.message().await.unwrap().unwrap();
    assert_eq!(
        response.events.iter().map(show).collect::<Vec<_>>(),
        ["put k=a@2"]
    );
}

#[tokio::test]
async fn streams_end_when_the_server_does() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|_| {}).await;
    let (_, outcome) = server.stop().await;
    assert_eq!(outcome, Ok(()));
    let ended = client.responses.message().await.unwrap_err();
    assert_eq!(
        crate::harness::code_and_text(&ended),
        "Unavailable: etcdserver: server stopped"
    );
}

/// etcd-api.md §3/slow-consumer: memory is bounded, other watchers are not slowed down, and the slow one catches up
/// from the history or is cancelled as compacted.
#[tokio::test]
async fn a_watcher_that_never_reads_slows_down_no_other_client() {
    const PUTS: usize = 400;
    let server = Running::start().await;
    let mut lazy = Client::connect(&server).await;
    lazy.create(|_| {}).await;
    let mut diligent = Client::connect(&server).await;
    diligent.create(|_| {}).await;
    let value = "v".repeat(64 << 10);
    let mut seen = 0;
    for number in 0..PUTS {
        server.put("k", &value).await;
        while seen <= number {
            seen += diligent.next().await.events.len();
        }
    }
    let mut revisions = Vec::new();
    while revisions.len() < PUTS {
        let response = lazy.next().await;
        revisions.extend(
            response
                .events
                .iter()
                .map(|event| event.kv.as_ref().unwrap().mod_revision),
        );
    }
    let expected: Vec<_> = (2..).take(PUTS).collect();
    assert_eq!(revisions, expected);
    let read = server.kv().range(get("k")).await.unwrap().into_inner();
    assert_eq!(read.kvs[0].version, i64::try_from(PUTS).unwrap());
}

/// etcd-api.md §3/slow-consumer, etcd-api.md §3/catch-up.
#[tokio::test]
async fn a_watcher_too_slow_for_the_kept_history_is_canceled_with_the_compact_revision() {
    let server = Running::start().await;
    let mut client = Client::connect(&server).await;
    client.create(|_| {}).await;
    let value = "v".repeat(256 << 10);
    let mut last = 0;
    for _ in 0..64 {
        last = server.put("k", &value).await;
    }
    server.compact(last).await.unwrap();
    let mut canceled = client.next().await;
    while !canceled.canceled {
        canceled = client.next().await;
    }
    assert_eq!((canceled.watch_id, canceled.compact_revision), (0, last));
}
