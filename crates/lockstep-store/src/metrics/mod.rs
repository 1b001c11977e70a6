//! Metrics with etcd's names.

mod calls;
mod text;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockstep_mvcc::{OpResponse, Response, TxnResponse};

pub(crate) use calls::{Call, Calls};
pub(crate) use text::text;

/// A monotonic counter.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A gauge of current instances with a counter of all.
#[derive(Default)]
pub(crate) struct InstanceCount {
    come: AtomicU64,
    gone: AtomicU64,
}

impl InstanceCount {
    pub(crate) fn increase(&self) {
        self.come.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn decrease(&self) {
        self.subtract(1);
    }

    pub(crate) fn subtract(&self, count: u64) {
        self.gone.fetch_add(count, Ordering::Relaxed);
    }

    /// Number of instances ever created.
    pub(crate) fn total(&self) -> u64 {
        self.come.load(Ordering::Relaxed)
    }

    fn present(&self) -> u64 {
        let gone = self.gone.load(Ordering::Relaxed);
        self.total().saturating_sub(gone)
    }
}

/// Metrics updated by requests.
#[derive(Default)]
pub(crate) struct Metrics {
    pub(crate) watch_streams: InstanceCount,
    pub(crate) watchers: InstanceCount,
    pub(crate) events: Counter,
    pub(crate) compactions: Counter,
    pub(crate) defragmentations: Counter,
    pub(crate) operations: Operations,
    /// Proposals that failed with an unknown outcome.
    pub(crate) failed_proposals: Counter,
    pub(crate) health_successes: Counter,
    pub(crate) health_failures: Counter,
    pub(crate) calls: Arc<Calls>,
}

/// Counters of key operations, including those inside transactions.
#[derive(Default)]
pub(crate) struct Operations {
    pub(crate) ranges: Counter,
    pub(crate) puts: Counter,
    pub(crate) deletes: Counter,
    pub(crate) txns: Counter,
}

impl Operations {
    /// Counts the operations of a write.
    pub(crate) fn count(&self, response: &Response) {
        match response {
            Response::Put(_) => self.puts.add(1),
            Response::DeleteRange(_) => self.deletes.add(1),
            Response::Txn(txn) => self.count_txn(txn),
            Response::Compact
            | Response::LeaseGrant { .. }
            | Response::LeaseRevoke
            | Response::Alarm => {}
        }
    }

    pub(crate) fn count_txn(&self, txn: &TxnResponse) {
        self.txns.add(1);
        for response in &txn.responses {
            match response {
                OpResponse::Range(_) => self.ranges.add(1),
                OpResponse::Put(_) => self.puts.add(1),
                OpResponse::DeleteRange(_) => self.deletes.add(1),
                OpResponse::Txn(txn) => self.count_txn(txn),
            }
        }
    }
}
