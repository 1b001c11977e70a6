//! API priority and fairness: which requests are served now, which wait, and which are refused.
//!
//! [`Classifier`] finds the flow schema and priority level of a request. [`Machine`] has the seats and queues of all
//! levels: it is given arrivals, completions, hashes and the time, and returns decisions. Nothing here waits, reads a
//! clock or draws random numbers.
//!
//! Within a level, requests of one flow share a hand of queues, dealt by the hash of the flow. Queues take turns by
//! virtual time: the seat-time that each has been given. So a flow that floods fills its own hand, and every other
//! flow is served as if it were alone with its share.

mod allocation;
mod classifier;
mod conditions;
mod demand;
mod level;
mod machine;
mod queues;
mod schema;
mod shuffle;
mod work;

pub use classifier::{Classifier, Flow};
pub use conditions::{Condition, dangling, with_condition};
pub use level::{Kind, PriorityLevel, Queuing};
pub use machine::{Arrival, LevelId, LevelReport, Limits, Lingering, Machine, Verdict};
pub use queues::{Dispatched, Place, QueueReport, Reject, Seat};
pub use schema::{Distinguisher, FlowSchema};
pub use work::{SEATS_MAX, Work, list_seats, watched_write};

/// Name of the mandatory flow schema and level whose requests are never limited.
pub const EXEMPT: &str = "exempt";
/// Name of the mandatory flow schema and level of requests that match no other schema.
pub const CATCH_ALL: &str = "catch-all";
