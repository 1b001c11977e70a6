//! Revisions and lease ids.

use std::fmt;

/// Store-wide counter of modifying transactions: 1 on an empty store, incremented by each transaction that changes
/// a key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// No revision: the mod and create revision of a missing key, and the compacted revision of a store that was
    /// never compacted.
    pub const NONE: Self = Self(0);
    /// The revision of an empty store.
    pub const FIRST: Self = Self(1);

    /// The next revision.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The preceding revision; saturates at [`Revision::NONE`].
    #[must_use]
    pub fn previous(self) -> Self {
        Self(self.0.saturating_sub(1))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Id of a lease, chosen by the proposer of the grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LeaseId(pub i64);

impl LeaseId {
    /// The lease id of a key without a lease. It cannot be granted.
    pub const NONE: Self = Self(0);

    /// True if the id is not [`LeaseId::NONE`].
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
