//! Replicated state of leases: TTLs and attached keys.
//!
//! Deadlines are not part of it, see [`crate::LeaseClock`].

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use crate::{LeaseId, Limits, RequestError, WriteError};

/// TTL requested by a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeaseTtl(pub i64);

impl LeaseTtl {
    /// The longest TTL a client may request.
    pub const SECONDS_MAX: i64 = 9_000_000_000;

    /// Effective TTL: at least the minimum of the limits.
    pub fn granted(self, limits: &Limits) -> Result<i64, RequestError> {
        if self.0 > Self::SECONDS_MAX {
            return Err(RequestError::LeaseTtlTooLarge);
        }
        Ok(self.0.max(limits.lease_ttl_min_seconds))
    }
}

/// A lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    ttl_seconds: i64,
    keys: BTreeSet<Bytes>,
}

impl Lease {
    /// The granted TTL.
    pub fn ttl_seconds(&self) -> i64 {
        self.ttl_seconds
    }

    /// Attached keys, in key order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Bytes> {
        self.keys.iter()
    }
}

/// All leases by id.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leases(BTreeMap<LeaseId, Lease>);

impl Leases {
    pub(crate) fn grant(&mut self, id: LeaseId, ttl_seconds: i64) -> Result<(), WriteError> {
        if !id.is_some() {
            return Err(WriteError::LeaseNotFound);
        }
        if self.0.contains_key(&id) {
            return Err(WriteError::LeaseExists);
        }
        let lease = Lease {
            ttl_seconds,
            keys: BTreeSet::new(),
        };
        self.0.insert(id, lease);
        Ok(())
    }

    /// Removes a lease and returns its keys.
    pub(crate) fn remove(&mut self, id: LeaseId) -> Result<BTreeSet<Bytes>, WriteError> {
        let removed = self.0.remove(&id);
        removed
            .map(|lease| lease.keys)
            .ok_or(WriteError::LeaseNotFound)
    }

    pub(crate) fn get(&self, id: LeaseId) -> Option<&Lease> {
        self.0.get(&id)
    }

    pub(crate) fn last_id(&self) -> Option<LeaseId> {
        self.0.keys().next_back().copied()
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = (LeaseId, &Lease)> {
        self.0.iter().map(|(id, lease)| (*id, lease))
    }

    /// Fails if the lease does not exist; [`LeaseId::NONE`] is always allowed.
    pub(crate) fn allow(&self, id: LeaseId) -> Result<(), WriteError> {
        if id.is_some() && !self.0.contains_key(&id) {
            return Err(WriteError::LeaseNotFound);
        }
        Ok(())
    }

    /// Moves a key from one lease to another; either may be none.
    pub(crate) fn transfer(&mut self, key: &Bytes, from: LeaseId, to: LeaseId) {
        if from == to {
            return;
        }
        if let Some(lease) = self.0.get_mut(&from) {
            lease.keys.remove(key);
        }
        if let Some(lease) = self.0.get_mut(&to) {
            lease.keys.insert(key.clone());
        }
    }
}
