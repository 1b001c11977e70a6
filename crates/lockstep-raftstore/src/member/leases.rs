//! Expiry of leases: only the leader's clock counts, and an expiry is a proposal like any other.

use std::collections::BTreeMap;

use lockstep_mvcc::{Effect, LeaseClock, LeaseId, Machine, Millis};

use crate::node::RequestId;

/// Maximum number of revocations under way.
const REVOKING_MAX: usize = 100;

/// The leader's view of leases; empty on other members.
#[derive(Default)]
pub(super) struct Expiry {
    /// Runs from the first applied entry of the leader's term on, when it has all leases.
    clock: Option<LeaseClock>,
    revoking: BTreeMap<LeaseId, RequestId>,
}

/// This member does not lead, or not long enough to know all leases.
pub(super) struct NoClock;

impl Expiry {
    /// Starts the clock of a new leader: every lease has its full TTL left.
    pub(super) fn start(&mut self, machine: &Machine, now: Millis) {
        if self.clock.is_none() {
            self.clock = Some(LeaseClock::start(machine, now));
        }
    }

    pub(super) fn stop(&mut self) {
        self.clock = None;
        self.revoking.clear();
    }

    /// Follows an applied command.
    pub(super) fn note(&mut self, effect: Effect, now: Millis) {
        let Some(clock) = &mut self.clock else {
            return;
        };
        match effect {
            Effect::LeaseGranted { id, ttl_seconds } => clock.granted(id, ttl_seconds, now),
            Effect::LeaseRevoked { id, .. } => clock.revoked(id),
            Effect::None
            | Effect::Changed { .. }
            | Effect::Compacted { .. }
            | Effect::AlarmChanged { .. } => {}
        }
    }

    /// Expired leases of which the revocation is not under way.
    pub(super) fn due(&self, now: Millis) -> Vec<LeaseId> {
        let Some(clock) = &self.clock else {
            return Vec::new();
        };
        let mut expired = clock.expired(now, REVOKING_MAX);
        expired.retain(|id| !self.revoking.contains_key(id));
        expired
    }

    pub(super) fn revoking(&mut self, id: LeaseId, request: RequestId) {
        self.revoking.insert(id, request);
    }

    /// Ends a revocation, whatever became of it.
    pub(super) fn answered(&mut self, request: RequestId) {
        self.revoking.retain(|_, under_way| *under_way != request);
    }

    /// Renews a lease and returns its TTL, unless it has gone.
    pub(super) fn keep_alive(&mut self, id: LeaseId, now: Millis) -> Result<Option<i64>, NoClock> {
        let clock = self.clock.as_mut().ok_or(NoClock)?;
        Ok(clock.keep_alive(id, now))
    }
}
