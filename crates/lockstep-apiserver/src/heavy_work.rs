//! Bounded place for work that takes much processor time: large bodies, long lists, documents.
//!
//! The work runs on its own thread while the other threads of the runtime go on with the connections, and fewer of it
//! run at once than there are processors. Users take turns by the processor time that they used, with the queues of
//! priority and fairness. A request holds a turn only while it computes, and not while it waits for the store.

use std::hash::{BuildHasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use std::thread;

use lockstep_fairness::{Arrival, Kind, LevelId, Machine, PriorityLevel, Queuing, Seat, Work};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::request::sharer;
use crate::seats::Seats;

/// Queues of the users that wait for a turn.
const QUEUES: Queuing = Queuing {
    queues: 128,
    hand_size: 1,
    // The requests that wait have seats of priority and fairness, which bound their number.
    length_max: u32::MAX,
};

/// Turns for heavy work.
pub(crate) struct HeavyWork {
    seats: Seats,
    level: LevelId,
    hasher: RandomState,
}

/// A turn, given back on drop.
struct Turn<'a> {
    heavy: &'a HeavyWork,
    seat: Option<Seat>,
}

impl HeavyWork {
    /// One processor is left for everything else, if there is more than one.
    pub(crate) fn for_this_machine() -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self::new(
            u32::try_from(processors)
                .unwrap_or(u32::MAX)
                .saturating_sub(1)
                .max(1),
        )
    }

    /// At most this much work at once.
    pub(crate) fn new(at_once: u32) -> Self {
        let mut level = None;
        let seats = Seats::new(|now| {
            let (machine, id) = Machine::of_one(heavy(), at_once, now);
            level = Some(id);
            machine
        });
        Self {
            seats,
            level: level.expect("the machine was made"),
            hasher: RandomState::new(),
        }
    }

    /// Does work once it is the user's turn; none if it panics.
    pub(crate) async fn run<T>(&self, user: &str, work: impl FnOnce() -> T) -> Option<T> {
        let _turn = self.turn(user).await?;
        in_place(|| catch_unwind(AssertUnwindSafe(work))).ok()
    }

    /// Runs a future to its end, each of its steps in a turn of the user; none if there are no turns.
    pub(crate) async fn drive<F: Future>(
        &self,
        user: &str,
        mut future: Pin<&mut F>,
    ) -> Option<F::Output> {
        loop {
            let turn = self.turn(user).await?;
            let step = std::future::poll_fn(|context| {
                Poll::Ready(in_place(|| future.as_mut().poll(context)))
            });
            if let Poll::Ready(done) = step.await {
                return Some(done);
            }
            drop(turn);
            woken().await;
        }
    }

    async fn turn(&self, user: &str) -> Option<Turn<'_>> {
        let arrival = Arrival {
            level: self.level,
            hash: self.hasher.hash_one(sharer(user)),
            work: Work::of(1),
        };
        let seat = self.seats.seat(arrival, None, || ()).await.ok();
        seat.is_some().then_some(Turn { heavy: self, seat })
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            self.heavy.seats.give_back(seat);
        }
    }
}

fn heavy() -> PriorityLevel {
    PriorityLevel {
        name: "heavy-work".to_owned(),
        uid: String::new(),
        kind: Kind::Queue(QUEUES),
        shares: 1,
        lendable_percent: 0,
        borrowing_percent: Some(0),
    }
}

/// Does work here, and lets the other tasks of this thread move to another one.
pub(crate) fn in_place<T>(work: impl FnOnce() -> T) -> T {
    let handle = Handle::try_current();
    let flavor = handle.map(|handle| handle.runtime_flavor());
    if matches!(flavor, Ok(RuntimeFlavor::MultiThread)) {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// Waits until the task is woken, as the future that was just polled asked for.
async fn woken() {
    let mut is_woken = false;
    std::future::poll_fn(|_| {
        if std::mem::replace(&mut is_woken, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures::FutureExt as _;
    use parking_lot::Mutex;
    use tokio::task::{JoinSet, yield_now};

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_more_is_at_work_than_may_be() {
        let heavy = Arc::new(HeavyWork::new(2));
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut works = JoinSet::new();
        for number in 0..20 {
            let (heavy, now, most) = (Arc::clone(&heavy), Arc::clone(&now), Arc::clone(&most));
            works.spawn(async move {
                let work = move || {
                    most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::yield_now();
                    now.fetch_sub(1, Ordering::SeqCst);
                    assert_ne!(number, 7, "one of them panics");
                    number
                };
                heavy.run(&format!("user-{number}"), work).await
            });
        }
        let mut done: Vec<i32> = works.join_all().await.into_iter().flatten().collect();
        done.sort_unstable();
        let expected: Vec<i32> = (0..20).filter(|number| *number != 7).collect();
        assert_eq!(done, expected);
        assert!(most.load(Ordering::SeqCst) <= 2);
    }

    /// A turn is held by a computation and not by what it waits for. With time paused, computations take none, so that
    /// the order is that of the queues.
    #[tokio::test(start_paused = true)]
    async fn a_future_that_waits_holds_no_turn() {
        let heavy = HeavyWork::new(1);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let mut receiver = std::pin::pin!(receiver);
        let mut waits = std::pin::pin!(heavy.drive("alice", receiver.as_mut()));
        assert!(waits.as_mut().now_or_never().is_none());
        assert_eq!(heavy.run("bob", || 1).await, Some(1));
        sender.send(2).expect("it is waited for");
        assert_eq!(waits.await, Some(Ok(2)));
        let steps = Mutex::new(Vec::new());
        let long = async |name: &'static str| {
            for step in 0..3 {
                steps.lock().push((name, step));
                yield_now().await;
            }
        };
        let (one, two) = (std::pin::pin!(long("a")), std::pin::pin!(long("b")));
        tokio::join!(heavy.drive("a", one), heavy.drive("b", two));
        let steps = steps.lock().clone();
        for (turn, pair) in (0..).zip(steps.chunks(2)) {
            let mut pair = pair.to_vec();
            pair.sort_unstable();
            assert_eq!(pair, [("a", turn), ("b", turn)], "{steps:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn accounts_of_a_namespace_take_turns_as_one_user() {
        let heavy = Arc::new(HeavyWork::new(1));
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = heavy.turn("system:serviceaccount:crowd:first").await;
        let mut works = JoinSet::new();
        for number in 0..21 {
            let user = if number < 20 {
                format!("system:serviceaccount:crowd:{number}")
            } else {
                "alice".to_owned()
            };
            let (heavy, order) = (Arc::clone(&heavy), Arc::clone(&order));
            works.spawn(async move { heavy.run(&user, || order.lock().push(user.clone())).await });
            yield_now().await;
        }
        drop(first);
        works.join_all().await;
        let order = order.lock();
        let last = order.iter().rposition(|user| user == "alice");
        assert!(last <= Some(2), "{order:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn users_take_turns_and_one_who_floods_waits_for_himself() {
        let heavy = Arc::new(HeavyWork::new(1));
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = heavy.turn("flood").await;
        let mut works = JoinSet::new();
        for number in 0..12 {
            let user = if number < 10 { "flood" } else { "alice" };
            let (heavy, order) = (Arc::clone(&heavy), Arc::clone(&order));
            works.spawn(async move { heavy.run(user, || order.lock().push(user)).await });
            yield_now().await;
        }
        drop(first);
        works.join_all().await;
        let order = order.lock();
        let last = order.iter().rposition(|user| *user == "alice");
        assert!(last <= Some(4), "{order:?}");
    }
}
