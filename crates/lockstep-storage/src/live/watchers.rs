//! Who waits for which changes.

use std::collections::BTreeSet;
use std::task::Waker;

use lockstep_mvcc::{Machine, Revision, WatchSelector};

use super::interest::Interest;

/// The watchers of a machine. None of them holds events: each knows the first revision that it has
/// not delivered, and reads on from there.
#[derive(Default)]
pub(super) struct Watchers {
    /// By their ids; an id without a watcher is free.
    by_id: Vec<Option<Watcher>>,
    free: Vec<WatcherId>,
    interest: Interest,
    /// Those that wait to tell their progress until their watch has begun.
    early: BTreeSet<WatcherId>,
}

/// What watchers have not delivered yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// How many of them have something to deliver.
    pub watchers: u64,
    /// How many revisions they have to look at, each on its own account.
    pub revisions: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct WatcherId(pub(super) usize);

pub(super) struct Watcher {
    selector: WatchSelector,
    /// The first revision the watch was asked for.
    pub(super) first: Revision,
    /// The first revision with something to deliver, as far as is known. While it is none, the
    /// watcher needs no history, so no compaction can end it.
    pub(super) pending: Option<Revision>,
    /// Whether the reader waits for a progress message.
    pub(super) progress_wanted: bool,
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
        self.interest.add(&selector.keys, id);
        let watcher = Watcher {
            selector,
            first,
            pending: (first <= current).then_some(first),
            progress_wanted: false,
            waker: None,
        };
        if id.0 == self.by_id.len() {
            self.by_id.push(None);
        }
        self.by_id[id.0] = Some(watcher);
        id
    }

    /// The caller drops what is returned after it let go of the locks, as with all wakers.
    pub(super) fn remove(&mut self, id: WatcherId) -> Option<Watcher> {
        let watcher = self.by_id[id.0].take()?;
        self.interest.remove(&watcher.selector.keys, id);
        self.early.remove(&id);
        self.free.push(id);
        Some(watcher)
    }

    pub(super) fn get(&mut self, id: WatcherId) -> Option<&mut Watcher> {
        self.by_id[id.0].as_mut()
    }

    /// Who has something to deliver, and how many revisions they all have to look at for it.
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

    /// Has the watcher woken when its watch begins.
    pub(super) fn note_early(&mut self, id: WatcherId) {
        self.early.insert(id);
    }

    /// Notes what the newest revision has for whom. The caller wakes who is returned after it let
    /// go of the locks: waking runs code of others.
    pub(super) fn note(&mut self, machine: &Machine, revision: Revision) -> Vec<Waker> {
        let mut woken = Vec::new();
        let by_id = &mut self.by_id;
        self.early.retain(|id| match &mut by_id[id.0] {
            Some(watcher) if watcher.may_tell_progress(revision) => {
                woken.extend(watcher.waker.take());
                false
            }
            watcher => watcher.is_some(),
        });
        for kv in machine.changes(revision) {
            for id in self.interest.of(&kv.key) {
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
    /// Whether the watch has begun, or begins with the next revision.
    pub(super) fn may_tell_progress(&self, current: Revision) -> bool {
        current.next() >= self.first
    }
}
