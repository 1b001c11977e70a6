//! Linearizability tests: histories of concurrent requests, checked against a model of one store.
//!
//! [`record`] runs clients and watchers against a store; [`check`] verifies the responses and events they recorded.
//! Every response carries its revision, so the order of writes is known, and only writes with an uncertain outcome
//! have to be placed by search. The checks are that
//!
//! - each revision was created by one request, and every response equals the model's at that revision;
//! - the order of revisions agrees with real time: a request that started after another was answered comes later;
//! - watches keep the guarantees listed under [`Guarantee`].
//!
//! No other client may write to the store during a recording. [`check`] also takes histories that something else
//! recorded, such as a simulator.
//!
//! ```text
//! for seed in seeds("my store", 10) {
//!     let history = histories::record(&[store()], Plan::new(seed)).await;
//!     histories::check(&history).expect("the history is linearizable");
//! }
//! ```

mod clients;
mod model;
mod order;
mod rng;
mod watchers;
mod watches;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lockstep_mvcc::{LeaseId, Range, RangeResponse, Revision, Txn, TxnResponse, WatchSelector};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::{Consistency, Store, WatchMessage};
use clients::Client;
pub use rng::{Rng, seeds};

/// Parameters of a recorded run.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of concurrent clients.
    pub clients: usize,
    /// Number of requests sent by each client.
    pub requests_each: usize,
    /// Number of watchers.
    pub watchers: usize,
    /// True if clients drop the futures of some writes. A store must then apply an abandoned write before any
    /// request that is sent later, or never.
    pub abandon: bool,
}

impl Plan {
    /// A run that takes less than a second.
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

/// All requests and watch messages of a run.
#[derive(Debug)]
pub struct History {
    /// The revision before the first request. No key exists under the clients' prefix at that point.
    pub start: Revision,
    /// The revision after the last request.
    pub end: Revision,
    /// All requests.
    pub requests: Vec<RecordedRequest>,
    /// All watches.
    pub watches: Vec<RecordedWatch>,
}

/// A recorded request with its outcome.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Index of the store (endpoint) that received the request.
    pub store: usize,
    /// Logical time of the request; requests and responses share one counter.
    pub at: u64,
    /// Logical time of the response; `None` if the outcome is uncertain.
    pub answered_at: Option<u64>,
    /// The request.
    pub request: Request,
    /// Its outcome.
    pub outcome: Outcome,
}

/// Kinds of requests in a history.
#[derive(Clone, Debug)]
pub enum Request {
    /// A transaction.
    Txn(Txn),
    /// A read.
    Range(Range, Consistency),
    /// A compaction.
    Compact(Revision),
    /// The grant of a lease with an id that is unique in the history. It may expire at any time after, once.
    Grant(LeaseId),
    /// The revocation of a lease.
    Revoke(LeaseId),
}

/// Outcomes of a request.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Response to a transaction.
    Txn(TxnResponse),
    /// Response to a read.
    Range(RangeResponse),
    /// The store rejected the request and will not apply it.
    Refused,
    /// The write may have been applied, at most once.
    Uncertain,
    /// The store succeeded without a response body.
    Done,
    /// The revocation of a lease deleted keys at this revision.
    Revoked(Revision),
}

/// A recorded watch from start to end.
#[derive(Clone, Debug)]
pub struct RecordedWatch {
    /// Keys and filters of the watch.
    pub selector: WatchSelector,
    /// The first revision of the watch.
    pub from: Revision,
    /// Received messages with their logical times.
    pub messages: Vec<(u64, WatchMessage)>,
}

/// Guarantees that a history can disprove; those of watches have etcd's names.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Guarantee {
    /// Each revision was created by one request.
    OneWriteARevision,
    /// Responses are those of one store that executes requests sequentially.
    Sequential,
    /// The sequential order agrees with real time.
    RealTime,
    /// Events of a watch are ordered by revision.
    Ordered,
    /// No event is delivered twice.
    Unique,
    /// No event is missing, also where one watch resumes after another.
    Reliable,
    /// All events of a revision come in one message.
    Atomic,
    /// After progress `R`, no event at or before `R` is delivered.
    Bookmarkable,
    /// The previous key-value of an event is the one that was stored before it.
    PrevKv,
    /// An event is a creation exactly if the key did not exist.
    IsCreate,
    /// Only events that match the watch's range and filters are delivered.
    Filter,
}

/// A broken guarantee.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The guarantee.
    pub guarantee: Guarantee,
    /// Description for the test's output.
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

/// Attempts of the final write, for stores that crash during a run.
const LAST_WRITES_MAX: usize = 10;

/// Logical clock of requests and responses.
#[derive(Clone, Default)]
struct Ticks(Arc<AtomicU64>);

impl Ticks {
    fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::SeqCst)
    }
}

/// Runs clients and watchers against a store, which may be reached through several endpoints. Panics if the store
/// never answers.
pub async fn record(stores: &[Arc<dyn Store>], plan: Plan) -> History {
    let ticks = Ticks::default();
    let mut rng = Rng::new(plan.seed);
    let first = &stores[0];
    let revision = first.revision(Consistency::Linearizable).await;
    let start = revision.expect("the store tells its revision");
    let (ended, end) = watch::channel(None);
    let mut watching = JoinSet::new();
    for nth in 0..plan.watchers {
        let store = stores[nth % stores.len()].clone();
        let rng = rng.fork();
        watching.spawn(watchers::follow(
            store,
            ticks.clone(),
            rng,
            start,
            end.clone(),
        ));
    }
    let mut running = JoinSet::new();
    let mut client = |name: usize| {
        let nth = name % stores.len();
        let store = (nth, stores[nth].clone());
        Client::new(name, store, ticks.clone(), rng.fork(), start)
    };
    for name in 0..plan.clients {
        let mut client = client(name);
        client.abandons = plan.abandon;
        running.spawn(client.run(plan.requests_each));
    }
    let mut last = client(plan.clients);
    let mut requests: Vec<_> = running.join_all().await.into_iter().flatten().collect();
    // The final write is a barrier: abandoned writes are applied before it or never. It is retried because the
    // store may crash on it.
    for _ in 0..LAST_WRITES_MAX {
        let recorded = last.put_last().await;
        let is_done = matches!(recorded.outcome, Outcome::Txn(_));
        requests.push(recorded);
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

/// Verifies a history. Returns the number of requests and events checked, or every violation.
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
