//! The store behind the API server: what every store promises, and a way to prove it.
//!
//! # The contract
//!
//! A [`Store`] keeps pairs of opaque bytes under etcd's rules. Requests and answers are the words
//! of [`lockstep_mvcc`], so that no store translates another's corner cases.
//!
//! **Order.** All writes of a store form one sequence, numbered by [`Revision`]. A write that was
//! acknowledged is in it for ever, at one place, under a revision that no other write has. A write
//! whose outcome is [`WriteFailure::Uncertain`] is in it once or never.
//!
//! **Writes.** [`Store::txn`] is the only way to write. All compares are judged on one state, and
//! all operations of the branch that runs happen at one revision, or none of them. Both branches
//! may read, so a failed compare answers with the state that made it fail. [`GuardedWrite`] builds
//! the transactions of the API server: an expectation on the object, and fences on other keys.
//!
//! **Reads.** A linearizable read sees every write that was acknowledged before the read was
//! asked for, whoever asked for the write. A serializable one sees some state of the sequence, not
//! older than what the same store object showed before. A read at a revision sees exactly that
//! state or fails: [`ReadError::Compacted`], [`ReadError::FutureRevision`]. The pairs of an answer
//! are shared with the store: nothing is copied to serve them.
//!
//! **Pages.** A list that was cut off goes on at the revision of its first page, see [`next_page`].
//! `count` is the number of keys in the asked range, whatever the limit.
//!
//! **Watches.** A watch delivers every matching change from its first revision on: in order, once,
//! without a gap, all changes of one revision in one message. Progress `R` means that everything
//! up to `R` was delivered. A watch never slows a writer down and holds no queue that grows: a
//! reader that is too slow for the history that is kept gets [`WatchError::Compacted`], and the
//! watch is over.
//!
//! **Leases.** The keys of a lease are deleted at one revision when it is revoked or expires, not
//! before its TTL has passed since the last keep-alive.
//!
//! **Compaction.** After [`Store::compact`] the compacted revision itself stays readable, and a
//! watch may start at it.
//!
//! **Size.** [`Store::size`] reaches what was written and is kept, a little later.
//!
//! The suite in `contract` (feature `contract`) states each rule as a test, named after its row.

mod failure;
mod guarded;
mod live;
mod memory;
mod page;
mod store;
mod watch;

#[cfg(feature = "contract")]
pub mod contract;

pub use failure::{ReadFailure, Unavailable, WriteFailure};
pub use guarded::{Beside, Ceiling, Expected, Fence, GuardedWrite, Outcome, Written};
pub use live::{Backlog, Live};
pub use lockstep_mvcc::{
    Batch, Bounds, BucketKey, CheckedTxn, Compare, Comparison, Content, DeleteRange, Event,
    EventKind, Filters, Key, KeyRange, KeyValue, LeaseId, LeaseTtl, Limits, Millis, Op, OpResponse,
    Predicate, Previous, Put, PutLease, PutResponse, PutValue, Range, RangeResponse, ReadError,
    RequestError, Revision, Sort, SortOrder, SortTarget, Txn, TxnResponse, WatchSelector,
    WriteError,
};
pub use memory::MemoryStore;
pub use page::next_page;
pub use store::{Consistency, GrantedLease, LeaseStatus, Store, StoreFuture};
pub use watch::{Watch, WatchError, WatchMessage, WatchRequest, WatchSource};
