//! Watchers: each follows one process until that ends or the watcher moves on, and resumes after what it has.

use lockstep_mvcc::{
    Budget, Filters, KeyRange, Machine, MemberId, Previous, Revision, WatchSelector,
};
use lockstep_storage::WatchMessage;
use lockstep_storage::contract::histories::{RecordedWatch, Rng};

use crate::clients::{all_keys, key};

const BUDGET: Budget = Budget {
    events_max: 20,
    changes_max: 100,
    bytes_max: 1 << 20,
};

/// A watcher.
pub(crate) struct Watcher {
    rng: Rng,
    selector: WatchSelector,
    /// The process it follows.
    at: Option<(MemberId, usize)>,
    /// The revision to continue from; none before it has started once.
    next: Option<Revision>,
    /// Messages after which it moves on.
    stay: u64,
    watched: Option<RecordedWatch>,
    pub(crate) finished: Vec<RecordedWatch>,
}

impl Watcher {
    pub(crate) fn new(mut rng: Rng) -> Self {
        Self {
            selector: choose(&mut rng),
            rng,
            at: None,
            next: None,
            stay: 0,
            watched: None,
            finished: Vec::new(),
        }
    }

    pub(crate) fn follows(&self, member: MemberId, life: usize) -> bool {
        self.at == Some((member, life))
    }

    pub(crate) fn is_free(&self) -> bool {
        self.at.is_none()
    }

    /// The newest revision that it has.
    pub(crate) fn progress(&self) -> Revision {
        self.next.map_or(Revision::NONE, Revision::previous)
    }

    /// Starts to follow a process.
    pub(crate) fn follow(&mut self, member: MemberId, life: usize, machine: &Machine, skip: bool) {
        let resumed = self.next;
        let from = resumed.unwrap_or(machine.revision().next());
        // Only a planted bug skips.
        let skipped = if skip && resumed.is_some() {
            from.next()
        } else {
            from
        };
        self.next = Some(skipped);
        self.at = Some((member, life));
        self.stay = 5 + self.rng.below(60);
        if self.rng.one_in(3) {
            self.selector = choose(&mut self.rng);
        }
        self.watched = Some(RecordedWatch {
            selector: self.selector.clone(),
            from,
            messages: Vec::new(),
        });
    }

    /// The process has ended, or the watcher leaves it.
    pub(crate) fn leave(&mut self) {
        self.at = None;
        self.finished.extend(self.watched.take());
    }

    /// Reads what is there.
    pub(crate) fn read(&mut self, machine: &Machine, mut now: impl FnMut() -> u64) {
        while let (Some(watched), Some(next)) = (&mut self.watched, self.next) {
            let batch = match machine.events(&watched.selector, next, BUDGET) {
                Ok(batch) => batch,
                Err(compacted) => {
                    self.next = Some(compacted.compacted);
                    return self.leave();
                }
            };
            if batch.next <= next {
                return;
            }
            let progress = batch.next.previous();
            let message = if batch.events.is_empty() {
                WatchMessage::Progress { progress }
            } else {
                WatchMessage::Events {
                    events: batch.events,
                    progress,
                }
            };
            watched.messages.push((now(), message));
            self.next = Some(batch.next);
            self.stay = self.stay.saturating_sub(1);
            if self.stay == 0 {
                return self.leave();
            }
        }
    }
}

fn choose(rng: &mut Rng) -> WatchSelector {
    let keys = if rng.one_in(2) {
        all_keys()
    } else {
        KeyRange::single(key(rng.below(3)))
    };
    WatchSelector {
        keys,
        filters: Filters {
            no_put: rng.one_in(5),
            no_delete: rng.one_in(5),
        },
        previous: if rng.one_in(2) {
            Previous::Return
        } else {
            Previous::Omit
        },
    }
}
