//! Compacted and current revision, which etcd's errors do not contain.

use std::time::Duration;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::response::revision_of;
use lockstep_storage::{Filters, KeyRange, ReadError, Revision, WatchSelector};
use tokio::time::timeout;

use crate::call_error::CallError;
use crate::cluster::{Cluster, Idempotency};
use crate::request::needs_leader;
use crate::watch::WatchStream;

/// Timeout for a member to cancel a compacted watch. etcd checks unsynced watchers ten times a second.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

/// Adds the revisions to a read error. They stay [`Revision::NONE`] if the store is unavailable.
pub(crate) async fn fill_in_revisions(cluster: &Cluster, mut call_error: CallError) -> CallError {
    match call_error.refused_read() {
        Some(ReadError::Compacted { compacted }) => {
            let found = timeout(CANCEL_WAIT, first_readable(cluster)).await;
            *compacted = found.ok().flatten().unwrap_or(Revision::NONE);
        }
        Some(ReadError::FutureRevision { current }) => {
            *current = present(cluster).await.unwrap_or(Revision::NONE);
        }
        None => {}
    }
    call_error
}

/// The compacted revision, found by a watch that starts before it: its cancel response contains the revision.
async fn first_readable(cluster: &Cluster) -> Option<Revision> {
    let nothing = WatchSelector {
        filters: Filters {
            no_put: true,
            no_delete: true,
        },
        ..WatchSelector::new(KeyRange::prefix(vec![0]))
    };
    let stream = WatchStream::open(cluster, &nothing, Revision::FIRST).await;
    let mut stream = stream.ok()?;
    loop {
        let response = stream.next().await.ok()?;
        if response.canceled {
            let compacted = u64::try_from(response.compact_revision).ok()?;
            return Some(Revision(compacted)).filter(|compacted| *compacted > Revision::NONE);
        }
    }
}

async fn present(cluster: &Cluster) -> Option<Revision> {
    let request = pb::RangeRequest {
        key: vec![0].into(),
        count_only: true,
        ..pb::RangeRequest::default()
    };
    let answer = cluster.ask(Idempotency::Idempotent, |connection| {
        let request = needs_leader(request.clone());
        async move { connection.kv().range(request).await }
    });
    revision_of(answer.await.ok()?.header).ok()
}
