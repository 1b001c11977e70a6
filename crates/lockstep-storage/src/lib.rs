//! Storage interface of the API server: the contract of all stores, and a test suite for it.
//!
//! # The contract
//!
//! A [`Store`] holds key-value pairs with etcd's semantics. Requests and responses are the types of
//! [`lockstep_mvcc`], so that edge cases mean the same in every store.
//!
//! **Order.** All writes of a store form one sequence, numbered by [`Revision`]. An acknowledged write is in it
//! permanently, at a revision of its own. A write that failed with [`WriteFailure::Uncertain`] is in it at most
//! once.
//!
//! **Writes.** [`Store::txn`] is the only way to write. All compares of a transaction are evaluated on one state,
//! and all operations of the branch that runs are applied at one revision or not at all. Both branches may read, so
//! a failed compare returns the state that made it fail. [`GuardedWrite`] builds the transactions of the API
//! server: a precondition on the object, and fences on other keys.
//!
//! **Reads.** A linearizable read sees every write that any client had acknowledged before the read started. A
//! serializable read sees some state of the sequence, not older than one this store object returned before. A read
//! at a revision returns exactly that state or fails with [`ReadError::Compacted`] or
//! [`ReadError::FutureRevision`]. Responses share key-values with the store; nothing is copied.
//!
//! **Pagination.** A truncated list continues at the revision of its first page, see [`next_page`]. `count` is the
//! number of keys in the requested range, regardless of the limit.
//!
//! **Watches.** A watch delivers every matching event from its start revision on: in order, once, without a gap,
//! all events of one revision in one message. Progress `R` means that everything up to `R` was delivered. A watch
//! never blocks writers and has no unbounded queue: a reader that falls behind the compacted history gets
//! [`WatchError::Compacted`], which ends the watch.
//!
//! **Leases.** The keys of a lease are deleted at one revision when it is revoked or expires, which is never
//! earlier than its TTL after the last keep-alive.
//!
//! **Compaction.** After [`Store::compact`] the compacted revision itself stays readable, and a watch may start at
//! it.
//!
//! **Size.** [`Store::size`] includes written data with a short delay.
//!
//! The suite in `contract` (feature `contract`) has one test for each rule, which cites its section of the
//! specification.

mod live;
mod memory;
mod page;
mod store;
mod watch;

#[cfg(feature = "contract")]
pub mod contract;

pub use live::{Backlog, Live};
pub use lockstep_mvcc::{
    Batch, Bounds, BucketKey, CheckedTxn, Claim, CompactionPlan, Compare, Comparison, Content,
    DeleteRange, Event, EventKind, Expected, ExtraWrite, Fence, Filters, GuardedOp, GuardedOutcome,
    GuardedWrite, Key, KeyRange, KeyValue, LeaseId, LeaseTtl, Limits, Millis, Op, OpResponse,
    Predicate, Previous, Put, PutLease, PutResponse, PutValue, Range, RangeResponse,
    RangeUnchanged, ReadError, ReadFailure, RequestError, Revision, Sort, SortOrder, SortTarget,
    Txn, TxnResponse, Unavailable, WatchSelector, WriteError, WriteFailure, compacted_revision,
    compaction_key,
};
pub use memory::MemoryStore;
pub use page::next_page;
pub use store::{Consistency, GrantedLease, LeaseStatus, Store, StoreFuture};
pub use watch::{Watch, WatchError, WatchMessage, WatchRequest, WatchSource};
