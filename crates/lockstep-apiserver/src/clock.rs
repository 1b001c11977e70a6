//! The only place that looks at clocks.

use jiff::Timestamp;
use tokio::time::Instant;

/// A moment, for people and for measuring.
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
