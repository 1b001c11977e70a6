//! Giving back what a compaction made unreachable.

use crate::{KeyValue, Machine};

/// Whether a sweep is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// Nothing unreachable is left.
    Done,
    /// Some is left; sweep again.
    More,
}

impl Machine {
    /// Whether nothing unreachable is left.
    pub fn is_swept(&self) -> bool {
        self.swept == self.compacted
    }

    /// Frees what a compaction made unreachable, looking at no more than `changes_max` changes.
    ///
    /// Nothing that can be asked changes by it, so every owner sweeps when it suits: between two
    /// commands, in steps as small as its patience. The work is proportional to what changed
    /// between two compactions, not to what the store holds.
    pub fn sweep(&mut self, changes_max: usize) -> Sweep {
        self.sweep_and_tell(changes_max, |_| {})
    }

    /// [`Machine::sweep`] for owners that keep a copy of each version: tells which ones no longer
    /// belong to the state. One version may be told twice.
    pub fn sweep_and_tell(
        &mut self,
        changes_max: usize,
        mut dropped: impl FnMut(&KeyValue),
    ) -> Sweep {
        let compacted = self.compacted;
        if self.swept == compacted {
            return Sweep::Done;
        }
        // A change at the compacted revision stays in the history when the index drops it.
        let mut tell = |kv: &KeyValue| {
            if kv.mod_revision < compacted {
                dropped(kv);
            }
        };
        for _ in 0..changes_max {
            let Some(change) = self.history.pop_before(compacted) else {
                self.finish_sweep(&mut tell);
                return Sweep::Done;
            };
            self.index.prune(&change.kv.key, compacted, &mut tell);
            let record = self.index.get(&change.kv.key);
            let kept = record.and_then(|record| record.live_at(compacted));
            if kept.is_none_or(|kept| kept.mod_revision != change.kv.mod_revision) {
                tell(&change.kv);
            }
        }
        Sweep::More
    }

    /// A watch may start at the compacted revision itself, so its changes stay, but what was
    /// before them is gone.
    fn finish_sweep(&mut self, tell: &mut impl FnMut(&KeyValue)) {
        for change in self.history.of_mut(self.compacted) {
            change.previous = None;
            self.index.prune(&change.kv.key, self.compacted, tell);
        }
        self.history.shrink();
        self.swept = self.compacted;
    }
}
