//! Backend quota.
//!
//! Writes are rejected only while the `NOSPACE` alarm is raised, which is replicated state. The quota decides when
//! to raise it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockstep_mvcc::{Op, Put, PutValue, Txn};

/// Estimated overhead of a key-value.
const PAIR_OVERHEAD_BYTES: u64 = 256;
/// Estimated size of a lease.
pub(crate) const LEASE_BYTES: u64 = 64;

pub(crate) struct Quota {
    bytes: Option<u64>,
    /// Last measured size of the state.
    used: AtomicU64,
    /// Estimated bytes written since the last measurement.
    written: AtomicU64,
    /// True while the alarm is raised.
    is_full: AtomicBool,
}

impl Quota {
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        Self {
            bytes,
            used: AtomicU64::default(),
            written: AtomicU64::default(),
            is_full: AtomicBool::default(),
        }
    }

    pub(crate) fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// True if `cost` bytes fit the quota; they are then counted as written.
    pub(crate) fn allows(&self, cost: u64) -> bool {
        if self.is_full() {
            return false;
        }
        let Some(bytes) = self.bytes else {
            return true;
        };
        let written = self.written.fetch_add(cost, Ordering::Relaxed);
        let used = self.used.load(Ordering::Relaxed);
        used.saturating_add(written).saturating_add(cost) <= bytes
    }

    /// Sets the measured size.
    pub(crate) fn measure(&self, used: u64) {
        self.used.store(used, Ordering::Relaxed);
        self.written.store(0, Ordering::Relaxed);
    }

    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }
}

/// Estimated size of a put.
pub(crate) fn put_cost(put: &Put) -> u64 {
    let value = match &put.value {
        PutValue::Set(value) => value.len(),
        PutValue::Keep => 0,
    };
    (put.key.bytes().len() + value) as u64 + PAIR_OVERHEAD_BYTES
}

/// Estimated size of a transaction: its larger branch. `None` if it contains no put.
pub(crate) fn txn_cost(txn: &Txn) -> Option<u64> {
    let branch = |ops: &[Op]| ops.iter().filter_map(op_cost).reduce(u64::saturating_add);
    branch(&txn.success).max(branch(&txn.failure))
}

fn op_cost(op: &Op) -> Option<u64> {
    match op {
        Op::Put(put) => Some(put_cost(put)),
        Op::Txn(txn) => txn_cost(txn),
        Op::Range(_) | Op::DeleteRange(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use lockstep_mvcc::Key;

    use super::*;

    fn put(bytes: usize) -> Op {
        Op::Put(Put::new(Key::new("k").unwrap(), vec![0; bytes]))
    }

    #[test]
    fn a_transaction_costs_its_larger_branch_nested_ones_included() {
        // etcd-api.md §8/quota.
        let nested = Txn {
            failure: vec![put(43)],
            ..Txn::default()
        };
        let txn = Txn {
            success: vec![put(99)],
            failure: vec![put(99), Op::Txn(nested)],
            ..Txn::default()
        };
        assert_eq!(txn_cost(&txn), Some(356 + 300));
        assert_eq!(txn_cost(&Txn::default()), None);
    }

    #[test]
    fn what_was_written_since_the_last_look_counts() {
        let quota = Quota::new(Some(1000));
        quota.measure(400);
        assert!(quota.allows(600));
        assert!(!quota.allows(1));
        quota.measure(400);
        assert!(quota.allows(1));
        quota.set_full(true);
        assert!(!quota.allows(1));
        assert!(Quota::new(None).allows(u64::MAX));
    }
}
