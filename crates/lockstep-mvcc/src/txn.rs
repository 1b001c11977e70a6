//! Transactions: compares and two branches of operations.

use bytes::Bytes;

use crate::duplicates::Footprint;
use crate::{DeleteRange, KeyRange, LeaseId, Put, Range, RequestError};

/// Maximum nesting depth of transactions, a fixed bound on stack use.
pub const TXN_DEPTH_MAX: usize = 128;

/// Limits set by flags. They are checked when a request arrives, not when its command is applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Maximum number of compares, and of operations of either branch; a nested transaction gets the remainder of
    /// the enclosing one (`--max-txn-ops`).
    pub txn_ops_max: usize,
    /// Minimum TTL; shorter requests get this one.
    pub lease_ttl_min_seconds: i64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            txn_ops_max: 128,
            lease_ttl_min_seconds: 2,
        }
    }
}

/// A transaction, as in etcd.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Txn {
    /// Conditions; `success` runs if all hold.
    pub compares: Vec<Compare>,
    /// Runs if all compares hold.
    pub success: Vec<Op>,
    /// Runs otherwise.
    pub failure: Vec<Op>,
}

/// One operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A read; it sees writes of earlier operations in the same transaction.
    Range(Range),
    /// A put.
    Put(Put),
    /// A delete.
    DeleteRange(DeleteRange),
    /// A nested transaction. All compares are evaluated before any operation of the outermost transaction.
    Txn(Txn),
}

/// A condition on every key of a range. An empty range is evaluated as one key with all fields zero, except that a
/// condition on the value never holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compare {
    /// The keys.
    pub keys: KeyRange,
    /// The comparison operator.
    pub comparison: Comparison,
    /// The stored field and the value to compare it with.
    pub predicate: Predicate,
}

/// Comparison operator; the stored value is on the left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Equal.
    Equal,
    /// Not equal.
    NotEqual,
    /// Greater.
    Greater,
    /// Less.
    Less,
}

/// Field to compare, with the given value. Numbers are signed as on the wire, where a client may send negative
/// ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// Number of puts since the key was created.
    Version(i64),
    /// The create revision.
    CreateRevision(i64),
    /// The mod revision.
    ModRevision(i64),
    /// The value.
    Value(Bytes),
    /// The lease.
    Lease(LeaseId),
}

/// A transaction within its limits in which no branch modifies a key twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedTxn(Txn);

/// A transaction without writes at any depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadTxn<'a>(&'a Txn);

impl Txn {
    /// Validates the transaction. `txn_ops_max` is [`Limits::txn_ops_max`].
    pub fn check(self, txn_ops_max: usize) -> Result<CheckedTxn, RequestError> {
        self.check_size(txn_ops_max, TXN_DEPTH_MAX)?;
        Footprint::of(&self.success)?;
        Footprint::of(&self.failure)?;
        Ok(CheckedTxn(self))
    }

    fn check_size(&self, ops_max: usize, depth_max: usize) -> Result<(), RequestError> {
        let sizes = [&self.success, &self.failure].map(Vec::len);
        let size = sizes.into_iter().fold(self.compares.len(), usize::max);
        let left = ops_max.checked_sub(size).ok_or(RequestError::TooManyOps)?;
        for op in self.success.iter().chain(&self.failure) {
            if let Op::Txn(nested) = op {
                let depth_left = depth_max.checked_sub(1).ok_or(RequestError::TooManyOps)?;
                nested.check_size(left, depth_left)?;
            }
        }
        Ok(())
    }

    fn only_reads(&self) -> bool {
        let mut ops = self.success.iter().chain(&self.failure);
        ops.all(|op| match op {
            Op::Range(_) => true,
            Op::Put(_) | Op::DeleteRange(_) => false,
            Op::Txn(nested) => nested.only_reads(),
        })
    }
}

impl CheckedTxn {
    /// The transaction.
    pub fn txn(&self) -> &Txn {
        &self.0
    }

    /// The transaction as a read, which needs no command, if neither branch writes.
    pub fn as_read_only(&self) -> Option<ReadTxn<'_>> {
        self.0.only_reads().then_some(ReadTxn(&self.0))
    }

    pub(crate) fn into_txn(self) -> Txn {
        self.0
    }
}

impl<'a> ReadTxn<'a> {
    pub(crate) fn txn(self) -> &'a Txn {
        self.0
    }
}
