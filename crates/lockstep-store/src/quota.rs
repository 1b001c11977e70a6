//! How much room is left.
//!
//! Whether a write is refused is decided by the alarm alone, which is a command like any other.
//! The quota only decides when to raise it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lockstep_mvcc::{Op, Put, PutValue, Txn};

/// What a pair needs besides its key and value.
const PAIR_OVERHEAD_BYTES: u64 = 256;
/// What a lease needs.
pub(crate) const LEASE_BYTES: u64 = 64;

pub(crate) struct Quota {
    bytes: Option<u64>,
    /// The size of the state when it was last looked at.
    used: AtomicU64,
    /// What was written since.
    written: AtomicU64,
    /// Whether the alarm is raised.
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

    /// Whether there is room for a write that needs `cost` bytes; if so, it counts as written.
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

    /// The state has this size now.
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

/// What a put needs.
pub(crate) fn put_cost(put: &Put) -> u64 {
    let value = match &put.value {
        PutValue::Set(value) => value.len(),
        PutValue::Keep => 0,
    };
    (put.key.bytes().len() + value) as u64 + PAIR_OVERHEAD_BYTES
}

/// What a transaction may need: its larger branch. None if it cannot put anything.
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
