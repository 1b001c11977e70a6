//! Transactions and compaction.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::request::txn_to_wire;
use lockstep_etcd_api::response::txn_from_wire;
use lockstep_storage::{CheckedTxn, Revision, TxnResponse, WriteFailure};

use crate::cluster::{Cluster, Twice};
use crate::horizon::tell_revisions;
use crate::request::needs_leader;
use crate::verdict::Verdict;

/// Runs a transaction. One that writes is sent again only if it is known not to have arrived.
pub(crate) async fn txn(cluster: &Cluster, txn: &CheckedTxn) -> Result<TxnResponse, WriteFailure> {
    let only_reads = txn.as_read_only().is_some();
    let twice = if only_reads {
        Twice::Harmless
    } else {
        Twice::Harmful
    };
    let answer = cluster.ask(twice, |connection| {
        let request = needs_leader(txn_to_wire(txn.txn()));
        async move { connection.kv().txn(request).await }
    });
    let answer = answer.await.and_then(|answer| {
        txn_from_wire(answer).map_err(|error| Verdict::Unknown {
            reason: error.to_string(),
        })
    });
    match answer {
        Ok(answer) => {
            cluster.see(answer.revision);
            Ok(answer)
        }
        Err(verdict) => {
            let verdict = tell_revisions(cluster, verdict).await;
            Err(if only_reads {
                verdict.of_harmless()
            } else {
                verdict.of_write()
            })
        }
    }
}

/// Forgets what was overwritten before a revision. Space is freed later: nobody waits for it.
pub(crate) async fn compact(cluster: &Cluster, at: Revision) -> Result<(), WriteFailure> {
    let request = pb::CompactionRequest {
        revision: i64::try_from(at.0).unwrap_or(i64::MAX),
        physical: false,
    };
    let answer = cluster.ask(Twice::Harmful, |connection| async move {
        connection.kv().compact(needs_leader(request)).await
    });
    match answer.await {
        Ok(_) => Ok(()),
        Err(verdict) => Err(tell_revisions(cluster, verdict).await.of_write()),
    }
}
