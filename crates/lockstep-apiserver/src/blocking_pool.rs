//! Bounded pool for blocking work that would stall the async threads. The bound leaves processor time for other
//! requests.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// Semaphore that bounds the concurrent blocking tasks.
#[derive(Debug)]
pub(crate) struct BlockingPool {
    turns: Arc<Semaphore>,
}

impl BlockingPool {
    /// Pool with at most `at_once` concurrent tasks.
    pub(crate) fn new(at_once: usize) -> Self {
        Self {
            turns: Arc::new(Semaphore::new(at_once)),
        }
    }

    /// Runs the work on a blocking thread once a slot is free; none if it panicked. If the caller is cancelled, the
    /// slot stays taken until the work is done.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok()?;
        let work = move || {
            let _turn = turn;
            work()
        };
        tokio::task::spawn_blocking(work).await.ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn no_more_are_at_work_than_may_be() {
        let aside = Arc::new(BlockingPool::new(2));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut works = tokio::task::JoinSet::new();
        for number in 0..20 {
            let (aside, now, most) = (Arc::clone(&aside), Arc::clone(&now), Arc::clone(&most));
            works.spawn(async move {
                let work = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                    assert_ne!(number, 7, "one of them panics");
                    number
                };
                aside.run(work).await
            });
        }
        let mut done: Vec<i32> = works.join_all().await.into_iter().flatten().collect();
        done.sort_unstable();
        let expected: Vec<i32> = (0..20).filter(|number| *number != 7).collect();
        assert_eq!(done, expected);
        assert!(most.load(Ordering::SeqCst) <= 2);
    }
}
