//! Seats of requests that are served.

use std::sync::Arc;
use std::time::Duration;

use lockstep_fairness::{Lingering, Seat};

use super::Fairness;
use super::meters::Executing;

/// Longest time that a watch keeps its seats for its initial events. A client that does not read them would keep others
/// from the seats.
const INITIAL_EVENTS_MAX: Duration = Duration::from_secs(1);

/// Seats of a request, given back on drop.
pub(crate) struct Permit {
    fairness: Arc<Fairness>,
    seat: Option<Seat>,
    _executing: Executing,
}

/// Seats of a watch that sends its initial events, given back on drop or after [`INITIAL_EVENTS_MAX`].
pub(crate) struct InitialSeat {
    fairness: Arc<Fairness>,
    lingering: Lingering,
}

impl Permit {
    pub(super) fn new(fairness: &Arc<Fairness>, seat: Seat, executing: Executing) -> Self {
        Self {
            fairness: Arc::clone(fairness),
            seat: Some(seat),
            _executing: executing,
        }
    }

    /// Keeps the seats for the initial events of a watch.
    pub(crate) fn until_begun(mut self) -> Option<InitialSeat> {
        let seat = self.seat.take()?;
        Some(InitialSeat {
            lingering: self.fairness.seats.linger(seat, INITIAL_EVENTS_MAX),
            fairness: Arc::clone(&self.fairness),
        })
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Permit").field(&self.seat).finish()
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            self.fairness.seats.give_back(seat);
        }
    }
}

impl Drop for InitialSeat {
    fn drop(&mut self) {
        self.fairness.seats.end(self.lingering);
    }
}
