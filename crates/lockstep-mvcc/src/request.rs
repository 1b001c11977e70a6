//! Commands and read requests.

use bytes::Bytes;

use crate::{Alarm, CheckedTxn, Key, KeyRange, LeaseId, RequestError, Revision};

/// A command that changes the state.
///
/// With the current state, a command determines its outcome: the proposer has already chosen the lease id and the
/// effective TTL, and checked the transaction against its limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Writes one key.
    Put(Put),
    /// Deletes the keys of a range.
    DeleteRange(DeleteRange),
    /// Runs a transaction.
    Txn(CheckedTxn),
    /// Discards versions superseded before a revision.
    Compact {
        /// The oldest revision that stays readable.
        at: Revision,
    },
    /// Grants a lease.
    LeaseGrant {
        /// Its id; [`LeaseId::NONE`] is refused.
        id: LeaseId,
        /// The effective TTL, see [`crate::LeaseTtl::granted`].
        ttl_seconds: i64,
    },
    /// Revokes a lease and deletes its keys, on request or because it expired.
    LeaseRevoke {
        /// Its id.
        id: LeaseId,
    },
    /// Raises or clears an alarm.
    Alarm {
        /// The alarm.
        alarm: Alarm,
        /// True to raise it, false to clear it.
        is_raised: bool,
    },
}

/// Whether a write returns the previous version (`prev_kv`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Previous {
    /// Omits it.
    #[default]
    Omit,
    /// Returns it.
    Return,
}

/// Writes one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Put {
    /// The key.
    pub key: Key,
    /// Its new value.
    pub value: PutValue,
    /// Its new lease.
    pub lease: PutLease,
    /// Whether the response contains the previous version.
    pub previous: Previous,
}

impl Put {
    /// A put of a value, without a lease.
    pub fn new(key: Key, value: impl Into<Bytes>) -> Self {
        Self {
            key,
            value: PutValue::Set(value.into()),
            lease: PutLease::Set(LeaseId::NONE),
            previous: Previous::Omit,
        }
    }
}

/// New value of a put.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PutValue {
    /// Sets a value.
    Set(Bytes),
    /// Keeps the current value (`ignore_value`); the key must exist.
    Keep,
}

impl PutValue {
    /// Decodes the fields `value` and `ignore_value` of a request.
    pub fn from_wire(value: Bytes, ignore_value: bool) -> Result<Self, RequestError> {
        match (ignore_value, value.is_empty()) {
            (false, _) => Ok(Self::Set(value)),
            (true, true) => Ok(Self::Keep),
            (true, false) => Err(RequestError::ValueProvided),
        }
    }
}

/// New lease of a put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PutLease {
    /// Attaches the key to a lease, which must exist; [`LeaseId::NONE`] detaches it.
    Set(LeaseId),
    /// Keeps the current lease (`ignore_lease`); the key must exist.
    Keep,
}

impl PutLease {
    /// Decodes the fields `lease` and `ignore_lease` of a request.
    pub fn from_wire(lease: LeaseId, ignore_lease: bool) -> Result<Self, RequestError> {
        match (ignore_lease, lease.is_some()) {
            (false, _) => Ok(Self::Set(lease)),
            (true, false) => Ok(Self::Keep),
            (true, true) => Err(RequestError::LeaseProvided),
        }
    }
}

/// Deletes the keys of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeleteRange {
    /// The keys.
    pub keys: KeyRange,
    /// Whether the response contains the deleted versions.
    pub previous: Previous,
}

impl DeleteRange {
    /// A delete that returns only the number of keys.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            previous: Previous::Omit,
        }
    }
}

/// Range request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// The keys.
    pub keys: KeyRange,
    /// The revision to read; the current one if `None`.
    pub at: Option<Revision>,
    /// Maximum number of key-values to return; 0 is unlimited. Applied after sorting and bounds.
    pub limit: usize,
    /// Sort order; ascending by key if `None`.
    pub sort: Option<Sort>,
    /// Parts of the key-values to return.
    pub content: Content,
    /// Bounds of the mod revision. They do not affect the count.
    pub mod_revisions: Bounds,
    /// Bounds of the create revision. They do not affect the count.
    pub create_revisions: Bounds,
}

impl Range {
    /// Reads all key-values of a range in key order at the current revision.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            at: None,
            limit: 0,
            sort: None,
            content: Content::Full,
            mod_revisions: Bounds::default(),
            create_revisions: Bounds::default(),
        }
    }
}

/// Parts of the key-values that a read returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Keys and values.
    Full,
    /// Keys with empty values.
    KeysOnly,
    /// Only the count.
    CountOnly,
}

/// Sort order of a read. Key-values that compare equal stay in key order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    /// The field to sort by.
    pub target: SortTarget,
    /// The direction.
    pub order: SortOrder,
}

/// Field to sort by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortTarget {
    /// The key.
    Key,
    /// The version.
    Version,
    /// The create revision.
    CreateRevision,
    /// The mod revision.
    ModRevision,
    /// The value, also in a keys-only read.
    Value,
}

/// Sort direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortOrder {
    /// Smallest first.
    Ascend,
    /// Greatest first.
    Descend,
}

/// Inclusive revision bounds; [`Revision::NONE`] is unbounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Lower bound.
    pub min: Revision,
    /// Upper bound.
    pub max: Revision,
}

impl Bounds {
    pub(crate) fn contain(self, revision: Revision) -> bool {
        revision >= self.min && (self.max == Revision::NONE || revision <= self.max)
    }
}
