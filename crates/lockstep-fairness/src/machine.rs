//! All levels of a server: their share of its seats, and the requests that hold or await them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::allocation::{Item, allocate};
use crate::level::{Kind, PriorityLevel};
use crate::queues::{Counts, Dispatched, Entry, Place, QueueReport, Queues, Reject, Seat};
use crate::work::{SEATS_MAX, Work};
use crate::{CATCH_ALL, EXEMPT};

/// Interval at which seats are lent and borrowed by demand.
const BORROWING_INTERVAL: Duration = Duration::from_secs(10);
/// Part of a level's nominal seats that one request may have at most.
const WIDTH_PERCENT: u64 = 15;

/// One level in a machine. A level that is deleted and made again has a new id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LevelId(u64);

/// Seats of a request that was served and keeps them for a while: the end of that time, and a number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Lingering(Duration, u64);

/// A request that arrives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Level of the request.
    pub level: LevelId,
    /// Hash of its flow.
    pub hash: u64,
    /// Its estimated work.
    pub work: Work,
}

/// Decision about a request that arrived.
#[derive(PartialEq, Eq, Debug)]
pub enum Verdict<W> {
    /// It is served now.
    Executes(Seat),
    /// It waits. The requests that are served in its stead, which may be itself, come with it.
    Waits(Place, Vec<Dispatched<W>>),
    /// It is refused.
    Rejected(Reject),
    /// Its level was removed after it was classified; it is to be classified again.
    Gone,
}

/// Seats of a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    /// By its shares.
    pub nominal: u32,
    /// Without what it may lend.
    pub lower: u32,
    /// With what it may borrow.
    pub upper: u32,
    /// In force.
    pub current: u32,
}

/// State of a level, for metrics and debugging.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LevelReport {
    /// Name of the level.
    pub name: String,
    /// True if the level was deleted and still has requests.
    pub is_quiescing: bool,
    /// Its seats.
    pub limits: Limits,
    /// Requests that wait.
    pub waiting: usize,
    /// Requests that are served.
    pub executing: usize,
    /// Seats that are taken.
    pub seats_in_use: u64,
    /// Requests that were served since the level was made.
    pub dispatched: u64,
    /// Requests that were refused, those that gave up included.
    pub rejected: u64,
    /// Requests that gave up waiting.
    pub cancelled: u64,
    /// Queues with requests.
    pub queues: Vec<QueueReport>,
}

struct Level<W> {
    config: Arc<PriorityLevel>,
    is_quiescing: bool,
    limits: Limits,
    queues: Queues<W>,
}

/// Level that requests may be sent to.
#[derive(Clone, Debug)]
pub(crate) struct Configured {
    pub(crate) id: LevelId,
    pub(crate) level: Arc<PriorityLevel>,
    pub(crate) seats_max: u32,
}

/// Levels that requests may be sent to, by name.
pub(crate) type Levels = BTreeMap<String, Configured>;

/// The seats of a server. `W` stands for a waiting request.
pub struct Machine<W> {
    seats: u32,
    levels: BTreeMap<LevelId, Level<W>>,
    last_id: u64,
    /// Seats of requests that were served and linger, by the time when they are given back.
    lingering: BTreeMap<Lingering, (LevelId, Work)>,
    lingered: u64,
    borrowed: Duration,
}

impl<W> Machine<W> {
    /// A server with this many seats, and the mandatory levels.
    pub fn new(seats: u32, now: Duration) -> Self {
        let mut machine = Self::empty(seats, now);
        let (_, dispatched) = machine.configure(&[], now);
        debug_assert!(dispatched.is_empty());
        machine
    }

    /// Seats of one level alone.
    pub fn of_one(level: PriorityLevel, seats: u32, now: Duration) -> (Self, LevelId) {
        let mut machine = Self::empty(seats, now);
        let id = machine.add(Arc::new(level), now);
        machine.divide();
        let dispatched = machine.borrow(now);
        debug_assert!(dispatched.is_empty());
        (machine, id)
    }

    fn empty(seats: u32, now: Duration) -> Self {
        Self {
            seats,
            levels: BTreeMap::new(),
            last_id: 0,
            lingering: BTreeMap::new(),
            lingered: 0,
            borrowed: now,
        }
    }

    fn add(&mut self, config: Arc<PriorityLevel>, now: Duration) -> LevelId {
        self.last_id += 1;
        let id = LevelId(self.last_id);
        let level = Level {
            queues: Queues::new(id, config.kind, 0, now),
            config,
            is_quiescing: false,
            limits: Limits::default(),
        };
        self.levels.insert(id, level);
        id
    }

    /// Replaces the levels. A level that is gone stays until its last request has left.
    pub(crate) fn configure(
        &mut self,
        wanted: &[Arc<PriorityLevel>],
        now: Duration,
    ) -> (Levels, Vec<Dispatched<W>>) {
        let mut wanted: BTreeMap<&str, Arc<PriorityLevel>> = wanted
            .iter()
            .map(|level| (&*level.name, Arc::clone(level)))
            .collect();
        let exempt = || Arc::new(PriorityLevel::mandatory_exempt());
        wanted.entry(EXEMPT).or_insert_with(exempt);
        let catch_all = || Arc::new(PriorityLevel::mandatory_catch_all());
        wanted.entry(CATCH_ALL).or_insert_with(catch_all);
        for level in self.levels.values_mut() {
            match wanted.remove(&*level.config.name) {
                Some(config) => (level.config, level.is_quiescing) = (config, false),
                None => level.is_quiescing = true,
            }
        }
        let fresh: Vec<Arc<PriorityLevel>> = wanted.into_values().collect();
        self.levels
            .retain(|_, level| !(level.is_quiescing && level.queues.is_idle()));
        for config in fresh {
            self.add(config, now);
        }
        self.divide();
        let dispatched = self.borrow(now);
        (self.configured(), dispatched)
    }

    /// A request arrives. `waiter` is called if it may have to wait.
    pub fn arrive(
        &mut self,
        arrival: Arrival,
        now: Duration,
        waiter: impl FnOnce() -> W,
    ) -> Verdict<W> {
        let level = self.levels.get_mut(&arrival.level);
        let Some(level) = level.filter(|level| !level.is_quiescing) else {
            return Verdict::Gone;
        };
        let Arrival { hash, work, .. } = arrival;
        match level.queues.arrive(hash, work, now, waiter) {
            (Entry::Executes(seat), _) => Verdict::Executes(seat),
            (Entry::Waits(place), dispatched) => Verdict::Waits(place, dispatched),
            (Entry::Rejected(why), _) => Verdict::Rejected(why),
        }
    }

    /// A request was served. Its seats are given back now, or by [`Machine::advance`] once it has lingered.
    pub fn finish(&mut self, seat: Seat, now: Duration) -> Vec<Dispatched<W>> {
        let Seat { level, work, .. } = seat;
        if work.linger.is_zero() {
            if let Some(level) = self.levels.get_mut(&level) {
                level.queues.finish(&seat, now);
            }
            return self.release(level, work, now);
        }
        let _until_due = self.linger(seat, now + work.linger, now);
        Vec::new()
    }

    /// A request was served, and keeps its seats until a time, or until [`Machine::end`].
    #[expect(clippy::needless_pass_by_value, reason = "a seat is given back once")]
    pub fn linger(&mut self, seat: Seat, until: Duration, now: Duration) -> Lingering {
        if let Some(level) = self.levels.get_mut(&seat.level) {
            level.queues.finish(&seat, now);
        }
        self.lingered += 1;
        let lingering = Lingering(until, self.lingered);
        self.lingering.insert(lingering, (seat.level, seat.work));
        lingering
    }

    /// Gives seats back before their time. Does nothing if that has passed.
    pub fn end(&mut self, lingering: Lingering, now: Duration) -> Vec<Dispatched<W>> {
        match self.lingering.remove(&lingering) {
            Some((level, work)) => self.release(level, work, now),
            None => Vec::new(),
        }
    }

    /// A request gives up waiting. None if its turn has come already.
    pub fn cancel(&mut self, place: Place, now: Duration) -> Option<W> {
        let level = self.levels.get_mut(&place.level)?;
        let waiter = level.queues.cancel(place, now);
        self.retire(place.level);
        waiter
    }

    /// Does what is due: gives back seats of requests that lingered, and lets levels borrow.
    pub fn advance(&mut self, now: Duration) -> Vec<Dispatched<W>> {
        let mut dispatched = Vec::new();
        while let Some(next) = self.lingering.first_entry()
            && next.key().0 <= now
        {
            let (level, work) = next.remove();
            dispatched.append(&mut self.release(level, work, now));
        }
        if now >= self.borrowed + BORROWING_INTERVAL {
            dispatched.append(&mut self.borrow(now));
        }
        dispatched
    }

    /// Time when [`Machine::advance`] has something to do.
    pub fn due(&self) -> Duration {
        let lingers = self.lingering.keys().next().map(|next| next.0);
        let borrows = self.borrowed + BORROWING_INTERVAL;
        lingers.map_or(borrows, |until| until.min(borrows))
    }

    /// State of all levels, by name.
    pub fn report(&self) -> Vec<LevelReport> {
        let mut reports: Vec<LevelReport> = self.levels.values().map(Level::report).collect();
        reports.sort_by(|a, b| a.name.cmp(&b.name));
        reports
    }

    fn configured(&self) -> Levels {
        let wanted = self.levels.iter().filter(|(_, level)| !level.is_quiescing);
        wanted
            .map(|(id, level)| {
                let configured = Configured {
                    id: *id,
                    level: Arc::clone(&level.config),
                    seats_max: level.width_max(),
                };
                (level.config.name.clone(), configured)
            })
            .collect()
    }

    fn release(&mut self, id: LevelId, work: Work, now: Duration) -> Vec<Dispatched<W>> {
        let Some(level) = self.levels.get_mut(&id) else {
            return Vec::new();
        };
        let dispatched = level.queues.release(work, now);
        self.retire(id);
        dispatched
    }

    /// Removes a deleted level after its last request.
    fn retire(&mut self, id: LevelId) {
        let level = self.levels.get(&id);
        if level.is_some_and(|level| level.is_quiescing && level.queues.is_idle()) {
            self.levels.remove(&id);
            self.divide();
        }
    }

    /// Divides the seats by shares. They may add up to a little more, because each part is rounded up.
    fn divide(&mut self) {
        let shares = self.levels.values().map(|level| level.config.shares);
        let total: u64 = shares.map(u64::from).sum();
        for level in self.levels.values_mut() {
            let config = &level.config;
            let part = u64::from(self.seats) * u64::from(config.shares);
            let nominal = narrow(part.div_ceil(total.max(1)));
            let borrowed = config.borrowing_percent;
            let borrowed = borrowed.map_or(self.seats, |percent| percentage(nominal, percent));
            level.limits = Limits {
                nominal,
                // Of a small server's seats, rounding would lend the last one, and the level would starve.
                lower: (nominal - percentage(nominal, config.lendable_percent)).max(nominal.min(1)),
                upper: nominal.saturating_add(borrowed),
                current: level.limits.current,
            };
        }
    }

    /// Lets levels with demand borrow from those without. Exempt levels take what they need first.
    fn borrow(&mut self, now: Duration) -> Vec<Dispatched<W>> {
        self.borrowed = now;
        let mut rest = self
            .levels
            .values()
            .map(|level| i64::from(level.limits.nominal))
            .sum();
        let nominal = rest;
        let mut items = Vec::new();
        let (mut lower, mut least) = (0, 0);
        for level in self.levels.values_mut() {
            let period = level.queues.step_demand(now);
            let (peak, limits) = (narrow(period.peak), &mut level.limits);
            if level.config.kind == Kind::Exempt {
                limits.current = limits.lower.max(peak);
                rest -= i64::from(limits.current);
                continue;
            }
            limits.current = limits.lower.max(limits.nominal.min(peak));
            lower += i64::from(limits.lower);
            least += i64::from(limits.current);
            items.push(Item {
                lower: f64::from(limits.current),
                upper: f64::from(limits.upper),
                target: f64::from(limits.current).max(period.smoothed),
            });
        }
        let mut given = if rest > least {
            allocate(as_float(nominal), &items).into_iter()
        } else {
            // Too little for what all need at least: each gets its lower bound and a part of the rest.
            let part = if rest > lower {
                as_float(rest - lower) / as_float(least - lower)
            } else {
                0.0
            };
            let limited = self.levels.values();
            let limited = limited.filter(|level| level.config.kind != Kind::Exempt);
            let given: Vec<f64> = limited
                .map(|level| {
                    let lower = f64::from(level.limits.lower);
                    lower + (f64::from(level.limits.current) - lower) * part
                })
                .collect();
            given.into_iter()
        };
        let mut dispatched = Vec::new();
        for level in self.levels.values_mut() {
            if level.config.kind != Kind::Exempt {
                level.limits.current = given.next().map_or(0, rounded);
            }
            let current = level.limits.current;
            let config = &level.config;
            dispatched.append(&mut level.queues.configure(config.kind, current, now));
        }
        dispatched
    }
}

impl<W> Level<W> {
    /// Most seats of one request: few enough that every queue of a hand can be served.
    fn width_max(&self) -> u32 {
        let Kind::Queue(queuing) = self.config.kind else {
            return SEATS_MAX;
        };
        let nominal = self.limits.nominal;
        let percent = narrow((u64::from(nominal) * WIDTH_PERCENT).div_ceil(100));
        percent
            .min(nominal / queuing.hand_size.max(1))
            .clamp(1, SEATS_MAX)
    }

    fn report(&self) -> LevelReport {
        let Counts {
            waiting,
            executing,
            seats_in_use,
            dispatched,
            rejected,
            cancelled,
            ..
        } = self.queues.counts();
        LevelReport {
            name: self.config.name.clone(),
            is_quiescing: self.is_quiescing,
            limits: Limits {
                current: self.queues.seats(),
                ..self.limits
            },
            waiting,
            executing,
            seats_in_use,
            dispatched,
            rejected,
            cancelled,
            queues: self.queues.reports().collect(),
        }
    }
}

fn percentage(of: u32, percent: u32) -> u32 {
    narrow((u64::from(of) * u64::from(percent) + 50) / 100)
}

fn narrow(seats: u64) -> u32 {
    u32::try_from(seats).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "seats are far fewer than 2^52")]
fn as_float(seats: i64) -> f64 {
    seats as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the conversion saturates"
)]
fn rounded(seats: f64) -> u32 {
    seats.round() as u32
}
