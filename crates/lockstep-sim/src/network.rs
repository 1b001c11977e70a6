//! A simulated network: it loses, delays, duplicates and reorders messages, and cuts links in one direction.

use std::collections::BTreeSet;

use lockstep_mvcc::MemberId;
use lockstep_storage::contract::histories::Rng;

/// Latency of a message that is not delayed, in milliseconds.
const LATENCY_MILLIS: u64 = 8;

/// The present faults of the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Network {
    /// One message in so many is lost; 0 for none.
    pub(crate) lose_one_in: u64,
    pub(crate) duplicate_one_in: u64,
    /// One message in so many takes up to five seconds.
    pub(crate) delay_one_in: u64,
    /// Requests for votes are slow, and members end after they voted.
    pub(crate) is_contested: bool,
    /// Links that are cut, by sender and receiver.
    cut: BTreeSet<(MemberId, MemberId)>,
}

impl Network {
    pub(crate) fn heal(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn cut(&mut self, from: MemberId, to: MemberId) {
        self.cut.insert((from, to));
    }

    /// Delays after which copies of a message arrive.
    pub(crate) fn deliveries(&self, rng: &mut Rng, from: MemberId, to: MemberId) -> Vec<u64> {
        let happens = |rng: &mut Rng, one_in: u64| one_in > 0 && rng.one_in(one_in);
        if self.cut.contains(&(from, to)) || happens(rng, self.lose_one_in) {
            return Vec::new();
        }
        let copies = if happens(rng, self.duplicate_one_in) {
            2
        } else {
            1
        };
        let delay = |_| {
            let usual = 1 + rng.below(LATENCY_MILLIS);
            if happens(rng, self.delay_one_in) {
                usual + rng.below(5000)
            } else {
                usual
            }
        };
        (0..copies).map(delay).collect()
    }
}
