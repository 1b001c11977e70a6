//! Expiry of leases.
//!
//! Deadlines are not replicated state: only the member that expires leases needs them, a keep-alive has to be
//! cheap, and a new leader extends every lease to its full TTL. The caller passes the time, which must be
//! monotonic.

use std::collections::{BTreeMap, BTreeSet};

use crate::{LeaseId, Machine};

/// Milliseconds since an epoch that the caller chooses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Millis(pub u64);

impl Millis {
    fn after_seconds(self, seconds: i64) -> Self {
        let seconds = u64::try_from(seconds).unwrap_or_default();
        Self(self.0.saturating_add(seconds.saturating_mul(1000)))
    }
}

/// The deadlines of all leases.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LeaseClock {
    running: BTreeMap<LeaseId, Running>,
    queue: BTreeSet<(Millis, LeaseId)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Running {
    ttl_seconds: i64,
    deadline: Millis,
}

impl LeaseClock {
    /// Starts a clock on which every lease of a machine has its full TTL left.
    pub fn start(machine: &Machine, now: Millis) -> Self {
        let mut clock = Self::default();
        for (id, lease) in machine.leases() {
            clock.granted(id, lease.ttl_seconds(), now);
        }
        clock
    }

    /// Handles [`crate::Effect::LeaseGranted`].
    pub fn granted(&mut self, id: LeaseId, ttl_seconds: i64, now: Millis) {
        self.revoked(id);
        let deadline = now.after_seconds(ttl_seconds);
        let running = Running {
            ttl_seconds,
            deadline,
        };
        self.running.insert(id, running);
        self.queue.insert((deadline, id));
    }

    /// Handles [`crate::Effect::LeaseRevoked`].
    pub fn revoked(&mut self, id: LeaseId) {
        if let Some(running) = self.running.remove(&id) {
            self.queue.remove(&(running.deadline, id));
        }
    }

    /// Renews a lease and returns its TTL. Returns `None` for a lease that is unknown, or expired and not revoked
    /// yet: it is not revived.
    pub fn keep_alive(&mut self, id: LeaseId, now: Millis) -> Option<i64> {
        let running = *self.running.get(&id)?;
        if running.deadline <= now {
            return None;
        }
        self.granted(id, running.ttl_seconds, now);
        Some(running.ttl_seconds)
    }

    /// Remaining whole seconds of a lease, 0 if it is expired and not revoked yet; `None` if it is unknown.
    pub fn remaining_seconds(&self, id: LeaseId, now: Millis) -> Option<u64> {
        let running = self.running.get(&id)?;
        Some(running.deadline.0.saturating_sub(now.0) / 1000)
    }

    /// Expired leases, longest overdue first, at most `max`. A lease is returned until [`LeaseClock::revoked`] is
    /// called.
    pub fn expired(&self, now: Millis, max: usize) -> Vec<LeaseId> {
        let due = self.queue.iter().take_while(|(at, _)| *at <= now);
        due.take(max).map(|(_, id)| *id).collect()
    }

    /// Deadline of the next lease to expire.
    pub fn next_deadline(&self) -> Option<Millis> {
        self.queue.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Command;

    const SECOND: u64 = 1000;

    #[test]
    fn a_lease_expires_at_its_ttl_unless_it_is_kept_alive() {
        let (a, b) = (LeaseId(1), LeaseId(2));
        let mut clock = LeaseClock::default();
        clock.granted(a, 10, Millis(0));
        clock.granted(b, 5, Millis(0));
        assert_eq!(clock.next_deadline(), Some(Millis(5 * SECOND)));
        assert_eq!(clock.keep_alive(b, Millis(4 * SECOND)), Some(5));
        assert_eq!(clock.expired(Millis(9 * SECOND - 1), 10), []);
        assert_eq!(clock.remaining_seconds(b, Millis(7500)), Some(1));
        assert_eq!(clock.expired(Millis(10 * SECOND), 10), [b, a]);
        assert_eq!(clock.expired(Millis(10 * SECOND), 1), [b]);
        clock.revoked(b);
        assert_eq!(clock.expired(Millis(10 * SECOND), 10), [a]);
    }

    #[test]
    fn an_expired_lease_awaiting_revoke_is_not_revived() {
        // etcd-api.md §4/keep-alive.
        let id = LeaseId(1);
        let mut clock = LeaseClock::default();
        clock.granted(id, 2, Millis(0));
        assert_eq!(clock.keep_alive(id, Millis(2 * SECOND)), None);
        assert_eq!(clock.remaining_seconds(id, Millis(3 * SECOND)), Some(0));
        assert_eq!(clock.keep_alive(LeaseId(9), Millis(0)), None);
        assert_eq!(clock.remaining_seconds(LeaseId(9), Millis(0)), None);
    }

    #[test]
    fn a_new_expirer_restarts_every_ttl() {
        // etcd-api.md §4/expiry.
        let id = LeaseId(7);
        let mut machine = Machine::default();
        machine.apply(Command::LeaseGrant { id, ttl_seconds: 3 });
        let clock = LeaseClock::start(&machine, Millis(50 * SECOND));
        assert_eq!(clock.next_deadline(), Some(Millis(53 * SECOND)));
    }

    #[test]
    fn no_time_and_no_ttl_overflows() {
        let id = LeaseId(1);
        let mut clock = LeaseClock::default();
        clock.granted(id, i64::MAX, Millis(u64::MAX));
        assert_eq!(clock.expired(Millis(u64::MAX), 1), [id]);
        clock.granted(id, i64::MIN, Millis(5));
        assert_eq!(clock.expired(Millis(5), 1), [id]);
    }
}
