//! The trait.

use std::pin::Pin;

use bytes::Bytes;
use lockstep_mvcc::{CheckedTxn, LeaseId, LeaseTtl, Range, RangeResponse, Revision, TxnResponse};

use crate::{ReadFailure, Watch, WatchRequest, WriteFailure};

/// What a store's methods return: the trait is used as `dyn Store`, since the store is chosen when
/// the program starts.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Which state a read may see.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consistency {
    /// One with every write that was acknowledged before the read was asked for.
    Linearizable,
    /// Any that is not older than what this store object showed before.
    Serializable,
}

/// A lease that was granted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GrantedLease {
    /// Chosen by the store.
    pub id: LeaseId,
    /// The TTL that counts, which may be longer than what was asked for.
    pub ttl_seconds: i64,
}

/// A lease as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseStatus {
    /// The TTL that was granted.
    pub granted_ttl_seconds: i64,
    /// What is left of it, in whole seconds.
    pub remaining_seconds: u64,
    /// The keys that hang on it, in key order.
    pub keys: Vec<Bytes>,
}

/// A store. The contract is on the crate's page.
///
/// A future that is dropped before it is done leaves a write as uncertain as
/// [`WriteFailure::Uncertain`] does.
pub trait Store: Send + Sync + 'static {
    /// Reads: one key, a page of a list, or a count.
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>>;

    /// Writes, or reads several things at one revision.
    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>>;

    /// Follows changes. That the history is gone is told by the first message.
    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>>;

    /// The revision of the newest state, without reading a key.
    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>>;

    /// How many bytes the store takes on its disk; one without a disk counts its keys and values.
    ///
    /// For people who watch it grow: what was written a moment ago may not be in it yet, and what
    /// was deleted may be in it for ever.
    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>>;

    /// Forgets what was overwritten or deleted before a revision.
    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>>;

    /// Makes a lease.
    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>>;

    /// Ends a lease and deletes its keys.
    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>>;

    /// Gives a lease its full TTL again and answers with it; none if there is no such lease or it
    /// has expired.
    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>>;

    /// A lease as it is now; none if there is no such lease.
    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>>;
}
