//! A machine with readers and watchers around it: what all stores in this process share.
//!
//! [`Live`] is synchronous. It does not decide when a command may be applied; the store around it
//! does, for example after the command is safe on disk.

mod interest;
mod source;
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

/// How many changes one step of [`Live::sweep`] looks at: some 100 µs during which writers wait.
const SWEEP_STEP: usize = 256;

/// A machine that many threads read and watch while one after the other writes.
pub struct Live {
    state: RwLock<State>,
    /// Locked after `state`, never before.
    watchers: Mutex<Watchers>,
}

struct State {
    machine: Machine,
    clock: LeaseClock,
}

impl Live {
    /// Puts a machine to work. All its leases have their full TTL ahead.
    pub fn new(machine: Machine, now: Millis) -> Arc<Self> {
        let clock = LeaseClock::start(&machine, now);
        Arc::new(Self {
            state: RwLock::new(State { machine, clock }),
            watchers: Mutex::default(),
        })
    }

    /// Applies a command, tells the watchers and runs the clocks of leases.
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
            Some(revision) => self.watchers.lock().note(&state.machine, revision),
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

    /// Looks at the whole machine while writers wait.
    pub fn inspect<T>(&self, look: impl FnOnce(&Machine) -> T) -> T {
        look(&self.state.read().machine)
    }

    /// Frees one step of what a compaction made unreachable, and tells which versions no longer
    /// belong to the state.
    pub fn sweep(&self, dropped: impl FnMut(&KeyValue)) -> Sweep {
        let machine = &mut self.state.write().machine;
        machine.sweep_and_tell(SWEEP_STEP, dropped)
    }

    /// Renews a lease, see [`LeaseClock::keep_alive`].
    pub fn keep_lease_alive(&self, id: LeaseId, now: Millis) -> Option<i64> {
        self.state.write().clock.keep_alive(id, now)
    }

    /// A lease as it is now.
    pub fn lease(&self, id: LeaseId, now: Millis) -> Option<LeaseStatus> {
        let state = self.state.read();
        let lease = state.machine.lease(id)?;
        Some(LeaseStatus {
            granted_ttl_seconds: lease.ttl_seconds(),
            remaining_seconds: state.clock.remaining_seconds(id, now)?,
            keys: lease.keys().cloned().collect(),
        })
    }

    /// Leases to revoke, see [`LeaseClock::expired`].
    pub fn expired_leases(&self, now: Millis, max: usize) -> Vec<LeaseId> {
        self.state.read().clock.expired(now, max)
    }

    /// When the next lease expires.
    pub fn next_lease_deadline(&self) -> Option<Millis> {
        self.state.read().clock.next_deadline()
    }

    /// What watchers have not delivered yet.
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
