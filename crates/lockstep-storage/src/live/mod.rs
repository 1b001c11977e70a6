//! The MVCC machine with concurrent readers and watchers, shared by all stores that run in this process.
//!
//! [`Live`] is synchronous. The store around it decides when a command is applied, for example once the command is
//! durable.

mod source;
mod watcher_index;
mod watchers;

use std::sync::Arc;
use std::task::Waker;

use lockstep_mvcc::{
    Applied, Command, Effect, KeyValue, LeaseClock, LeaseId, Machine, Millis, Range, RangeResponse,
    ReadError, ReadTxn, Revision, Sweep, TxnResponse,
};
use parking_lot::{Mutex, RwLock};

use crate::{LeaseStatus, Watch, WatchRequest};
use source::LiveSource;
pub use watchers::Backlog;
use watchers::Watchers;

/// Changes examined by one step of [`Live::sweep`]: about 100 µs with the write lock held.
const SWEEP_STEP: usize = 256;

/// A [`Machine`] behind a lock, with its lease clock and watchers.
pub struct Live {
    state: RwLock<State>,
    /// Lock order: after `state`.
    watchers: Mutex<Watchers>,
}

struct State {
    machine: Machine,
    clock: LeaseClock,
}

impl Live {
    /// Starts serving a machine. All leases start with their full TTL.
    pub fn new(machine: Machine, now: Millis) -> Arc<Self> {
        let clock = LeaseClock::start(&machine, now);
        Arc::new(Self {
            state: RwLock::new(State { machine, clock }),
            watchers: Mutex::default(),
        })
    }

    /// Applies a command, wakes watchers and updates the lease clock.
    pub fn apply(&self, command: Command, now: Millis) -> Applied {
        let mut guard = self.state.write();
        let state = &mut *guard;
        let applied = state.machine.apply(command);
        let changed = match applied.effect {
            Effect::Changed { revision } => Some(revision),
            Effect::LeaseRevoked { id, changed } => {
                state.clock.revoked(id);
                changed
            }
            Effect::LeaseGranted { id, ttl_seconds } => {
                state.clock.granted(id, ttl_seconds, now);
                None
            }
            Effect::None | Effect::Compacted { .. } | Effect::AlarmChanged { .. } => None,
        };
        let woken = match changed {
            Some(revision) => self.watchers.lock().notify(&state.machine, revision),
            None => Vec::new(),
        };
        drop(guard);
        woken.into_iter().for_each(Waker::wake);
        applied
    }

    /// Reads a range.
    pub fn range(&self, range: &Range) -> Result<RangeResponse, ReadError> {
        self.state.read().machine.range(range)
    }

    /// Runs a transaction that only reads.
    pub fn read_txn(&self, txn: ReadTxn<'_>) -> Result<TxnResponse, ReadError> {
        self.state.read().machine.read_txn(txn)
    }

    /// The current revision.
    pub fn revision(&self) -> Revision {
        self.state.read().machine.revision()
    }

    /// Calls `look` with the machine under the read lock.
    pub fn inspect<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&self.state.read().machine)
    }

    /// Runs one step of compaction and reports the versions that it dropped.
    pub fn sweep(&self, dropped: impl FnMut(&KeyValue)) -> Sweep {
        let machine = &mut self.state.write().machine;
        machine.sweep_reporting(SWEEP_STEP, dropped)
    }

    /// Renews a lease, see [`LeaseClock::keep_alive`].
    pub fn keep_lease_alive(&self, id: LeaseId, now: Millis) -> Option<i64> {
        self.state.write().clock.keep_alive(id, now)
    }

    /// Status of a lease; `None` if it does not exist.
    pub fn lease(&self, id: LeaseId, now: Millis) -> Option<LeaseStatus> {
        let state = self.state.read();
        let lease = state.machine.lease(id)?;
        Some(LeaseStatus {
            granted_ttl_seconds: lease.ttl_seconds(),
            remaining_seconds: state.clock.remaining_seconds(id, now)?,
            keys: lease.keys().cloned().collect(),
        })
    }

    /// Expired leases that the caller has to revoke, see [`LeaseClock::expired`].
    pub fn expired_leases(&self, now: Millis, max: usize) -> Vec<LeaseId> {
        self.state.read().clock.expired(now, max)
    }

    /// When the next lease expires.
    pub fn next_lease_deadline(&self) -> Option<Millis> {
        self.state.read().clock.next_deadline()
    }

    /// Undelivered revisions of all watchers.
    pub fn backlog(&self) -> Backlog {
        let state = self.state.read();
        let watchers = self.watchers.lock();
        watchers.backlog(state.machine.revision())
    }

    /// Starts a watch.
    pub fn watch(self: &Arc<Self>, request: WatchRequest) -> Watch {
        let state = self.state.read();
        let current = state.machine.revision();
        let from = request.from.unwrap_or(current.next());
        let id = self
            .watchers
            .lock()
            .add(request.selector.clone(), from, current);
        Watch::new(current, LiveSource::new(self.clone(), id, request.selector))
    }
}

#[cfg(test)]
mod tests {
    use std::task::Context;

    use lockstep_mvcc::{Key, KeyRange, Put, WatchSelector};

    use super::*;

    #[test]
    fn a_backlog_is_what_watchers_have_not_looked_at() {
        let live = Live::new(Machine::default(), Millis::default());
        let watch = |from| {
            let selector = WatchSelector::new(KeyRange::all());
            live.watch(WatchRequest { selector, from })
        };
        let put = || {
            let key = Key::new("k").expect("a key");
            live.apply(Command::Put(Put::new(key, "v")), Millis::default())
        };
        let backlog = |watchers, revisions| Backlog {
            watchers,
            revisions,
        };
        let mut next = watch(None);
        assert_eq!(live.backlog(), backlog(0, 0));
        put();
        put();
        assert_eq!(live.backlog(), backlog(1, 2));
        let past = watch(Some(Revision(1)));
        assert_eq!(live.backlog(), backlog(2, 5));
        let polled = next.poll_next(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_ready());
        assert_eq!(live.backlog(), backlog(1, 3));
        drop(past);
        assert_eq!(live.backlog(), backlog(0, 0));
    }
}
