//! Reclaiming memory after a compaction.

use crate::{KeyValue, Machine};

/// Progress of a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// All unreachable versions are freed.
    Done,
    /// More is left; sweep again.
    More,
}

impl Machine {
    /// True if all unreachable versions are freed.
    pub fn is_swept(&self) -> bool {
        self.swept == self.compacted
    }

    /// Frees versions that a compaction made unreachable, visiting at most `changes_max` changes.
    ///
    /// A sweep does not affect reads, so every owner sweeps at its own pace, in small steps between commands. The
    /// work is proportional to the changes between two compactions, not to the size of the store.
    pub fn sweep(&mut self, changes_max: usize) -> Sweep {
        self.sweep_reporting(changes_max, |_| {})
    }

    /// [`Machine::sweep`] for owners that persist each version: reports versions that are no longer part of the
    /// state. A version may be reported twice.
    pub fn sweep_reporting(
        &mut self,
        changes_max: usize,
        mut dropped: impl FnMut(&KeyValue),
    ) -> Sweep {
        let compacted = self.compacted;
        if self.swept == compacted {
            return Sweep::Done;
        }
        // A change at the compacted revision stays in the history when the index drops it.
        let mut report = |kv: &KeyValue| {
            if kv.mod_revision < compacted {
                dropped(kv);
            }
        };
        for _ in 0..changes_max {
            let Some(change) = self.history.pop_before(compacted) else {
                self.finish_sweep(&mut report);
                return Sweep::Done;
            };
            self.index.prune(&change.kv.key, compacted, &mut report);
            let record = self.index.get(&change.kv.key);
            let kept = record.and_then(|record| record.live_at(compacted));
            if kept.is_none_or(|kept| kept.mod_revision != change.kv.mod_revision) {
                report(&change.kv);
            }
        }
        Sweep::More
    }

    /// A watch may start at the compacted revision itself, so its changes stay, but their previous versions are
    /// dropped.
    fn finish_sweep(&mut self, report: &mut impl FnMut(&KeyValue)) {
        for change in self.history.of_mut(self.compacted) {
            change.previous = None;
            self.index.prune(&change.kv.key, self.compacted, report);
        }
        self.history.shrink();
        self.swept = self.compacted;
    }
}
