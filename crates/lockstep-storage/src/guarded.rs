//! The writes of the API server: one object, an expectation on it, and fences on other keys.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_mvcc::{
    CheckedTxn, Compare, Comparison, DeleteRange, Key, KeyRange, KeyValue, LeaseId, Op, OpResponse,
    Predicate, Put, PutLease, Range, RequestError, Revision, Txn, TxnResponse,
};

/// Writes one key if it is as expected and every fence stands.
///
/// All conditions and the write are one transaction. If a condition fails, the same transaction
/// reads the key and the keys of all fences, so the writer knows which of them moved without asking
/// again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GuardedWrite {
    /// The key to write.
    pub key: Key,
    /// What the key has to be before.
    pub expected: Expected,
    /// What to write.
    pub written: Written,
    /// What else must not have changed.
    pub fences: Vec<Fence>,
    /// Where nothing may have come or changed.
    pub unchanged_ranges: Vec<RangeUnchanged>,
    /// What is written with it, or not at all.
    pub extra_writes: Vec<ExtraWrite>,
}

/// A key that is written together with an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExtraWrite {
    /// Somebody takes what nobody else has: the key must be missing, and gets a value.
    Create {
        /// The key.
        key: Key,
        /// Who takes it.
        value: Bytes,
    },
    /// The key is deleted, if it is there.
    Delete(Key),
    /// Another object is changed with it: the key must be as it was left at a revision, and gets a value.
    Replace {
        /// The key.
        key: Key,
        /// The revision.
        at: Revision,
        /// What it becomes.
        value: Bytes,
    },
}

/// Keys of which none may be newer than a revision; [`Revision::NONE`] demands that there are none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RangeUnchanged {
    /// The keys.
    pub keys: KeyRange,
    /// The newest revision among them.
    pub newest: Revision,
}

/// What a key has to be before a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// Missing.
    Absent,
    /// As it was left at this revision.
    At(Revision),
}

/// What is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Written {
    /// A value, on a lease or on [`LeaseId::NONE`].
    Put {
        /// The value.
        value: Bytes,
        /// The lease.
        lease: LeaseId,
    },
    /// Nothing: the key is deleted.
    Delete,
}

/// A key that has to be as it was left at a revision; [`Revision::NONE`] demands that it is
/// missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fence {
    /// The key.
    pub key: Key,
    /// The revision.
    pub at: Revision,
}

/// What became of a guarded write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// It happened.
    Done {
        /// At this revision.
        revision: Revision,
    },
    /// A condition failed; nothing was written. Everything below is as of one revision.
    Stopped {
        /// The revision.
        revision: Revision,
        /// The key that was to be written; none if it is missing.
        current: Option<Arc<KeyValue>>,
        /// The keys of the fences in their order; none for a missing one.
        fences: Vec<Option<Arc<KeyValue>>>,
    },
}

impl GuardedWrite {
    /// The transaction. Refused if there are more conditions than operations are allowed.
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
        let written = match self.written {
            Written::Put { value, lease } => Op::Put(Put {
                lease: PutLease::Set(lease),
                ..Put::new(self.key, value)
            }),
            Written::Delete => Op::DeleteRange(DeleteRange::new(KeyRange::single(self.key))),
        };
        let txn = Txn {
            compares,
            success: std::iter::once(written)
                .chain(self.extra_writes.into_iter().map(ExtraWrite::op))
                .collect(),
            failure,
        };
        txn.check(txn_ops_max)
    }
}

impl ExtraWrite {
    /// What has to hold before.
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

impl Outcome {
    /// Reads the answer to [`GuardedWrite::txn`].
    pub fn of(answer: TxnResponse) -> Self {
        let revision = answer.revision;
        if answer.succeeded {
            return Self::Done { revision };
        }
        let mut found = answer.responses.into_iter().map(|response| match response {
            OpResponse::Range(range) => range.kvs.into_iter().next(),
            OpResponse::Put(_) | OpResponse::DeleteRange(_) | OpResponse::Txn(_) => None,
        });
        Self::Stopped {
            revision,
            current: found.next().flatten(),
            fences: found.collect(),
        }
    }
}
