//! In-memory store without persistence.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use lockstep_mvcc::{
    Applied, CheckedTxn, Command, KeyRange, LeaseId, LeaseTtl, Limits, Machine, Millis, Range,
    RangeResponse, Response, Revision, Sweep, TxnResponse, WriteError,
};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::{
    Consistency, GrantedLease, LeaseStatus, Live, ReadFailure, Store, StoreFuture, Watch,
    WatchRequest, WriteFailure,
};

/// Rate limit of lease expiry, so that mass expiry does not block other writes.
const REVOKES_PER_SECOND_MAX: usize = 1000;

/// In-memory store, for tests and evaluation.
pub struct MemoryStore {
    shared: Arc<Shared>,
    limits: Limits,
    last_lease: AtomicI64,
    /// Task that revokes expired leases; aborted when the store is dropped.
    _expirer: JoinSet<()>,
}

struct Shared {
    live: Arc<Live>,
    started: Instant,
    /// Signals a new lease, which may have the next deadline.
    granted: Notify,
}

impl MemoryStore {
    /// Creates an empty store. Must be called inside a tokio runtime with time enabled.
    pub fn start(limits: Limits) -> Self {
        let shared = Arc::new(Shared {
            live: Live::new(Machine::default(), Millis::default()),
            started: Instant::now(),
            granted: Notify::new(),
        });
        let mut expirer = JoinSet::new();
        expirer.spawn(expire_leases(shared.clone()));
        Self {
            shared,
            limits,
            last_lease: AtomicI64::default(),
            _expirer: expirer,
        }
    }

    fn apply(&self, command: Command) -> Applied {
        self.shared.live.apply(command, self.shared.now())
    }
}

impl Shared {
    fn now(&self) -> Millis {
        let elapsed = self.started.elapsed().as_millis();
        Millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }
}

async fn expire_leases(shared: Arc<Shared>) {
    loop {
        let Some(next) = shared.live.next_lease_deadline() else {
            shared.granted.notified().await;
            continue;
        };
        let deadline = shared.started + Duration::from_millis(next.0);
        let granted = tokio::time::timeout_at(deadline, shared.granted.notified());
        if granted.await.is_ok() {
            continue;
        }
        let now = shared.now();
        let expired = shared.live.expired_leases(now, REVOKES_PER_SECOND_MAX);
        let is_pile = expired.len() == REVOKES_PER_SECOND_MAX;
        for id in expired {
            // The lease may be gone already if a client revoked it.
            shared.live.apply(Command::LeaseRevoke { id }, now);
        }
        if is_pile {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

impl Store for MemoryStore {
    fn range(
        &self,
        range: Range,
        _consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        Box::pin(async move { Ok(self.shared.live.range(&range)?) })
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        Box::pin(async move {
            if let Some(read) = txn.as_read_only() {
                let answer = self.shared.live.read_txn(read);
                return answer.map_err(|error| WriteError::Read(error).into());
            }
            match self.apply(Command::Txn(txn)).response? {
                Response::Txn(answer) => Ok(answer),
                other => unreachable!("a transaction was answered by {other:?}"),
            }
        })
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(async move { Ok(self.shared.live.watch(request)) })
    }

    fn revision(
        &self,
        _consistency: Consistency,
    ) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        Box::pin(async move { Ok(self.shared.live.revision()) })
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        Box::pin(async move {
            let pairs = self.shared.live.range(&Range::new(KeyRange::all()))?.kvs;
            let bytes = pairs.iter().map(|kv| kv.key.len() + kv.value.len());
            Ok(bytes.map(|bytes| bytes as u64).sum())
        })
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(async move {
            self.apply(Command::Compact { at }).response?;
            while self.shared.live.sweep(|_| {}) == Sweep::More {
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        Box::pin(async move {
            let ttl_seconds = ttl.granted(&self.limits)?;
            let id = LeaseId(self.last_lease.fetch_add(1, Ordering::Relaxed) + 1);
            self.apply(Command::LeaseGrant { id, ttl_seconds })
                .response?;
            self.shared.granted.notify_one();
            Ok(GrantedLease { id, ttl_seconds })
        })
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(async move {
            self.apply(Command::LeaseRevoke { id }).response?;
            Ok(())
        })
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        Box::pin(async move { Ok(self.shared.live.keep_lease_alive(id, self.shared.now())) })
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        Box::pin(async move { Ok(self.shared.live.lease(id, self.shared.now())) })
    }
}
