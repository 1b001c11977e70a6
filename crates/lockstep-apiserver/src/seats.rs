//! The shell of the machine: its clock, and the requests that wait.

use std::time::Duration;

use lockstep_fairness::{Arrival, Dispatched, Lingering, Machine, Place, Seat, Verdict};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::clock;

/// A waiting request: the other end of its wait.
pub(crate) type Waiter = oneshot::Sender<Seat>;

/// Seats that requests wait for.
pub(crate) struct Seats {
    machine: Mutex<Machine<Waiter>>,
    /// Tells [`Seats::keep`] that something is due earlier than it was.
    sooner: Notify,
    started: Instant,
}

/// Reason why a request has no seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoSeat {
    /// It is refused, for this reason in metrics.
    Refused(&'static str),
    /// Its level was removed; it is to be classified again.
    Gone,
}

/// A waiting request. When it is dropped it leaves its queue, or gives back the seat that it was just given.
struct Queued<'a> {
    seats: &'a Seats,
    place: Place,
    receiver: oneshot::Receiver<Seat>,
    is_done: bool,
}

impl Seats {
    /// Makes the machine, which is given the time of the start.
    pub(crate) fn new(machine: impl FnOnce(Duration) -> Machine<Waiter>) -> Self {
        Self {
            machine: Mutex::new(machine(Duration::ZERO)),
            sooner: Notify::new(),
            started: clock::now().steady,
        }
    }

    pub(crate) fn now(&self) -> Duration {
        clock::now().steady - self.started
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Machine<Waiter>> {
        self.machine.lock()
    }

    /// Waits for a seat. `counted` is held while the request waits in a queue.
    pub(crate) async fn seat<G>(
        &self,
        arrival: Arrival,
        until: Option<Instant>,
        counted: impl FnOnce() -> G,
    ) -> Result<Seat, NoSeat> {
        let mut receiver = None;
        let waiter = || {
            let (sender, waits) = oneshot::channel();
            receiver = Some(waits);
            sender
        };
        let verdict = self.lock().arrive(arrival, self.now(), waiter);
        let (place, others) = match verdict {
            Verdict::Executes(seat) => return Ok(seat),
            Verdict::Rejected(why) => return Err(NoSeat::Refused(why.as_str())),
            Verdict::Gone => return Err(NoSeat::Gone),
            Verdict::Waits(place, others) => (place, others),
        };
        self.deliver(others);
        let _counted = counted();
        let queued = Queued {
            seats: self,
            place,
            receiver: receiver.expect("a request that waits has a waiter"),
            is_done: false,
        };
        // Boxed because it is large and few requests wait.
        let seat = Box::pin(queued.seat(until)).await;
        seat.ok_or(NoSeat::Refused("time-out"))
    }

    /// Gives seats back.
    pub(crate) fn give_back(&self, seat: Seat) {
        let turns = self.finish(seat);
        self.deliver(turns);
    }

    /// Keeps seats for some time, or until they are given back with [`Seats::end`].
    pub(crate) fn linger(&self, seat: Seat, time: Duration) -> Lingering {
        let now = self.now();
        let mut machine = self.lock();
        let due = machine.due();
        let lingering = machine.linger(seat, now + time, now);
        if machine.due() < due {
            self.sooner.notify_one();
        }
        lingering
    }

    /// Gives back seats that were kept.
    pub(crate) fn end(&self, lingering: Lingering) {
        let turns = self.lock().end(lingering, self.now());
        self.deliver(turns);
    }

    /// Does what is due, for ever.
    pub(crate) async fn keep(&self) {
        loop {
            let due = self.lock().due();
            tokio::select! {
                () = tokio::time::sleep_until(self.started + due) => {}
                () = self.sooner.notified() => continue,
            }
            let turns = self.lock().advance(self.now());
            self.deliver(turns);
        }
    }

    /// Hands seats to the requests whose turn it is. The seats of those that gave up meanwhile go to the next.
    pub(crate) fn deliver(&self, mut turns: Vec<Dispatched<Waiter>>) {
        while let Some(Dispatched { waiter, seat }) = turns.pop() {
            if let Err(seat) = waiter.send(seat) {
                turns.extend(self.finish(seat));
            }
        }
    }

    fn finish(&self, seat: Seat) -> Vec<Dispatched<Waiter>> {
        let now = self.now();
        let mut machine = self.lock();
        let due = machine.due();
        let turns = machine.finish(seat, now);
        if machine.due() < due {
            self.sooner.notify_one();
        }
        turns
    }
}

impl Queued<'_> {
    /// Waits for the seat; none at the end of the time.
    async fn seat(mut self, until: Option<Instant>) -> Option<Seat> {
        let seat = match until {
            None => (&mut self.receiver).await,
            Some(until) => tokio::time::timeout_at(until, &mut self.receiver)
                .await
                .ok()?,
        };
        self.is_done = seat.is_ok();
        seat.ok()
    }
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        if self.is_done {
            return;
        }
        let now = self.seats.now();
        if self.seats.lock().cancel(self.place, now).is_some() {
            return;
        }
        // Its turn came while it gave up. After the close, a sender that is late keeps the seat.
        self.receiver.close();
        if let Ok(seat) = self.receiver.try_recv() {
            self.seats.give_back(seat);
        }
    }
}
