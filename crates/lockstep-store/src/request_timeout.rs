//! Request timeouts with a shared timer.
//!
//! Timeouts are rare, and arming a timer for each request would cost system calls. One timer ticks for all
//! requests; each counts ticks.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// Tick interval, which is the accuracy of timeouts.
pub(crate) const TICK: Duration = Duration::from_millis(500);

pub(crate) struct RequestTimeout {
    ticks: AtomicU64,
    /// Notified at every tick.
    ticked: Notify,
    ticks_max: u64,
}

impl RequestTimeout {
    /// A timeout of at least `limit`.
    pub(crate) fn new(limit: Duration) -> Self {
        let ticks = limit.as_millis().div_ceil(TICK.as_millis());
        Self {
            ticks: AtomicU64::default(),
            ticked: Notify::new(),
            // The first tick may come immediately.
            ticks_max: u64::try_from(ticks).unwrap_or(u64::MAX).saturating_add(1),
        }
    }

    /// Advances time by one tick.
    pub(crate) fn tick(&self) {
        self.ticks.fetch_add(1, Ordering::Relaxed);
        self.ticked.notify_waiters();
    }

    /// Awaits an outcome; `None` after the timeout.
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
        let request_timeout = RequestTimeout::new(3 * TICK);
        let mut waiting = pin!(request_timeout.wait_for(std::future::pending::<()>()));
        for _ in 0..3 {
            assert_eq!(polled(waiting.as_mut()), Poll::Pending);
            request_timeout.tick();
        }
        assert_eq!(polled(waiting.as_mut()), Poll::Pending);
        request_timeout.tick();
        assert_eq!(polled(waiting.as_mut()), Poll::Ready(None));
    }

    #[test]
    fn an_outcome_counts_although_it_comes_with_the_last_tick() {
        let request_timeout = RequestTimeout::new(TICK);
        let (answer, outcome) = tokio::sync::oneshot::channel();
        let mut waiting = pin!(request_timeout.wait_for(outcome));
        assert_eq!(polled(waiting.as_mut()), Poll::Pending);
        request_timeout.tick();
        request_timeout.tick();
        answer.send(7).unwrap();
        assert_eq!(polled(waiting.as_mut()), Poll::Ready(Some(Ok(7))));
    }
}
