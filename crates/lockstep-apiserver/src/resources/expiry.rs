//! Leases for objects with a TTL.
//!
//! Each write attaches the object to a lease of the store, so the object expires one TTL after its last write, even if
//! this server no longer runs. Objects written at about the same time share a lease.

use std::time::Duration;

use lockstep_storage::{LeaseId, LeaseTtl, Store, WriteFailure};
use parking_lot::Mutex;
use tokio::time::Instant;

/// Longest time a lease accepts new objects. Objects may outlive their TTL by as much.
const SHARED_MAX: Duration = Duration::from_secs(60);
/// Divisor of the TTL: a lease accepts new objects for a twentieth of it, up to `SHARED_MAX`.
const SHARED_PART: u32 = 20;
/// Most objects on one lease, because an expiring lease deletes them all in one transaction.
const OBJECTS_MAX: usize = 1000;

/// TTL of objects and the lease that currently accepts new ones.
pub(super) struct Expiry {
    ttl: Duration,
    current: Mutex<Option<Shared>>,
}

struct Shared {
    id: LeaseId,
    until: Instant,
    objects: usize,
}

impl Expiry {
    /// Expiry with a TTL; zero means that objects do not expire.
    pub(super) fn after(ttl: Duration) -> Self {
        Self {
            ttl,
            current: Mutex::new(None),
        }
    }

    /// Lease for an object that is written now, granted if there is none to share.
    pub(super) async fn lease(&self, store: &dyn Store) -> Result<LeaseId, WriteFailure> {
        if self.ttl.is_zero() {
            return Ok(LeaseId::NONE);
        }
        let now = Instant::now();
        if let Some(shared) = &mut *self.current.lock()
            && shared.until > now
            && shared.objects < OBJECTS_MAX
        {
            shared.objects += 1;
            return Ok(shared.id);
        }
        let shared = (self.ttl / SHARED_PART).min(SHARED_MAX);
        let seconds = (self.ttl + shared).as_secs_f64().ceil();
        #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
        let ttl = LeaseTtl((seconds as i64).min(LeaseTtl::SECONDS_MAX));
        let granted = store.grant_lease(ttl).await?;
        *self.current.lock() = Some(Shared {
            id: granted.id,
            until: now + shared,
            objects: 1,
        });
        Ok(granted.id)
    }

    /// Drops the shared lease, which has expired, so that the next write is granted a new one.
    pub(super) fn forget(&self) {
        *self.current.lock() = None;
    }
}
