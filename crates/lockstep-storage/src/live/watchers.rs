//! Registry of watchers and their positions in the history.

use std::collections::BTreeSet;
use std::task::Waker;

use lockstep_mvcc::{Machine, Revision, WatchSelector};

use super::watcher_index::WatcherIndex;

/// The watchers of a machine. A watcher queues no events: it stores the first undelivered revision and reads the
/// history from there.
#[derive(Default)]
pub(super) struct Watchers {
    /// Indexed by id; unused ids are `None`.
    by_id: Vec<Option<Watcher>>,
    free: Vec<WatcherId>,
    index: WatcherIndex,
    /// Watchers with a pending progress request whose start revision is still in the future.
    not_started: BTreeSet<WatcherId>,
}

/// Undelivered work of all watchers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Watchers with undelivered revisions.
    pub watchers: u64,
    /// Sum of undelivered revisions over these watchers.
    pub revisions: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct WatcherId(pub(super) usize);

pub(super) struct Watcher {
    selector: WatchSelector,
    /// Start revision of the watch.
    pub(super) first: Revision,
    /// The first revision with an undelivered event, as far as is known. `None` means that the watcher needs no
    /// history, so a compaction cannot end it.
    pub(super) pending: Option<Revision>,
    /// True while a progress request is unanswered.
    pub(super) progress_requested: bool,
    pub(super) waker: Option<Waker>,
}

impl Watchers {
    pub(super) fn add(
        &mut self,
        selector: WatchSelector,
        first: Revision,
        current: Revision,
    ) -> WatcherId {
        let id = self.free.pop().unwrap_or(WatcherId(self.by_id.len()));
        self.index.add(&selector.keys, id);
        let watcher = Watcher {
            selector,
            first,
            pending: (first <= current).then_some(first),
            progress_requested: false,
            waker: None,
        };
        if id.0 == self.by_id.len() {
            self.by_id.push(None);
        }
        self.by_id[id.0] = Some(watcher);
        id
    }

    /// Removes a watcher. The caller drops it after releasing the locks, because dropping a waker runs foreign
    /// code.
    pub(super) fn remove(&mut self, id: WatcherId) -> Option<Watcher> {
        let watcher = self.by_id[id.0].take()?;
        self.index.remove(&watcher.selector.keys, id);
        self.not_started.remove(&id);
        self.free.push(id);
        Some(watcher)
    }

    pub(super) fn get(&mut self, id: WatcherId) -> Option<&mut Watcher> {
        self.by_id[id.0].as_mut()
    }

    /// Sums up undelivered revisions as of `current`.
    pub(super) fn backlog(&self, current: Revision) -> Backlog {
        let behind = self
            .by_id
            .iter()
            .flatten()
            .filter_map(|watcher| watcher.pending);
        behind.fold(Backlog::default(), |sum, from| Backlog {
            watchers: sum.watchers + 1,
            revisions: sum.revisions + current.next().0.saturating_sub(from.0),
        })
    }

    /// Wakes the watcher when its start revision is reached.
    pub(super) fn wake_when_started(&mut self, id: WatcherId) {
        self.not_started.insert(id);
    }

    /// Marks watchers with events at the newest revision. The caller wakes the returned wakers after releasing the
    /// locks, because waking runs foreign code.
    pub(super) fn notify(&mut self, machine: &Machine, revision: Revision) -> Vec<Waker> {
        let mut woken = Vec::new();
        let by_id = &mut self.by_id;
        self.not_started.retain(|id| match &mut by_id[id.0] {
            Some(watcher) if watcher.may_report_progress(revision) => {
                woken.extend(watcher.waker.take());
                false
            }
            watcher => watcher.is_some(),
        });
        for kv in machine.changes(revision) {
            for id in self.index.watchers_of(&kv.key) {
                let Some(watcher) = &mut by_id[id.0] else {
                    continue;
                };
                let is_waiting = watcher.pending.is_none() && revision >= watcher.first;
                if is_waiting && watcher.selector.matches(kv) {
                    watcher.pending = Some(revision);
                    woken.extend(watcher.waker.take());
                }
            }
        }
        woken
    }
}

impl Watcher {
    /// True if the watch has started, or starts with the next revision.
    pub(super) fn may_report_progress(&self, current: Revision) -> bool {
        current.next() >= self.first
    }
}
