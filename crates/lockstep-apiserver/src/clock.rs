//! Wall clock and monotonic clock. No other module reads a clock.

use jiff::Timestamp;
use tokio::time::Instant;

/// A point in time, by the wall clock and by the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub(crate) wall: Timestamp,
    pub(crate) steady: Instant,
}

pub(crate) fn now() -> Moment {
    Moment {
        wall: Timestamp::now(),
        steady: Instant::now(),
    }
}
