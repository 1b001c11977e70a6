//! Transactions and compaction.

use lockstep_etcd_api::etcdserverpb as pb;
use lockstep_etcd_api::request::txn_to_wire;
use lockstep_etcd_api::response::txn_from_wire;
use lockstep_storage::{CheckedTxn, Revision, TxnResponse, WriteFailure};

use crate::call_error::CallError;
use crate::cluster::{Cluster, Idempotency};
use crate::horizon::fill_in_revisions;
use crate::request::needs_leader;

/// Runs a transaction. One with writes is sent again only if it is known not to have arrived.
pub(crate) async fn txn(cluster: &Cluster, txn: &CheckedTxn) -> Result<TxnResponse, WriteFailure> {
    let only_reads = txn.as_read_only().is_some();
    let idempotency = if only_reads {
        Idempotency::Idempotent
    } else {
        Idempotency::NotIdempotent
    };
    let answer = cluster.ask(idempotency, |connection| {
        let request = needs_leader(txn_to_wire(txn.txn()));
        async move { connection.kv().txn(request).await }
    });
    let answer = answer.await.and_then(|answer| {
        txn_from_wire(answer).map_err(|error| CallError::Unknown {
            reason: error.to_string(),
        })
    });
    match answer {
        Ok(answer) => {
            cluster.see(answer.revision);
            Ok(answer)
        }
        Err(call_error) => {
            let call_error = fill_in_revisions(cluster, call_error).await;
            Err(if only_reads {
                call_error.of_idempotent()
            } else {
                call_error.of_write()
            })
        }
    }
}

/// Compacts up to a revision. Returns before etcd has reclaimed the space.
pub(crate) async fn compact(cluster: &Cluster, at: Revision) -> Result<(), WriteFailure> {
    let request = pb::CompactionRequest {
        revision: i64::try_from(at.0).unwrap_or(i64::MAX),
        physical: false,
    };
    let answer = cluster.ask(Idempotency::NotIdempotent, |connection| async move {
        connection.kv().compact(needs_leader(request)).await
    });
    match answer.await {
        Ok(_) => Ok(()),
        Err(call_error) => Err(fill_in_revisions(cluster, call_error).await.of_write()),
    }
}
