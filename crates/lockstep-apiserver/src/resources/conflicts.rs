//! Conflicts of mutating policies since their status was written.

use std::collections::BTreeMap;

use lockstep_admission::outcome::Conflict;
use lockstep_admission::status::Rival;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Most conflicts that are remembered; others are counted in metrics only.
const REMEMBERED_MAX: usize = 1024;

/// Conflicts by policy and rival, with their count.
#[derive(Default)]
pub(crate) struct Conflicts {
    counts: Mutex<BTreeMap<Rival, u64>>,
    arrived: Notify,
}

impl Conflicts {
    /// Remembers conflicts of one request.
    pub(super) fn add(&self, conflicts: &[Conflict], resource: &str) {
        let mut counts = self.counts.lock();
        for rival in conflicts
            .iter()
            .flat_map(|conflict| Rival::of(conflict, resource))
        {
            let has_room = counts.len() < REMEMBERED_MAX;
            match counts.get_mut(&rival) {
                Some(count) => *count = count.saturating_add(1),
                None if has_room => drop(counts.insert(rival, 1)),
                None => {}
            }
        }
        drop(counts);
        self.arrived.notify_one();
    }

    /// Remembers conflicts that could not be written.
    pub(crate) fn give_back(&self, conflicts: Vec<(Rival, u64)>) {
        let mut counts = self.counts.lock();
        for (rival, count) in conflicts {
            let known = counts.entry(rival).or_default();
            *known = known.saturating_add(count);
        }
        drop(counts);
        self.arrived.notify_one();
    }

    /// Takes all conflicts, by policy.
    pub(crate) fn take(&self) -> BTreeMap<Box<str>, Vec<(Rival, u64)>> {
        let taken = std::mem::take(&mut *self.counts.lock());
        let mut by_policy: BTreeMap<Box<str>, Vec<(Rival, u64)>> = BTreeMap::new();
        for (rival, count) in taken {
            let rivals = by_policy.entry(rival.policy.clone()).or_default();
            rivals.push((rival, count));
        }
        by_policy
    }

    /// Waits for the next conflict.
    pub(crate) async fn arrival(&self) {
        self.arrived.notified().await;
    }
}
