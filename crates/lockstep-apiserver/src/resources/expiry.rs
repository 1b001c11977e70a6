//! Leases for objects that go by themselves.
//!
//! Each write of such an object puts it on a lease of the store, so that it goes when nobody wrote it
//! for as long as the lease lasts, whichever servers run then. Objects that are written at about the
//! same time share a lease.

use std::time::Duration;

use lockstep_storage::{LeaseId, LeaseTtl, Store, WriteFailure};
use parking_lot::Mutex;
use tokio::time::Instant;

/// How long a lease gets new objects, at most; by so much they may live longer.
const SHARED_MAX: Duration = Duration::from_secs(60);
/// The same as a part of the whole time.
const SHARED_PART: u32 = 20;
/// How many objects share a lease. They go in one transaction.
const OBJECTS_MAX: usize = 1000;

/// How long objects are kept, and the lease that new ones get.
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
    /// Objects go so long after they were written; never, if it is zero.
    pub(super) fn after(ttl: Duration) -> Self {
        Self {
            ttl,
            current: Mutex::new(None),
        }
    }

    /// The lease for an object that is written now.
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

    /// The lease is gone: the next write gets another.
    pub(super) fn forget(&self) {
        *self.current.lock() = None;
    }
}
