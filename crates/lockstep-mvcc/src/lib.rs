//! The MVCC machine: one deterministic state machine with etcd's semantics, behind every store.
//!
//! [`Machine`] holds keys, their retained history, leases and alarms. Its owner applies [`Command`]s sequentially
//! with [`Machine::apply`] and reads with [`Machine::range`], [`Machine::read_txn`] and [`Machine::events`]. It
//! uses no clock, file, socket or random number, so equal commands give byte-identical state ([`Machine::encode`])
//! on every member.
//!
//! Three concerns are left to the owner, because they differ between a test, one process and a cluster:
//!
//! - **time**: [`LeaseClock`] receives the time and returns the leases to revoke; revoking is a [`Command`] like
//!   any other;
//! - **configurable limits** ([`Limits`]): they are checked when a request arrives ([`Txn::check`],
//!   [`LeaseTtl::granted`]), never while a command is applied, because a logged command must apply unchanged after
//!   a restart with other flags;
//! - **waiting**: a watcher is a position in the history; the owner wakes its reader.
//!
//! Keys and values are [`bytes::Bytes`], and versions are shared by [`std::sync::Arc`]: reads copy no value.

mod bucket;
mod error;
mod failure;
mod guarded;
mod keys;
mod pair;
mod revision;

mod request;
mod response;
mod txn;

mod alarms;
mod compaction;
mod duplicates;
mod history;
mod index;
mod leases;
mod machine;
mod paths;
mod range;
mod sweep;
mod watch;
mod write;

mod canonical;
mod encoded;
mod lease_clock;
mod reader;
mod restore;

pub use alarms::{Alarm, AlarmKind, MemberId};
pub use bucket::BucketKey;
pub use canonical::{DecodeError, StateHash};
pub use compaction::{COMPACTION_KEY, Claim, CompactionPlan, compacted_revision, compaction_key};
pub use error::{Code, ReadError, RequestError, WriteError};
pub use failure::{ReadFailure, Unavailable, WriteFailure};
pub use guarded::{
    Expected, ExtraWrite, Fence, GuardedOp, GuardedOutcome, GuardedWrite, RangeUnchanged,
};
pub use keys::{Key, KeyRange};
pub use lease_clock::{LeaseClock, Millis};
pub use leases::{Lease, LeaseTtl};
pub use machine::Machine;
pub use pair::KeyValue;
pub use reader::Malformed;
pub use request::{
    Bounds, Command, Content, DeleteRange, Previous, Put, PutLease, PutValue, Range, Sort,
    SortOrder, SortTarget,
};
pub use response::{
    Applied, DeleteRangeResponse, Effect, OpResponse, PutResponse, RangeResponse, Response,
    TxnResponse,
};
pub use restore::Restore;
pub use revision::{LeaseId, Revision};
pub use sweep::Sweep;
pub use txn::{
    CheckedTxn, Compare, Comparison, Limits, Op, Predicate, ReadTxn, TXN_DEPTH_MAX, Txn,
};
pub use watch::{Batch, Budget, Event, EventKind, Filters, WatchCompacted, WatchSelector};
