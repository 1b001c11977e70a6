//! Applier: applies durable commands to the machine and records their changes for the state file.
//!
//! It reads no clock and makes no decision, so that the commands of any log can pass through it: its own log of one
//! member, or one that members agreed on.

use std::sync::Arc;

use lockstep_mvcc::{Applied, Command, Effect, KeyValue, Machine, Millis, Sweep};
use lockstep_storage::Live;

use crate::checkpointer::Checkpointer;
use crate::state::{Numbers, Pending, Place, place};

/// Sweep steps after one frame, so that a large compaction does not block writes.
const SWEEPS_MAX: usize = 16;

/// The machine and the state file that follows it.
pub(crate) struct Applier {
    pub(crate) live: Arc<Live>,
    pub(crate) checkpointer: Arc<Checkpointer>,
}

impl Applier {
    /// Applies one durable command. `now` starts the deadline of a lease that it grants, and decides nothing else.
    pub(crate) fn apply(&self, pending: &mut Pending, command: Command, now: Millis) -> Applied {
        let applied = self.live.apply(command, now);
        self.note(pending, &applied);
        applied
    }

    /// Completes the commands up to an index: runs some sweep steps and updates the counters of the pending state.
    pub(crate) fn finish(&self, pending: &mut Pending, last_index: u64) {
        self.sweep(pending);
        self.live.inspect(|machine| {
            pending.is_swept = machine.is_swept();
            pending.numbers = Some(Numbers {
                applied: last_index,
                revision: machine.revision(),
                compacted: machine.compacted(),
            });
        });
    }

    /// Schedules rows for removal from the state.
    pub(crate) fn remove_rows(&self, rows: Vec<Place>) {
        let mut pending = self.checkpointer.pending();
        pending
            .pairs
            .extend(rows.into_iter().map(|place| (place, None)));
    }

    /// Records a command's changes for the state.
    fn note(&self, pending: &mut Pending, applied: &Applied) {
        let changed = match applied.effect {
            Effect::None | Effect::Compacted { .. } => None,
            Effect::Changed { revision } => Some(revision),
            Effect::LeaseGranted { id, ttl_seconds } => {
                pending.leases.insert(id, Some(ttl_seconds));
                None
            }
            Effect::LeaseRevoked { id, changed } => {
                pending.leases.insert(id, None);
                changed
            }
            Effect::AlarmChanged { alarm, is_raised } => {
                pending.alarms.insert(alarm, is_raised);
                None
            }
        };
        if let Some(revision) = changed {
            self.live.inspect(|machine| {
                let rows = machine.changes(revision);
                let rows = rows.map(|kv| (place(kv), Some(kv.clone())));
                pending.pairs.extend(rows);
            });
        }
    }

    /// Runs sweep steps, releasing the lock between them for readers.
    fn sweep(&self, pending: &mut Pending) {
        let mut drop_row = |kv: &KeyValue| {
            pending.pairs.insert(place(kv), None);
        };
        for _ in 0..SWEEPS_MAX {
            if self.live.sweep(&mut drop_row) == Sweep::Done {
                break;
            }
        }
    }

    /// True if no step of a compaction is left.
    pub(crate) fn is_swept(&self) -> bool {
        self.live.inspect(Machine::is_swept)
    }
}
