//! What can be asked of the machine.

use bytes::Bytes;

use crate::{Alarm, CheckedTxn, Key, KeyRange, LeaseId, RequestError, Revision};

/// Everything that can change the machine.
///
/// A command carries all that its outcome depends on besides the state: the proposer has chosen the
/// lease id and the effective TTL, and checked the transaction against its limits.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Writes one key.
    Put(Put),
    /// Deletes the keys of a range.
    DeleteRange(DeleteRange),
    /// Compares, then runs one of two lists of operations, all or nothing.
    Txn(CheckedTxn),
    /// Forgets what was overwritten or deleted before a revision.
    Compact {
        /// The oldest revision that stays readable.
        at: Revision,
    },
    /// Makes a lease.
    LeaseGrant {
        /// Its id; [`LeaseId::NONE`] is refused.
        id: LeaseId,
        /// The effective TTL, see [`crate::LeaseTtl::granted`].
        ttl_seconds: i64,
    },
    /// Ends a lease and deletes its keys, at a client's wish or because it expired.
    LeaseRevoke {
        /// Its id.
        id: LeaseId,
    },
    /// Raises or clears an alarm.
    Alarm {
        /// Which one.
        alarm: Alarm,
        /// Whether it is raised from now on.
        is_raised: bool,
    },
}

/// Whether a write also returns what it replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Previous {
    /// It does not.
    #[default]
    Omit,
    /// It does.
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
    /// Whether the answer holds the version before.
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

/// The value that a put leaves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PutValue {
    /// This one.
    Set(Bytes),
    /// The one the key has; the key must exist.
    Keep,
}

impl PutValue {
    /// From the fields `value` and `ignore_value` of a request.
    pub fn from_wire(value: Bytes, ignore_value: bool) -> Result<Self, RequestError> {
        match (ignore_value, value.is_empty()) {
            (false, _) => Ok(Self::Set(value)),
            (true, true) => Ok(Self::Keep),
            (true, false) => Err(RequestError::ValueProvided),
        }
    }
}

/// The lease that a put leaves a key on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PutLease {
    /// This one, which must exist; [`LeaseId::NONE`] takes the key off its lease.
    Set(LeaseId),
    /// The one the key has; the key must exist.
    Keep,
}

impl PutLease {
    /// From the fields `lease` and `ignore_lease` of a request.
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
    /// Which keys.
    pub keys: KeyRange,
    /// Whether the answer holds the deleted versions.
    pub previous: Previous,
}

impl DeleteRange {
    /// A delete that tells only how many keys there were.
    pub fn new(keys: KeyRange) -> Self {
        Self {
            keys,
            previous: Previous::Omit,
        }
    }
}

/// Reads the keys of a range.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// Which keys.
    pub keys: KeyRange,
    /// As of which revision; the current state if none.
    pub at: Option<Revision>,
    /// The most pairs to return; 0 returns all. Order and bounds are applied before it.
    pub limit: usize,
    /// The order of the pairs; ascending by key if none.
    pub sort: Option<Sort>,
    /// How much of the pairs to return.
    pub content: Content,
    /// Only pairs with a mod revision inside. Does not change the count.
    pub mod_revisions: Bounds,
    /// Only pairs with a create revision inside. Does not change the count.
    pub create_revisions: Bounds,
}

impl Range {
    /// All pairs of a range in key order as they are now.
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

/// How much of the pairs a read returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// Everything.
    Full,
    /// Pairs with empty values.
    KeysOnly,
    /// No pairs, only how many there are.
    CountOnly,
}

/// The order of the pairs of an answer. Pairs that are equal in the target stay in key order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sort {
    /// By what.
    pub target: SortTarget,
    /// In which direction.
    pub order: SortOrder,
}

/// What pairs are ordered by.
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
    /// The value, also where values are not returned.
    Value,
}

/// The direction of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortOrder {
    /// Smallest first.
    Ascend,
    /// Greatest first.
    Descend,
}

/// Inclusive bounds of a revision; [`Revision::NONE`] bounds nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The smallest revision inside.
    pub min: Revision,
    /// The greatest revision inside.
    pub max: Revision,
}

impl Bounds {
    pub(crate) fn contain(self, revision: Revision) -> bool {
        revision >= self.min && (self.max == Revision::NONE || revision <= self.max)
    }
}
