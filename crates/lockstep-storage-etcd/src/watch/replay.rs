//! Progress for members whose progress responses are unreliable (etcd issue 15220).
//!
//! Such a member may report progress before the events that it covers. The remaining events of a watch are found
//! with a second watch of all keys over the same revisions: each revision changes some key, so the last one is
//! certain to appear.

use lockstep_etcd_api::response::pair_from_wire;
use lockstep_storage::{KeyRange, Revision, WatchSelector};
use tokio::time::timeout;

use super::stream::WatchStream;
use crate::cluster::Cluster;

/// Result of reading a range of revisions for a watch.
pub(super) enum Replayed {
    /// The newest matching change; [`Revision::NONE`] if there is none.
    Newest(Revision),
    /// The start of the range is compacted.
    Compacted(Revision),
    /// The range could not be read.
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
        // The rest of the last revision may follow in the next fragment.
        if last > to || (last == to && !response.fragment) {
            return Replayed::Newest(newest);
        }
    }
}
