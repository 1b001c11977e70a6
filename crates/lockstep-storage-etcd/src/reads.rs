//! Reads, and what they need to be as fresh as was promised.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::request::range_to_wire;
use lockstep_etcd_api::response::range_from_wire;
use lockstep_storage::{
    Consistency, Content, Key, KeyRange, Range, RangeResponse, ReadError, ReadFailure, Revision,
};
use tonic::Request;

use crate::cluster::{Cluster, Twice};
use crate::horizon::tell_revisions;
use crate::request::needs_leader;
use crate::verdict::unavailable;

/// Reads a range.
///
/// A serializable read may reach a member that is behind what was shown before; then it is asked
/// for once more, linearizable.
pub(crate) async fn range(
    cluster: &Cluster,
    range: &Range,
    consistency: Consistency,
) -> Result<RangeResponse, ReadFailure> {
    let seen = cluster.seen();
    let answer = send(cluster, range, consistency).await;
    let is_behind = match &answer {
        Ok(answer) => answer.revision < seen,
        Err(ReadFailure::Refused(ReadError::FutureRevision { .. })) => true,
        Err(_) => false,
    };
    match consistency {
        Consistency::Serializable if is_behind => {
            send(cluster, range, Consistency::Linearizable).await
        }
        Consistency::Serializable | Consistency::Linearizable => answer,
    }
}

/// The revision of the newest state.
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

async fn send(
    cluster: &Cluster,
    range: &Range,
    consistency: Consistency,
) -> Result<RangeResponse, ReadFailure> {
    let answer = cluster.ask(Twice::Harmless, |connection| {
        let request = request(range, consistency);
        async move { connection.kv().range(request).await }
    });
    let answer = match answer.await {
        Ok(answer) => answer,
        Err(verdict) => return Err(tell_revisions(cluster, verdict).await.of_read()),
    };
    let answer = range_from_wire(answer).map_err(|error| unavailable(error.to_string()))?;
    cluster.see(answer.revision);
    Ok(answer)
}

/// A member without a leader still answers a serializable read: that is what it is for.
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
