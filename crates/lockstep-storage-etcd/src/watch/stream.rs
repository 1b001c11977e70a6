//! One watch on one gRPC stream.
//!
//! Each watch has its own stream: flow control stops the member when the reader stops, so there is no queue, and no
//! watch is delayed by another's reader or progress (`docs/decisions/0008-etcd-as-a-store.md`).

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::response::revision_of;
use lockstep_etcd_api::watch::create_to_wire;
use lockstep_storage::{Revision, WatchSelector};
use pb::watch_request::RequestUnion;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::Stream;
use tonic::Streaming;

use crate::call_error::{CallError, MemberFailure, RetryElsewhere, describe};
use crate::cluster::Cluster;
use crate::connection::Connection;
use crate::request::needs_leader;

/// Outgoing requests: the first creates the watch, others request progress. A full queue means that enough progress
/// requests are pending.
const REQUESTS_MAX: usize = 4;

/// A stream with a created watch.
pub(crate) struct WatchStream {
    pub(crate) connection: Connection,
    /// The member's revision when the watch was created.
    pub(crate) created_at: Revision,
    requests: mpsc::Sender<pb::WatchRequest>,
    responses: Streaming<pb::WatchResponse>,
    /// The first response, if it contains more than the creation.
    first: Option<pb::WatchResponse>,
}

impl WatchStream {
    /// Opens a stream at the member in use and creates the watch; switches to the next member on failure.
    pub(crate) async fn open(
        cluster: &Cluster,
        selector: &WatchSelector,
        from: Revision,
    ) -> Result<Self, CallError> {
        let connection = cluster.connection().await;
        let away = |reason| CallError::not_done(reason, RetryElsewhere::MayHelp);
        let connection = connection.map_err(|unavailable| away(unavailable.reason))?;
        let opened = open_whole(connection.clone(), selector, from);
        let call_error = match timeout(cluster.timeouts().request, opened).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(failure)) => CallError::of_failure(failure, connection.url()),
            Err(_) => away(cluster.no_answer(connection.url())),
        };
        cluster.leave(&connection);
        Err(call_error)
    }

    /// The next response, or the error. Cancel safe.
    pub(crate) async fn next(&mut self) -> Result<pb::WatchResponse, String> {
        if let Some(first) = self.first.take() {
            return Ok(first);
        }
        match self.responses.message().await {
            Ok(Some(response)) => Ok(response),
            Ok(None) => Err("the member ended the stream".to_owned()),
            Err(status) => Err(describe(&status)),
        }
    }

    /// Requests a progress response.
    pub(crate) fn ask_for_progress(&self) {
        let union = RequestUnion::ProgressRequest(pb::WatchProgressRequest {});
        // A full queue already holds such a request; a closed stream is noticed by the next read.
        _ = self.requests.try_send(request(union));
    }
}

/// Creates a watch that misses no event, whatever bugs the member's version has.
///
/// Where deletes at the compacted revision may be lost, a watch that needs history starts one revision earlier, so
/// that it is rejected instead. The reader drops events before its position.
async fn open_whole(
    connection: Connection,
    selector: &WatchSelector,
    from: Revision,
) -> Result<WatchStream, MemberFailure> {
    let is_whole = connection.member().version.keeps_deletes_at_compaction();
    let stream = open_at(connection, selector, from).await?;
    if is_whole || stream.created_at < from || from == Revision::FIRST {
        return Ok(stream);
    }
    open_at(stream.connection, selector, from.previous()).await
}

async fn open_at(
    connection: Connection,
    selector: &WatchSelector,
    from: Revision,
) -> Result<WatchStream, MemberFailure> {
    let (requests, queue) = mpsc::channel(REQUESTS_MAX);
    let create = pb::WatchCreateRequest {
        progress_notify: true,
        fragment: true,
        ..create_to_wire(selector, Some(from))
    };
    // etcd sends no headers before it has received a request.
    let first = request(RequestUnion::CreateRequest(create));
    requests
        .try_send(first)
        .map_err(|_| MemberFailure::unexpected("a new queue has no room"))?;
    let opened = connection.watches().watch(needs_leader(Queue(queue))).await;
    let mut responses = opened?.into_inner();
    let created = responses.message().await?;
    let created = created.filter(|response| response.created);
    let mut created = created.ok_or_else(|| MemberFailure::unexpected("the watch was not made"))?;
    let created_at = revision_of(created.header.take());
    let created_at = created_at.map_err(|error| MemberFailure::unexpected(error.to_string()))?;
    Ok(WatchStream {
        connection,
        created_at,
        requests,
        responses,
        first: created.canceled.then_some(created),
    })
}

fn request(union: RequestUnion) -> pb::WatchRequest {
    pb::WatchRequest {
        request_union: Some(union),
    }
}

/// Requests of a stream; the stream ends when the sender is dropped.
struct Queue(mpsc::Receiver<pb::WatchRequest>);

impl Stream for Queue {
    type Item = pb::WatchRequest;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        self.0.poll_recv(cx)
    }
}
