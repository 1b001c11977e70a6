//! How long requests wait for an outcome.
//!
//! Hardly any request waits too long, and a timer for each would cost a call of the system both to
//! set and to pass by. One clock ticks for all of them; a request counts ticks.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// How far apart ticks are, and so how exact the limit is.
pub(crate) const TICK: Duration = Duration::from_millis(500);

pub(crate) struct Patience {
    ticks: AtomicU64,
    /// All who wait are told of every tick.
    ticked: Notify,
    ticks_max: u64,
}

impl Patience {
    /// Patience for at least so long.
    pub(crate) fn new(limit: Duration) -> Self {
        let ticks = limit.as_millis().div_ceil(TICK.as_millis());
        Self {
            ticks: AtomicU64::default(),
            ticked: Notify::new(),
            // The first tick may come at once.
            ticks_max: u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(1),
        }
    }

    /// Time has passed.
    pub(crate) fn tick(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
        self.ticked.notify_waiters();
    }

    /// Waits for an outcome; none if that takes too long.
    pub(crate) async fn wait_for<T>(&self, outcome: impl Future<Output = T>) -> Option<T> {
        let mut outcome = pin!(outcome);
        let start = self.ticks.load(Ordering::Relaxed);
        loop {
            tokio::select! {
                biased;
                outcome = outcome.as_mut() => return Some(outcome),
                () = self.ticked.notified() => {}
            }
            let waited = self.ticks.load(Ordering::Relaxed) - start;
            if waited >= self.ticks_max {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    fn polled<F: Future>(waiting: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        waiting.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_request_waits_for_its_limit_and_not_much_longer() {
        // etcd-api.md §8/timeout.
        let patience = Patience::new(3 * TICK);
        let mut waiting = pin!(patience.wait_for(std::future::pending::<()>()));
        for _ in 0..3 {
            assert_eq!(polled(waiting.as_mut()), Poll::Pending);
            patience.tick();
        }
        assert_eq!(polled(waiting.as_mut()), Poll::Pending);
        patience.tick();
        assert_eq!(polled(waiting.as_mut()), Poll::Ready(None));
    }

    #[test]
    fn an_outcome_counts_although_it_comes_with_the_last_tick() {
        let patience = Patience::new(TICK);
        let (answer, outcome) = tokio::sync::oneshot::channel();
        let mut waiting = pin!(patience.wait_for(outcome));
        assert_eq!(polled(waiting.as_mut()), Poll::Pending);
        patience.tick();
        patience.tick();
        answer.send(7).unwrap();
        assert_eq!(polled(waiting.as_mut()), Poll::Ready(Some(Ok(7))));
    }
}
