//! Reads with the promised consistency.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::request::range_to_wire;
use lockstep_etcd_api::response::range_from_wire;
use lockstep_storage::{
    Consistency, Content, Key, KeyRange, Range, RangeResponse, ReadError, ReadFailure, Revision,
    WriteError,
};
use tonic::Request;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Idempotency};
use crate::horizon::fill_in_revisions;
use crate::request::needs_leader;

/// Reads a range.
///
/// A serializable read may reach a member that lags behind an earlier response; it is then repeated as a
/// linearizable read.
pub(crate) async fn range(
    cluster: &Cluster,
    range: &Range,
    consistency: Consistency,
) -> Result<RangeResponse, ReadFailure> {
    let seen = cluster.seen();
    let mut answer = send(cluster, range, consistency).await;
    if consistency == Consistency::Serializable && is_behind(&answer, seen) {
        answer = send(cluster, range, Consistency::Linearizable).await;
    }
    match answer {
        Ok(answer) => {
            cluster.see(answer.revision);
            Ok(answer)
        }
        Err(call_error) => Err(fill_in_revisions(cluster, call_error).await.of_read()),
    }
}

fn is_behind(answer: &Result<RangeResponse, CallError>, seen: Revision) -> bool {
    match answer {
        Ok(answer) => answer.revision < seen,
        Err(CallError::Refused(WriteError::Read(ReadError::FutureRevision { .. }))) => true,
        Err(_) => false,
    }
}

/// The current revision.
pub(crate) async fn revision(
    cluster: &Cluster,
    consistency: Consistency,
) -> Result<Revision, ReadFailure> {
    let smallest = Key::new(&[0_u8][..]).expect("one byte is a key");
    let nothing = Range {
        content: Content::CountOnly,
        ..Range::new(KeyRange::single(smallest))
    };
    Ok(range(cluster, &nothing, consistency).await?.revision)
}

/// Database size of the member in use.
pub(crate) async fn size(cluster: &Cluster) -> Result<u64, ReadFailure> {
    let status = cluster.ask(Idempotency::Idempotent, |connection| async move {
        connection.maintenance().status(pb::StatusRequest {}).await
    });
    let status = status.await.map_err(CallError::of_read)?;
    Ok(u64::try_from(status.db_size).unwrap_or_default())
}

async fn send(
    cluster: &Cluster,
    range: &Range,
    consistency: Consistency,
) -> Result<RangeResponse, CallError> {
    let answer = cluster.ask(Idempotency::Idempotent, |connection| {
        let request = request(range, consistency);
        async move { connection.kv().range(request).await }
    });
    range_from_wire(answer.await?).map_err(|error| CallError::Unknown {
        reason: error.to_string(),
    })
}

/// A serializable read is served without a leader, so only linearizable ones require one.
fn request(range: &Range, consistency: Consistency) -> Request<pb::RangeRequest> {
    let message = range_to_wire(range);
    match consistency {
        Consistency::Linearizable => needs_leader(message),
        Consistency::Serializable => Request::new(pb::RangeRequest {
            serializable: true,
            ..message
        }),
    }
}
