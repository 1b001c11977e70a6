//! Writes of the API server: one key with a precondition, and compares on other keys.

use std::sync::Arc;

use crate::{
    CheckedTxn, Compare, Comparison, DeleteRange, Key, KeyRange, KeyValue, LeaseId, Op, OpResponse,
    Predicate, Put, PutLease, Range, RequestError, Revision, Txn, TxnResponse,
};
use bytes::Bytes;

/// A transaction that writes one key if all of its conditions hold.
///
/// If a condition fails, the failure branch reads the key and all fenced keys, so the caller learns which of them
/// changed without another request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardedWrite {
    /// The key to write.
    pub key: Key,
    /// Precondition on the key.
    pub expected: Expected,
    /// The operation on the key.
    pub op: GuardedOp,
    /// Other keys that must be unchanged.
    pub fences: Vec<Fence>,
    /// Ranges in which no key may have been created or changed.
    pub unchanged_ranges: Vec<RangeUnchanged>,
    /// Further keys written in the same transaction.
    pub extra_writes: Vec<ExtraWrite>,
}

/// A write of another key in the same transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExtraWrite {
    /// Creates a key that must not exist, for example the allocation of a cluster IP.
    Create {
        /// The key.
        key: Key,
        /// The value.
        value: Bytes,
    },
    /// Deletes a key if it exists.
    Delete(Key),
    /// Updates a key that must be unchanged since a revision.
    Replace {
        /// The key.
        key: Key,
        /// Expected mod revision.
        at: Revision,
        /// The new value.
        value: Bytes,
    },
}

/// A range in which no key may have a newer mod revision; with [`Revision::NONE`] the range must be empty.
///
/// Deletes are not detected: a deleted key has no mod revision left to compare.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeUnchanged {
    /// The keys.
    pub keys: KeyRange,
    /// The greatest mod revision that any of them may have.
    pub newest: Revision,
}

/// Precondition on a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// The key does not exist.
    Absent,
    /// The key's mod revision.
    At(Revision),
}

/// Operation on the guarded key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GuardedOp {
    /// Puts a value, on a lease or on [`LeaseId::NONE`].
    Put {
        /// The value.
        value: Bytes,
        /// The lease.
        lease: LeaseId,
    },
    /// Deletes the key.
    Delete,
}

/// A compare on the mod revision of a key; [`Revision::NONE`] requires that it does not exist.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fence {
    /// The key.
    pub key: Key,
    /// Expected mod revision.
    pub at: Revision,
}

/// Result of a guarded write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum GuardedOutcome {
    /// The write was committed.
    Committed {
        /// Its revision.
        revision: Revision,
    },
    /// A condition failed; nothing was written. All fields are read at one revision.
    ConditionFailed {
        /// The revision of the read.
        revision: Revision,
        /// The guarded key; `None` if it does not exist.
        current: Option<Arc<KeyValue>>,
        /// The fenced keys in their order; `None` for one that does not exist.
        fences: Vec<Option<Arc<KeyValue>>>,
    },
}

impl GuardedWrite {
    /// Builds the transaction. Fails if there are more conditions than `txn_ops_max`.
    pub fn txn(self, txn_ops_max: usize) -> Result<CheckedTxn, RequestError> {
        let expected = match self.expected {
            Expected::Absent => Revision::NONE,
            Expected::At(revision) => revision,
        };
        let object = Fence {
            key: self.key.clone(),
            at: expected,
        };
        let all = || std::iter::once(&object).chain(&self.fences);
        let extra_fences = self.extra_writes.iter().filter_map(ExtraWrite::fence);
        let compares = all()
            .map(Fence::compare)
            .chain(extra_fences.map(|fence| fence.compare()))
            .chain(self.unchanged_ranges.iter().map(RangeUnchanged::compare))
            .collect();
        let failure = all().map(Fence::read).collect();
        let op = match self.op {
            GuardedOp::Put { value, lease } => Op::Put(Put {
                lease: PutLease::Set(lease),
                ..Put::new(self.key, value)
            }),
            GuardedOp::Delete => Op::DeleteRange(DeleteRange::new(KeyRange::single(self.key))),
        };
        let txn = Txn {
            compares,
            success: std::iter::once(op)
                .chain(self.extra_writes.into_iter().map(ExtraWrite::op))
                .collect(),
            failure,
        };
        txn.check(txn_ops_max)
    }
}

impl ExtraWrite {
    /// Precondition of the write, if it has one.
    fn fence(&self) -> Option<Fence> {
        match self {
            Self::Create { key, .. } => Some(Fence {
                key: key.clone(),
                at: Revision::NONE,
            }),
            Self::Delete(_) => None,
            Self::Replace { key, at, .. } => Some(Fence {
                key: key.clone(),
                at: *at,
            }),
        }
    }

    fn op(self) -> Op {
        match self {
            Self::Create { key, value } | Self::Replace { key, value, .. } => {
                Op::Put(Put::new(key, value))
            }
            Self::Delete(key) => Op::DeleteRange(DeleteRange::new(KeyRange::single(key))),
        }
    }
}

impl RangeUnchanged {
    fn compare(&self) -> Compare {
        let above = i64::try_from(self.newest.0.saturating_add(1)).unwrap_or(i64::MAX);
        Compare {
            keys: self.keys.clone(),
            comparison: Comparison::Less,
            predicate: Predicate::ModRevision(above),
        }
    }
}

impl Fence {
    fn compare(&self) -> Compare {
        let at = i64::try_from(self.at.0).unwrap_or(i64::MAX);
        Compare {
            keys: KeyRange::single(self.key.clone()),
            comparison: Comparison::Equal,
            predicate: Predicate::ModRevision(at),
        }
    }

    fn read(&self) -> Op {
        Op::Range(Range::new(KeyRange::single(self.key.clone())))
    }
}

impl GuardedOutcome {
    /// Decodes the response to [`GuardedWrite::txn`].
    pub fn of(answer: TxnResponse) -> Self {
        let revision = answer.revision;
        if answer.succeeded {
            return Self::Committed { revision };
        }
        let mut found = answer.responses.into_iter().map(|response| match response {
            OpResponse::Range(range) => range.kvs.into_iter().next(),
            OpResponse::Put(_) | OpResponse::DeleteRange(_) | OpResponse::Txn(_) => None,
        });
        Self::ConditionFailed {
            revision,
            current: found.next().flatten(),
            fences: found.collect(),
        }
    }
}
