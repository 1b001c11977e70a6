//! Watches that survive connections.

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
/// Without a start revision, the watch starts after the newest revision returned to any caller. The member in use
/// may lag behind, so the current revision is read first.
pub(crate) async fn start(
    cluster: Arc<Cluster>,
    request: WatchRequest,
) -> Result<Watch, ReadFailure> {
    let present = match request.from {
        Some(_) => None,
        None => Some(reads::revision(&cluster, Consistency::Linearizable).await?),
    };
    let from = request.from.or(present.map(Revision::next));
    let from = from.unwrap_or_default().max(Revision::FIRST);
    let mut follower = Follower::new(cluster, request.selector, from);
    let created_at = follower.open().await?;
    let started_at = present.unwrap_or(created_at);
    Ok(Watch::new(started_at, Source::new(follower)))
}
