//! Deterministic simulator of clusters of the replicated store.
//!
//! [`run`] runs a whole cluster in one thread from one seed: members with simulated disks, networks, clocks and
//! processes, clients and watchers, and faults of all of them. Equal plans give equal runs, event by event. At the end
//! everything heals; then the members must agree, and the history of all requests must be linearizable.
//!
//! ```text
//! world       the event loop; hosts with their disks and processes
//! ├ nemesis   which fault comes next
//! ├ clients   random requests and their recorded outcomes
//! ├ watchers  watches that end, resume and are recorded
//! └ planted   bugs on purpose, which must be found
//! invariants  rules that hold in every run
//! ```

mod clients;
mod disk;
mod host;
mod invariants;
mod nemesis;
mod network;
mod planted;
mod watchers;
mod world;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use planted::Bug;

/// Parameters of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Seed of everything random.
    pub seed: u64,
    /// Number of clients, each with one request at a time.
    pub clients: usize,
    /// Number of watchers.
    pub watchers: usize,
    /// Virtual milliseconds with faults.
    pub faulty_millis: u64,
    /// A bug to plant.
    pub bug: Option<Bug>,
}

impl Plan {
    /// A run of half a minute of virtual time.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            clients: 4,
            watchers: 3,
            faulty_millis: 30_000,
            bug: None,
        }
    }
}

/// Numbers of a run that kept every rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Digest of all events, in order.
    pub digest: u32,
    /// Number of events.
    pub events: u64,
    /// The last index that all members applied.
    pub index: u64,
    /// Requests and watch messages that were checked.
    pub checked: usize,
    /// Times a process was ended by a crash or by the loss of power.
    pub crashes: u64,
    /// Snapshots that were installed.
    pub snapshots: u64,
    /// Terms that had a leader.
    pub elections: u64,
    /// Changes of the membership.
    pub changes: u64,
}

/// A run that broke a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// The rule.
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, what } = self;
        write!(
            f,
            "seed {seed}: {what}\nrepeat with `cargo xtask sim --seeds 1 --seed {seed}`"
        )
    }
}

/// Runs a plan to its end. A panic of a member is a failure like any other.
pub fn run(plan: Plan) -> Result<Report, Failure> {
    let outcome = catch_unwind(AssertUnwindSafe(|| world::World::new(plan).run()));
    let outcome = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Err(format!("a panic: {}", text.unwrap_or_default()))
    });
    outcome.map_err(|what| Failure {
        seed: plan.seed,
        what,
    })
}
