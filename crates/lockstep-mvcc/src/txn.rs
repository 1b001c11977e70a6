//! Transactions: compares and two lists of operations.

use bytes::Bytes;

use crate::duplicates::Footprint;
use crate::{DeleteRange, KeyRange, LeaseId, Put, Range, RequestError};

/// How deep transactions may be nested, whatever the limits say; it bounds the stack.
pub const TXN_DEPTH_MAX: usize = 128;

/// Limits that a flag may change. They are checked when a request arrives and never again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The most compares, and the most operations of either list; a nested transaction gets what
    /// the one around it left.
    pub txn_ops_max: usize,
    /// The shortest TTL that is granted; shorter wishes get this one.
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

/// Compares, and what to do then or else.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Txn {
    /// All must hold for `success` to run.
    pub compares: Vec<Compare>,
    /// Runs if all compares hold.
    pub success: Vec<Op>,
    /// Runs otherwise.
    pub failure: Vec<Op>,
}

/// One operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// A read; it sees what operations before it in the same transaction wrote.
    Range(Range),
    /// A put.
    Put(Put),
    /// A delete.
    DeleteRange(DeleteRange),
    /// A transaction. Which of its lists runs is decided before any operation of the whole.
    Txn(Txn),
}

/// A condition on every key of a range. A range without keys is judged as one key of zeros, except
/// that a condition on the value then never holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compare {
    /// Which keys.
    pub keys: KeyRange,
    /// How the stored fact relates to the given one.
    pub comparison: Comparison,
    /// The fact.
    pub predicate: Predicate,
}

/// How a stored fact has to relate to the given one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Same.
    Equal,
    /// Another.
    NotEqual,
    /// The stored one is greater.
    Greater,
    /// The stored one is less.
    Less,
}

/// The fact that a compare looks at, with the given side. Numbers are as wide as on the wire, where
/// a client may send negative ones.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Predicate {
    /// The number of puts since the key was created.
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

/// A transaction within its limits in which no branch changes a key twice.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckedTxn(Txn);

/// A transaction that only reads, at any depth.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadTxn<'a>(&'a Txn);

impl Txn {
    /// Proves what applying relies on. `txn_ops_max` is [`Limits::txn_ops_max`].
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

    /// The same transaction as one that needs no command, if neither list writes.
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
