//! The MVCC machine: one deterministic state machine with etcd's semantics, behind every store.
//!
//! [`Machine`] holds keys, their kept history, leases and the watch history. Whoever owns it hands in
//! [`Command`]s one after the other through [`Machine::apply`] and reads with [`Machine::range`],
//! [`Machine::read_txn`] and [`Machine::events`]. It never looks at a clock, a file, a socket or a
//! random number, so the same commands give byte-identical state ([`Machine::encode`]) on every
//! member, for ever.
//!
//! Three things are left to the owner, because they differ between a test, one process and a
//! cluster:
//!
//! - **time**: [`LeaseClock`] is told the time and answers which leases to revoke; revoking is a
//!   [`Command`] like any other;
//! - **limits that a flag may change** ([`Limits`]): they are checked when a request arrives
//!   ([`Txn::check`], [`LeaseTtl::granted`]), never while a command is applied, since a command that
//!   was once accepted must apply the same way after a restart with other flags;
//! - **waiting**: a watcher is a position in the history; waking up its reader is the owner's work.
//!
//! Keys and values are [`bytes::Bytes`] and pairs are shared by [`std::sync::Arc`]: reading copies
//! no value.

mod bucket;
mod error;
mod keys;
mod pair;
mod revision;

mod request;
mod response;
mod txn;

mod alarms;
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
pub use error::{Code, ReadError, RequestError, WriteError};
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
