//! Watches that outlive connections.

mod follower;
mod goal;
mod position;
mod replay;
mod source;
mod stream;

use std::sync::Arc;

use lockstep_storage::{Consistency, ReadFailure, Revision, Watch, WatchRequest};

pub(crate) use stream::WatchStream;

use crate::cluster::Cluster;
use crate::reads;
use follower::Follower;
use source::Source;

/// Starts a watch.
///
/// One without a first revision begins after the newest one that anybody was told: the member in
/// use may be behind, so the present is asked for first.
pub(crate) async fn start(
    cluster: Arc<Cluster>,
    request: WatchRequest,
) -> Result<Watch, ReadFailure> {
    let (from, present) = match request.from {
        Some(from) => (from.max(Revision::FIRST), Revision::NONE),
        None => {
            let present = reads::revision(&cluster, Consistency::Linearizable).await?;
            (present.next(), present)
        }
    };
    let mut follower = Follower::new(cluster, request.selector, from);
    let started_at = follower.open().await?.max(present);
    Ok(Watch::new(started_at, Source::new(follower)))
}
