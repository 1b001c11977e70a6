//! Progress where a member's own word on it cannot be trusted.
//!
//! Such a member may tell a progress before the events that it covers. What a watch still has to
//! deliver is found out by reading the same stretch of history a second time, whole: each revision
//! changes some key, so the last one shows up for certain.

use lockstep_etcd_api::response::pair_from_wire;
use lockstep_storage::{KeyRange, Revision, WatchSelector};
use tokio::time::timeout;

use super::stream::WatchStream;
use crate::cluster::Cluster;

/// What the history from one revision to another holds for a watch.
pub(super) enum Replayed {
    /// The newest change that it has to deliver; [`Revision::NONE`] if there is none.
    Newest(Revision),
    /// The beginning is gone.
    Compacted(Revision),
    /// It could not be read.
    Unread,
}

pub(super) async fn replay(
    cluster: &Cluster,
    selector: &WatchSelector,
    from: Revision,
    to: Revision,
) -> Replayed {
    if to < from {
        return Replayed::Newest(Revision::NONE);
    }
    let everything = WatchSelector::new(KeyRange::all());
    let Ok(mut stream) = WatchStream::open(cluster, &everything, from).await else {
        return Replayed::Unread;
    };
    let read = read(&mut stream, selector, to);
    let read = timeout(cluster.timeouts().request, read).await;
    read.unwrap_or(Replayed::Unread)
}

async fn read(stream: &mut WatchStream, selector: &WatchSelector, to: Revision) -> Replayed {
    let mut newest = Revision::NONE;
    loop {
        let Ok(response) = stream.next().await else {
            return Replayed::Unread;
        };
        if response.canceled {
            return match u64::try_from(response.compact_revision) {
                Ok(0) | Err(_) => Replayed::Unread,
                Ok(compacted) => Replayed::Compacted(Revision(compacted)),
            };
        }
        let mut last = Revision::NONE;
        for kv in response.events.into_iter().filter_map(|event| event.kv) {
            let Ok(kv) = pair_from_wire(kv) else {
                return Replayed::Unread;
            };
            last = kv.mod_revision;
            if last <= to && selector.matches(&kv) {
                newest = last;
            }
        }
        // What is left of the last revision in a fragment may still match.
        if last > to || (last == to && !response.fragment) {
            return Replayed::Newest(newest);
        }
    }
}
