//! The [`Store`] trait.

use std::pin::Pin;

use bytes::Bytes;
use lockstep_mvcc::{CheckedTxn, LeaseId, LeaseTtl, Range, RangeResponse, Revision, TxnResponse};

use crate::{ReadFailure, Watch, WatchRequest, WriteFailure};

/// Boxed future of the store's methods, because the store is chosen at startup and used as `dyn Store`.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Consistency level of a read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consistency {
    /// The read sees every write acknowledged before it started.
    Linearizable,
    /// The read sees a state not older than one this store object returned before.
    Serializable,
}

/// A lease that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrantedLease {
    /// Lease id, chosen by the store.
    pub id: LeaseId,
    /// Effective TTL, which may be longer than requested.
    pub ttl_seconds: i64,
}

/// Status of a lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseStatus {
    /// The TTL that was granted.
    pub granted_ttl_seconds: i64,
    /// Remaining TTL in whole seconds.
    pub remaining_seconds: u64,
    /// Attached keys, in key order.
    pub keys: Vec<Bytes>,
}

/// A key-value store with etcd's semantics. The crate documentation states the contract.
///
/// Dropping the future of a write has the effect of [`WriteFailure::Uncertain`].
pub trait Store: Send + Sync + 'static {
    /// Reads a key, a page of a list, or a count.
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>>;

    /// Runs a transaction: writes, or several reads at one revision.
    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>>;

    /// Starts a watch. A compacted start revision is reported by the first message.
    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>>;

    /// The current revision, without reading a key.
    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>>;

    /// Bytes on disk; a store without a disk counts its keys and values.
    ///
    /// A metric, not an exact size: recent writes may be missing, and space of deleted keys may never be reclaimed.
    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>>;

    /// Reason why the store refuses all writes at present, for example a full disk; none if it accepts them, or does not
    /// know.
    fn write_outage(&self) -> Option<String> {
        None
    }

    /// Discards versions that were superseded before a revision.
    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>>;

    /// Grants a lease.
    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>>;

    /// Revokes a lease and deletes its keys.
    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>>;

    /// Renews a lease and returns its TTL; `None` if it does not exist or has expired.
    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>>;

    /// Status of a lease; `None` if it does not exist.
    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>>;
}
