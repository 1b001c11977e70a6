//! Seats and queues of one level: fair queuing by virtual time.
//!
//! Progress is the seat-time that each active queue has been offered since the start. A queue's next dispatch is the
//! progress at which it would have used up what it was given. The queue whose oldest request would finish first by that
//! measure is next, so that each queue gets the same seat-time, whatever its requests cost.
//!
//! Only queues with requests exist. Memory follows the requests and not the configured number of queues, and a queue
//! that lost its place to a smaller configuration ends with its last request.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use crate::demand::{Demand, Period};
use crate::level::Kind;
use crate::machine::LevelId;
use crate::shuffle;
use crate::work::Work;

/// Time that a request is assumed to take until it is done.
const ESTIMATED: Duration = Duration::from_millis(3);

/// Most seat-time that a queue pays back later for seats that it used while others did not ask for them. Requests seldom
/// take longer, and without a bound a queue that was busy for an hour would wait for an hour once others are.
const DEBT_MAX: SeatTime = 60 * 1_000_000_000;

/// Seat-time in nanoseconds. It never overflows, so there is no epoch to begin.
type SeatTime = i128;

/// Seats of one request that is being served. It is given back with [`crate::Machine::finish`].
#[derive(PartialEq, Eq, Debug)]
#[must_use = "seats that are not given back are lost"]
pub struct Seat {
    pub(crate) level: LevelId,
    pub(crate) work: Work,
    queue: Option<u32>,
    started: Duration,
}

/// Place of a waiting request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    pub(crate) level: LevelId,
    queue: u32,
    ticket: u64,
}

/// Request whose turn has come.
#[derive(PartialEq, Eq, Debug)]
#[must_use = "the request waits for its seat"]
pub struct Dispatched<W> {
    /// The waiter that was given when the request arrived.
    pub waiter: W,
    /// Its seats.
    pub seat: Seat,
}

/// Reason why a request is refused at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reject {
    /// The level has no queues, and its seats are taken.
    ConcurrencyLimit,
    /// The best queue of the flow's hand is full.
    QueueFull,
}

impl Reject {
    /// Value of the label `reason` in metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConcurrencyLimit => "concurrency-limit",
            Self::QueueFull => "queue-full",
        }
    }
}

/// Outcome of an arrival at a level.
pub(crate) enum Entry {
    Executes(Seat),
    Waits(Place),
    Rejected(Reject),
}

/// State of one queue, for debugging.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueReport {
    /// Index of the queue.
    pub index: u32,
    /// Requests that wait in it.
    pub waiting: usize,
    /// Requests from it that are being served.
    pub executing: usize,
    /// Seats that the waiting requests ask for.
    pub seats_waiting: u64,
    /// Seat-time of the waiting requests.
    pub work_waiting: Duration,
}

/// Counts of one level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) waiting: usize,
    pub(crate) executing: usize,
    pub(crate) seats_in_use: u64,
    pub(crate) seats_waiting: u64,
    pub(crate) dispatched: u64,
    pub(crate) rejected: u64,
    pub(crate) cancelled: u64,
}

struct Waiting<W> {
    waiter: W,
    work: Work,
    arrival: SeatTime,
}

struct Queue<W> {
    /// Waiting requests by ticket, and so by arrival.
    waiting: BTreeMap<u64, Waiting<W>>,
    executing: usize,
    seats_waiting: u64,
    work_waiting: SeatTime,
    next_dispatch: SeatTime,
}

/// Seats and queues of one level. `W` stands for a waiting request.
pub(crate) struct Queues<W> {
    level: LevelId,
    kind: Kind,
    seats: u32,
    active: BTreeMap<u32, Queue<W>>,
    last_dispatched: u32,
    progress: SeatTime,
    synced: Duration,
    tickets: u64,
    counts: Counts,
    demand: Demand,
}

impl<W> Queues<W> {
    pub(crate) fn new(level: LevelId, kind: Kind, seats: u32, now: Duration) -> Self {
        Self {
            level,
            kind,
            seats,
            active: BTreeMap::new(),
            last_dispatched: 0,
            progress: 0,
            synced: now,
            tickets: 0,
            counts: Counts::default(),
            demand: Demand::new(now),
        }
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    pub(crate) fn seats(&self) -> u32 {
        self.seats
    }

    /// True if no request waits, is served, or lingers on its seats.
    pub(crate) fn is_idle(&self) -> bool {
        self.counts.waiting == 0 && self.counts.executing == 0 && self.counts.seats_in_use == 0
    }

    /// Replaces the configuration. Requests that wait stay where they are.
    pub(crate) fn configure(
        &mut self,
        kind: Kind,
        seats: u32,
        now: Duration,
    ) -> Vec<Dispatched<W>> {
        self.sync(now);
        (self.kind, self.seats) = (kind, seats);
        self.dispatch_all(now)
    }

    /// Ends a period of demand.
    pub(crate) fn step_demand(&mut self, now: Duration) -> Period {
        self.demand.step(now)
    }

    pub(crate) fn arrive(
        &mut self,
        hash: u64,
        work: Work,
        now: Duration,
        waiter: impl FnOnce() -> W,
    ) -> (Entry, Vec<Dispatched<W>>) {
        self.sync(now);
        let Kind::Queue(queuing) = self.kind else {
            if self.kind == Kind::Reject && !self.has_room(work) {
                self.counts.rejected += 1;
                let entry = Entry::Rejected(Reject::ConcurrencyLimit);
                return (entry, Vec::new());
            }
            return (Entry::Executes(self.occupy(None, work, now)), Vec::new());
        };
        let hand = shuffle::deal(hash, queuing.queues, queuing.hand_size);
        let index = self.shortest(hand, queuing.hand_size);
        if self.counts.waiting == 0 && self.is_open() && self.has_room(work) {
            let progress = self.progress;
            let queue = self.queue(index);
            queue.next_dispatch = queue.next_dispatch.max(progress);
            self.charge(index, work);
            let seat = self.occupy(Some(index), work, now);
            return (Entry::Executes(seat), Vec::new());
        }
        let known = self.active.get(&index);
        if known.is_some_and(|queue| queue.waiting.len() >= queuing.length_max as usize) {
            self.counts.rejected += 1;
            return (Entry::Rejected(Reject::QueueFull), Vec::new());
        }
        let place = self.enqueue(index, work, waiter(), now);
        (Entry::Waits(place), self.dispatch_all(now))
    }

    /// Ends the service of a request. Its seats stay taken if it lingers.
    pub(crate) fn finish(&mut self, seat: &Seat, now: Duration) {
        self.sync(now);
        self.counts.executing -= 1;
        if let Some(index) = seat.queue
            && let Some(queue) = self.active.get_mut(&index)
        {
            queue.executing -= 1;
            // The queue was charged for the estimate; it pays for what the request took.
            let took = now.saturating_sub(seat.started);
            let estimated = seat_time(seat.work.seats, ESTIMATED);
            queue.next_dispatch += seat_time(seat.work.seats, took) - estimated;
            self.settle(index);
        }
    }

    /// Gives seats back after [`Queues::finish`] and the time for which the request lingered.
    pub(crate) fn release(&mut self, work: Work, now: Duration) -> Vec<Dispatched<W>> {
        self.sync(now);
        self.counts.seats_in_use -= u64::from(work.seats_max());
        self.note_demand(now);
        self.dispatch_all(now)
    }

    /// Removes a request that no longer waits. None if it was dispatched.
    pub(crate) fn cancel(&mut self, place: Place, now: Duration) -> Option<W> {
        self.sync(now);
        let queue = self.active.get_mut(&place.queue)?;
        let removed = queue.waiting.remove(&place.ticket)?;
        self.left(place.queue, removed.work);
        self.settle(place.queue);
        self.note_demand(now);
        self.counts.rejected += 1;
        self.counts.cancelled += 1;
        Some(removed.waiter)
    }

    pub(crate) fn reports(&self) -> impl Iterator<Item = QueueReport> {
        self.active.iter().map(|(index, queue)| QueueReport {
            index: *index,
            waiting: queue.waiting.len(),
            executing: queue.executing,
            seats_waiting: queue.seats_waiting,
            work_waiting: Duration::from_nanos(u64::try_from(queue.work_waiting).unwrap_or(0)),
        })
    }

    /// Advances progress to now: the seats that can be used are offered to the active queues in equal parts.
    fn sync(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.synced);
        self.synced = self.synced.max(now);
        let Ok(queues @ 1..) = SeatTime::try_from(self.active.len()) else {
            return;
        };
        let asked = self.counts.seats_in_use + self.counts.seats_waiting;
        let usable = u32::try_from(asked).map_or(self.seats, |asked| asked.min(self.seats));
        self.progress += seat_time(usable, passed) / queues;
    }

    /// The queue of a hand with the least work that waits. Ties go to another queue each time.
    fn shortest(&self, hand: impl Iterator<Item = u32>, size: u32) -> u32 {
        let offset = self.tickets % u64::from(size.max(1));
        let rank = |(nth, index): (u64, u32)| {
            let work = self
                .active
                .get(&index)
                .map_or(0, |queue| queue.work_waiting);
            (work, nth < offset, index)
        };
        let shortest = (0..).zip(hand).map(rank).min();
        shortest.map_or(0, |(_, _, index)| index)
    }

    fn queue(&mut self, index: u32) -> &mut Queue<W> {
        let progress = self.progress;
        self.active.entry(index).or_insert_with(|| Queue {
            waiting: BTreeMap::new(),
            executing: 0,
            seats_waiting: 0,
            work_waiting: 0,
            next_dispatch: progress,
        })
    }

    fn enqueue(&mut self, index: u32, work: Work, waiter: W, now: Duration) -> Place {
        let ticket = self.tickets;
        self.tickets += 1;
        let arrival = self.progress;
        let seats = u64::from(work.seats_max());
        let queue = self.queue(index);
        queue.seats_waiting += seats;
        queue.work_waiting += total(work);
        let waiting = Waiting {
            waiter,
            work,
            arrival,
        };
        queue.waiting.insert(ticket, waiting);
        self.counts.waiting += 1;
        self.counts.seats_waiting += seats;
        self.settle(index);
        self.note_demand(now);
        Place {
            level: self.level,
            queue: index,
            ticket,
        }
    }

    fn dispatch_all(&mut self, now: Duration) -> Vec<Dispatched<W>> {
        let mut dispatched = Vec::new();
        while self.counts.waiting > 0 && self.is_open() {
            let Some(index) = self.next() else { break };
            let queue = self.active.get_mut(&index).expect("the queue was found");
            let Some(oldest) = queue.waiting.first_entry() else {
                break;
            };
            if !self.counts.has_room(self.seats, oldest.get().work) {
                break;
            }
            let Waiting { waiter, work, .. } = oldest.remove();
            self.last_dispatched = index;
            self.left(index, work);
            self.charge(index, work);
            let seat = self.occupy(Some(index), work, now);
            self.settle(index);
            dispatched.push(Dispatched { waiter, seat });
        }
        dispatched
    }

    /// The queue whose oldest request would finish first; among equals, the next one after the last that was chosen.
    fn next(&self) -> Option<u32> {
        let after = (Bound::Excluded(self.last_dispatched), Bound::Unbounded);
        let round = self.active.range(after);
        let round = round.chain(self.active.range(..=self.last_dispatched));
        let finish = |(index, queue): (&u32, &Queue<W>)| {
            let oldest = queue.waiting.values().next()?;
            Some((queue.next_dispatch + total(oldest.work), *index))
        };
        let found = round.filter_map(finish).min_by_key(|(finish, _)| *finish);
        found.map(|(_, index)| index)
    }

    /// Takes the seats of a request that begins to be served.
    fn occupy(&mut self, queue: Option<u32>, work: Work, now: Duration) -> Seat {
        self.counts.executing += 1;
        self.counts.dispatched += 1;
        self.counts.seats_in_use += u64::from(work.seats_max());
        if let Some(index) = queue {
            self.tickets += 1;
            self.queue(index).executing += 1;
        }
        self.note_demand(now);
        Seat {
            level: self.level,
            work,
            queue,
            started: now,
        }
    }

    fn charge(&mut self, index: u32, work: Work) {
        self.queue(index).next_dispatch += total(work);
    }

    /// Accounts for a request that left its queue.
    fn left(&mut self, index: u32, work: Work) {
        let seats = u64::from(work.seats_max());
        self.counts.waiting -= 1;
        self.counts.seats_waiting -= seats;
        let queue = self.queue(index);
        queue.seats_waiting -= seats;
        queue.work_waiting -= total(work);
    }

    /// Removes a queue without requests, or keeps its next dispatch from being before the arrival of its oldest request,
    /// and from being too late.
    ///
    /// Else a queue that asks for less than its share would save up the rest, and then keep others waiting.
    fn settle(&mut self, index: u32) {
        let latest = self.progress + DEBT_MAX;
        let Some(queue) = self.active.get_mut(&index) else {
            return;
        };
        match queue.waiting.values().next() {
            Some(oldest) => {
                queue.next_dispatch = queue.next_dispatch.max(oldest.arrival).min(latest);
            }
            None if queue.executing == 0 => drop(self.active.remove(&index)),
            None => queue.next_dispatch = queue.next_dispatch.min(latest),
        }
    }

    fn is_open(&self) -> bool {
        self.counts.seats_in_use < u64::from(self.seats)
    }

    fn has_room(&self, work: Work) -> bool {
        self.counts.has_room(self.seats, work)
    }

    fn note_demand(&mut self, now: Duration) {
        let seats = self.counts.seats_in_use + self.counts.seats_waiting;
        self.demand.set(seats, now);
    }
}

impl Counts {
    /// True if there are seats for a request. One that is wider than the level is served alone.
    fn has_room(&self, seats: u32, work: Work) -> bool {
        let (seats, needed) = (u64::from(seats), u64::from(work.seats_max()));
        if needed > seats {
            self.executing == 0
        } else {
            self.seats_in_use + needed <= seats
        }
    }
}

fn seat_time(seats: u32, time: Duration) -> SeatTime {
    let nanos = SeatTime::try_from(time.as_nanos()).unwrap_or(SeatTime::from(u64::MAX));
    SeatTime::from(seats) * nanos
}

fn total(work: Work) -> SeatTime {
    seat_time(work.seats, ESTIMATED) + seat_time(work.final_seats, work.linger)
}
