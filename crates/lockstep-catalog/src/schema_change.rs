//! Notification of watches when the schema of a resource changes.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};

use lockstep_mvcc::Revision;

/// The first change of a resource's schema since it was published, and the tasks that wait for it.
///
/// A watch ends when the schema changes, because its client decodes objects by the schema that discovery and OpenAPI
/// showed when the watch began.
#[derive(Debug, Default)]
pub struct SchemaChange {
    at: OnceLock<Revision>,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next_id: u64,
    wakers: BTreeMap<u64, Waker>,
}

/// Future of [`SchemaChange::ended`]: resolves to the revision of the change.
#[derive(Debug)]
pub struct SchemaChanged<'a> {
    change: &'a SchemaChange,
    /// Key of the registered waker; none before the first poll.
    id: Option<u64>,
}

impl SchemaChange {
    /// Records that the schema changed at a revision, and wakes all waiting tasks. Later calls have no effect.
    pub fn end(&self, at: Revision) {
        let _first = self.at.set(at);
        // Wakers run outside of the lock: they may drop a `SchemaChanged`, which takes it.
        let wakers = std::mem::take(&mut self.waiting().wakers);
        wakers.into_values().for_each(Waker::wake);
    }

    /// The revision of the change; none if the schema is still the published one.
    pub fn at(&self) -> Option<Revision> {
        self.at.get().copied()
    }

    /// Waits for the change and returns its revision.
    pub fn ended(&self) -> SchemaChanged<'_> {
        SchemaChanged {
            change: self,
            id: None,
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // No code panics while the lock is held, and the map is valid in every state.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Future for SchemaChanged<'_> {
    type Output = Revision;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Revision> {
        let change = self.change;
        if let Some(at) = change.at() {
            return Poll::Ready(at);
        }
        let mut waiting = change.waiting();
        // `end` sets the revision before it takes the wakers: either it is visible here, or the waker is taken.
        if let Some(at) = change.at() {
            return Poll::Ready(at);
        }
        let id = *self.id.get_or_insert_with(|| {
            waiting.next_id += 1;
            waiting.next_id
        });
        match waiting.wakers.get_mut(&id) {
            Some(waker) => waker.clone_from(context.waker()),
            None => drop(waiting.wakers.insert(id, context.waker().clone())),
        }
        Poll::Pending
    }
}

impl Drop for SchemaChanged<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.change.waiting().wakers.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn every_waiting_task_is_woken_once_and_only_the_first_change_counts() {
        let change = SchemaChange::default();
        let count = Arc::new(Count::default());
        let waker = Waker::from(Arc::clone(&count));
        let mut context = Context::from_waker(&waker);
        let (mut one, mut other) = (pin!(change.ended()), pin!(change.ended()));
        for _ in 0..2 {
            assert_eq!(one.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(other.as_mut().poll(&mut context), Poll::Pending);
        }
        change.end(Revision(7));
        change.end(Revision(8));
        assert_eq!(count.0.load(Ordering::SeqCst), 2);
        assert_eq!(one.as_mut().poll(&mut context), Poll::Ready(Revision(7)));
        assert_eq!(other.as_mut().poll(&mut context), Poll::Ready(Revision(7)));
        assert_eq!(change.at(), Some(Revision(7)));
    }

    #[test]
    fn a_dropped_wait_leaves_no_waker() {
        let change = SchemaChange::default();
        {
            let mut ended = pin!(change.ended());
            let mut context = Context::from_waker(Waker::noop());
            assert_eq!(ended.as_mut().poll(&mut context), Poll::Pending);
            assert_eq!(change.waiting().wakers.len(), 1);
        }
        assert_eq!(change.waiting().wakers.len(), 0);
    }
}
