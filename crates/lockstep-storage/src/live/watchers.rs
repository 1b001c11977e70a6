//! Who waits for which changes.

use std::collections::BTreeMap;
use std::task::Waker;

use lockstep_mvcc::{Machine, Revision, WatchSelector};

/// The watchers of a machine. None of them holds events: each knows the first revision that it has
/// not delivered, and reads on from there.
#[derive(Default)]
pub(super) struct Watchers {
    last_id: u64,
    by_id: BTreeMap<WatcherId, Watcher>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct WatcherId(u64);

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
        self.last_id += 1;
        let id = WatcherId(self.last_id);
        let watcher = Watcher {
            selector,
            first,
            pending: (first <= current).then_some(first),
            progress_wanted: false,
            waker: None,
        };
        self.by_id.insert(id, watcher);
        id
    }

    /// The caller drops what is returned after it let go of the locks, as with all wakers.
    pub(super) fn remove(&mut self, id: WatcherId) -> Option<Watcher> {
        self.by_id.remove(&id)
    }

    pub(super) fn get(&mut self, id: WatcherId) -> Option<&mut Watcher> {
        self.by_id.get_mut(&id)
    }

    /// Notes what the newest revision has for whom. The caller wakes who is returned after it let
    /// go of the locks: waking runs code of others.
    pub(super) fn note(&mut self, machine: &Machine, revision: Revision) -> Vec<Waker> {
        let mut woken = Vec::new();
        for watcher in self.by_id.values_mut() {
            if watcher.progress_wanted && watcher.may_tell_progress(revision) {
                woken.extend(watcher.waker.take());
            }
            if watcher.pending.is_some() || revision < watcher.first {
                continue;
            }
            let mut changes = machine.changes(revision);
            if changes.any(|kv| watcher.selector.matches(kv)) {
                watcher.pending = Some(revision);
                woken.extend(watcher.waker.take());
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
