//! Where the readable history begins and ends, which etcd's refusals do not tell.

use std::time::Duration;

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::response::revision_of;
use lockstep_storage::{Filters, KeyRange, ReadError, Revision, WatchSelector};
use tokio::time::timeout;

use crate::cluster::{Cluster, Twice};
use crate::request::needs_leader;
use crate::verdict::Verdict;
use crate::watch::WatchStream;

/// How long a member may take to cancel a watch that begins too early. etcd looks ten times a
/// second.
const CANCEL_WAIT: Duration = Duration::from_secs(2);

/// Adds the revisions to a refused read. They stay [`Revision::NONE`] if the store cannot be asked:
/// the refusal stands all the same.
pub(crate) async fn tell_revisions(cluster: &Cluster, mut verdict: Verdict) -> Verdict {
    match verdict.refused_read() {
        Some(ReadError::Compacted { compacted }) => {
            let found = timeout(CANCEL_WAIT, first_readable(cluster)).await;
            *compacted = found.ok().flatten().unwrap_or(Revision::NONE);
        }
        Some(ReadError::FutureRevision { current }) => {
            *current = present(cluster).await.unwrap_or(Revision::NONE);
        }
        None => {}
    }
    verdict
}

/// The revision that was compacted at: a watch that begins before it is canceled with its number.
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
    let answer = cluster.ask(Twice::Harmless, |connection| {
        let request = needs_leader(request.clone());
        async move { connection.kv().range(request).await }
    });
    revision_of(answer.await.ok()?.header).ok()
}
