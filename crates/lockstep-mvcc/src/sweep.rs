//! Giving back what a compaction made unreachable.

use crate::Machine;

/// Whether a sweep is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sweep {
    /// Nothing unreachable is left.
    Done,
    /// Some is left; sweep again.
    More,
}

impl Machine {
    /// Frees what a compaction made unreachable, looking at no more than `changes_max` changes.
    ///
    /// Nothing that can be asked changes by it, so every owner sweeps when it suits: between two
    /// commands, in steps as small as its patience. The work is proportional to what changed
    /// between two compactions, not to what the store holds.
    pub fn sweep(&mut self, changes_max: usize) -> Sweep {
        if self.swept == self.compacted {
            return Sweep::Done;
        }
        for _ in 0..changes_max {
            match self.history.pop_before(self.compacted) {
                Some(change) => self.index.prune(&change.kv.key, self.compacted),
                None => {
                    self.finish_sweep();
                    return Sweep::Done;
                }
            }
        }
        Sweep::More
    }

    /// A watch may start at the compacted revision itself, so its changes stay, but what was
    /// before them is gone.
    fn finish_sweep(&mut self) {
        for change in self.history.of_mut(self.compacted) {
            change.previous = None;
            self.index.prune(&change.kv.key, self.compacted);
        }
        self.history.shrink();
        self.swept = self.compacted;
    }
}
