//! Reads, and what they need to be as fresh as was promised.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::request::range_to_wire;
use lockstep_etcd_api::response::range_from_wire;
use lockstep_storage::{
    Consistency, Content, Key, KeyRange, Range, RangeResponse, ReadError, ReadFailure, Revision,
    WriteError,
};
use tonic::Request;

use crate::cluster::{Cluster, Twice};
use crate::horizon::tell_revisions;
use crate::request::needs_leader;
use crate::verdict::Verdict;

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
    let mut answer = send(cluster, range, consistency).await;
    if consistency == Consistency::Serializable && is_behind(&answer, seen) {
        answer = send(cluster, range, Consistency::Linearizable).await;
    }
    match answer {
        Ok(answer) => {
            cluster.see(answer.revision);
            Ok(answer)
        }
        Err(verdict) => Err(tell_revisions(cluster, verdict).await.of_read()),
    }
}

fn is_behind(answer: &Result<RangeResponse, Verdict>, seen: Revision) -> bool {
    match answer {
        Ok(answer) => answer.revision < seen,
        Err(Verdict::Refused(WriteError::Read(ReadError::FutureRevision { .. }))) => true,
        Err(_) => false,
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

/// How large the database of the member in use is.
pub(crate) async fn size(cluster: &Cluster) -> Result<u64, ReadFailure> {
    let status = cluster.ask(Twice::Harmless, |connection| async move {
        connection.maintenance().status(pb::StatusRequest {}).await
    });
    let status = status.await.map_err(Verdict::of_read)?;
    Ok(u64::try_from(status.db_size).unwrap_or_default())
}

async fn send(
    cluster: &Cluster,
    range: &Range,
    consistency: Consistency,
) -> Result<RangeResponse, Verdict> {
    let answer = cluster.ask(Twice::Harmless, |connection| {
        let request = request(range, consistency);
        async move { connection.kv().range(request).await }
    });
    range_from_wire(answer.await?).map_err(|error| Verdict::Unknown {
        reason: error.to_string(),
    })
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
