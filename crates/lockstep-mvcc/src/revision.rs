//! The numbers of the store: revisions and lease ids.

use std::fmt;

/// The store-wide counter of changing transactions: 1 on an empty store, one more for each
/// transaction that changes anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Revision(pub u64);

impl Revision {
    /// No revision at all: the mod and create revision of a missing key, and the compact revision
    /// of a store that was never compacted.
    pub const NONE: Self = Self(0);
    /// The revision of an empty store.
    pub const FIRST: Self = Self(1);

    /// The revision after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The revision before this one; [`Revision::NONE`] has none before it and stays.
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

/// The name of a lease, chosen by whoever proposes the grant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct LeaseId(pub i64);

impl LeaseId {
    /// The lease of a key that has none. It cannot be granted.
    pub const NONE: Self = Self(0);

    /// Whether a key with this lease hangs on a lease at all.
    pub fn is_some(self) -> bool {
        self != Self::NONE
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
