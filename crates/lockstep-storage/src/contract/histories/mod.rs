//! Histories: what concurrent clients asked and were told, and whether one store can have said it.
//!
//! [`record`] lets clients and watchers loose on a store; [`check`] looks at what they wrote down.
//! Every answer carries the revision that it speaks of, so the order of the writes is known, and
//! only writes of uncertain outcome have to be searched for their place. Checked is that
//!
//! - each revision was made by one request, and every answer is what a small model of the store
//!   says at its revision;
//! - the order of revisions agrees with the order in which requests followed each other;
//! - watches keep the guarantees that are listed under [`Guarantee`].
//!
//! The store must be used by nobody else meanwhile.
//!
//! ```text
//! for seed in seeds("my store", 10) {
//!     let history = histories::record(&[store()], Plan::new(seed)).await;
//!     histories::check(&history).expect("one store can have said it");
//! }
//! ```

mod clients;
mod dice;
mod model;
mod order;
mod watchers;
mod watches;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockstep_mvcc::{Range, RangeResponse, Revision, Txn, TxnResponse, WatchSelector};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{Consistency, Store, WatchMessage};
use clients::Client;
use dice::Dice;
pub use dice::seeds;

/// What to do to a store.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// What all choices follow from.
    pub seed: u64,
    /// How many clients ask at the same time.
    pub clients: usize,
    /// How often each of them asks.
    pub requests_each: usize,
    /// How many watchers there are.
    pub watchers: usize,
    /// Whether clients give up on some of their writes. The store must then carry out what was
    /// given up before anything that is asked later, or never.
    pub abandon: bool,
}

impl Plan {
    /// A history that takes a moment.
    pub fn new(seed: u64) -> Self {
        Self {
            seed,
            clients: 6,
            requests_each: 60,
            watchers: 5,
            abandon: true,
        }
    }
}

/// Everything that was asked and told.
#[derive(Debug)]
pub struct History {
    /// The revision before the first request. There is no key under the clients' prefix then.
    pub start: Revision,
    /// The revision after the last one.
    pub end: Revision,
    /// All requests.
    pub requests: Vec<Asked>,
    /// All watches.
    pub watches: Vec<Watched>,
}

/// A request and what became of it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Which of the stores was asked.
    pub store: usize,
    /// When, on a clock that counts requests and answers.
    pub at: u64,
    /// When the answer came; never if the outcome is uncertain.
    pub answered_at: Option<u64>,
    /// What was asked.
    pub request: Request,
    /// What was told.
    pub outcome: Outcome,
}

/// What can be asked.
#[derive(Clone, Debug)]
pub enum Request {
    /// A transaction.
    Txn(Txn),
    /// A read.
    Range(Range, Consistency),
    /// A compaction.
    Compact(Revision),
}

/// What can be told.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The answer to a transaction.
    Txn(TxnResponse),
    /// The answer to a read.
    Range(RangeResponse),
    /// Nothing was done and nothing will be.
    Refused,
    /// It may have been done once.
    Uncertain,
    /// It was done and says nothing more.
    Done,
}

/// A watch from its start to its end.
#[derive(Clone, Debug)]
pub struct Watched {
    /// What it asked for.
    pub selector: WatchSelector,
    /// Its first revision.
    pub from: Revision,
    /// What it was told, and when.
    pub messages: Vec<(u64, WatchMessage)>,
}

/// What a store promises and a history can disprove.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Guarantee {
    /// One request made each revision.
    OneWriteARevision,
    /// Answers are those of one store that carries out one request after the other.
    Sequential,
    /// That order agrees with real time.
    RealTime,
    /// Events of a watch come in the order of their revisions.
    Ordered,
    /// No event comes twice.
    Unique,
    /// No event is left out, also where a watch goes on from where another one stopped.
    Reliable,
    /// All events of a revision come in one message.
    Atomic,
    /// After progress `R`, no event at or before `R` comes.
    Bookmarkable,
    /// The version before is the one that was there.
    PrevKv,
    /// An event is a creation if the key was not there.
    IsCreate,
    /// Only what was asked for comes.
    Filter,
}

/// A guarantee that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which.
    pub guarantee: Guarantee,
    /// How, for people.
    pub what: String,
}

impl Violation {
    fn new(guarantee: Guarantee, what: impl Into<String>) -> Self {
        let what = what.into();
        Self { guarantee, what }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.guarantee, self.what)
    }
}

/// How often the last write of a history is tried.
const LAST_WRITES_MAX: usize = 10;

/// Counts requests and answers: one that came before another has the smaller number.
#[derive(Clone, Default)]
struct Ticks(Arc<AtomicU64>);

impl Ticks {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Lets clients and watchers loose on a store, which may be reached in several ways. Panics if the
/// store does not answer at all.
pub async fn record(stores: &[Arc<dyn Store>], plan: Plan) -> History {
    let ticks = Ticks::default();
    let mut dice = Dice::new(plan.seed);
    let first = &stores[0];
    let revision = first.revision(Consistency::Linearizable).await;
    let start = revision.expect("the store tells its revision");
    let (ended, end) = watch::channel(None);
    let mut watching = JoinSet::new();
    for nth in 0..plan.watchers {
        let store = stores[nth % stores.len()].clone();
        let dice = dice.fork();
        watching.spawn(watchers::follow(
            store,
            ticks.clone(),
            dice,
            start,
            end.clone(),
        ));
    }
    let mut asking = JoinSet::new();
    let mut client = |name: usize| {
        let nth = name % stores.len();
        let store = (nth, stores[nth].clone());
        Client::new(name, store, ticks.clone(), dice.fork(), start)
    };
    for name in 0..plan.clients {
        let mut client = client(name);
        client.abandons = plan.abandon;
        asking.spawn(client.run(plan.requests_each));
    }
    let mut last = client(plan.clients);
    let mut requests: Vec<_> = asking.join_all().await.into_iter().flatten().collect();
    // A last write: what was given up is carried out before it, or never.
    // A store that dies of it is asked again.
    for _ in 0..LAST_WRITES_MAX {
        let asked = last.put_last().await;
        let is_done = matches!(asked.outcome, Outcome::Txn(_));
        requests.push(asked);
        if is_done {
            break;
        }
    }
    let revision = first.revision(Consistency::Linearizable).await;
    let end = revision.expect("the store tells its revision");
    ended.send_replace(Some(end));
    let watches = watching.join_all().await.into_iter().flatten().collect();
    History {
        start,
        end,
        requests,
        watches,
    }
}

/// Everything that one store cannot have said. Answers with the number of requests and events that
/// were found right.
pub fn check(history: &History) -> Result<usize, Vec<Violation>> {
    let mut violations = order::real_time(history);
    match order::states(history) {
        Ok(states) => violations.extend(watches::check(history, &states)),
        Err(violation) => violations.push(violation),
    }
    if !violations.is_empty() {
        return Err(violations);
    }
    let messages = history.watches.iter().map(|watched| watched.messages.len());
    Ok(history.requests.len() + messages.sum::<usize>())
}
