//! A store that crashes repeatedly and is reopened by the next failed call.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lockstep_storage::{
    CheckedTxn, Consistency, GrantedLease, LeaseId, LeaseStatus, LeaseTtl, Range, RangeResponse,
    ReadFailure, Revision, Store, StoreFuture, TxnResponse, Unavailable, Watch, WatchError,
    WatchMessage, WatchRequest, WatchSource, WriteFailure,
};
use lockstep_storage_embedded::{EmbeddedStore, Faults, Options, Step};
use parking_lot::Mutex;
use tokio::sync::{RwLock, watch};

use crate::rng::{Rng, fast_folder};

pub(super) struct Reopening {
    folder: tempfile::TempDir,
    store: RwLock<Option<EmbeddedStore>>,
    rng: Mutex<Rng>,
    /// Counts restarts; watches of an earlier one end.
    lives: watch::Sender<u64>,
}

impl Reopening {
    pub(super) fn new(seed: u64) -> Self {
        let reopening = Self {
            folder: fast_folder(),
            store: RwLock::new(None),
            rng: Mutex::new(Rng::new(seed)),
            lives: watch::Sender::new(0),
        };
        let first = reopening.open();
        Self {
            store: RwLock::new(Some(first)),
            ..reopening
        }
    }

    pub(super) fn lives(&self) -> u64 {
        *self.lives.borrow() + 1
    }

    fn open(&self) -> EmbeddedStore {
        loop {
            let (step, nth) = {
                let mut rng = self.rng.lock();
                (Step::ALL[rng.below(Step::ALL.len())], 1 + rng.below(12))
            };
            let options = Options {
                segment_bytes: 4096,
                state_interval: Duration::from_millis(1),
                faults: Faults::dies_at(step, nth),
                ..Options::default()
            };
            // It may die while it is opened.
            if let Ok(store) = EmbeddedStore::open(self.folder.path(), &options) {
                return store;
            }
        }
    }

    /// Reopens the store unless another call did so since restart `failed`.
    async fn revive(&self, failed: u64) {
        let mut store = self.store.write().await;
        if *self.lives.borrow() == failed {
            // The old store must release the directory lock first.
            drop(store.take());
            *store = Some(self.open());
            self.lives.send_modify(|lives| *lives += 1);
        }
    }

    async fn write<T>(
        &self,
        ask: impl AsyncFnOnce(&EmbeddedStore) -> Result<T, WriteFailure>,
    ) -> Result<T, WriteFailure> {
        let guard = self.store.read().await;
        let life = *self.lives.borrow();
        let answer = ask(guard.as_ref().expect("it is open")).await;
        drop(guard);
        let is_dead = matches!(
            answer,
            Err(WriteFailure::Uncertain { .. } | WriteFailure::Unavailable(_))
        );
        if is_dead {
            self.revive(life).await;
        }
        answer
    }

    async fn read<T>(
        &self,
        ask: impl AsyncFnOnce(&EmbeddedStore) -> Result<T, ReadFailure>,
    ) -> Result<T, ReadFailure> {
        ask(self.store.read().await.as_ref().expect("it is open")).await
    }
}

impl Store for Reopening {
    fn range(
        &self,
        range: Range,
        consistency: Consistency,
    ) -> StoreFuture<'_, Result<RangeResponse, ReadFailure>> {
        Box::pin(self.read(async move |store| store.range(range, consistency).await))
    }

    fn txn(&self, txn: CheckedTxn) -> StoreFuture<'_, Result<TxnResponse, WriteFailure>> {
        Box::pin(self.write(async move |store| store.txn(txn).await))
    }

    fn watch(&self, request: WatchRequest) -> StoreFuture<'_, Result<Watch, ReadFailure>> {
        Box::pin(async move {
            let guard = self.store.read().await;
            let mut lives = self.lives.subscribe();
            let watch = guard.as_ref().expect("it is open").watch(request).await?;
            let ended = Box::pin(async move {
                // The sender is dropped with the store, which also ends the watch.
                drop(lives.changed().await);
            });
            let started_at = watch.started_at();
            Ok(Watch::new(started_at, OneLife { watch, ended }))
        })
    }

    fn revision(&self, consistency: Consistency) -> StoreFuture<'_, Result<Revision, ReadFailure>> {
        Box::pin(self.read(async move |store| store.revision(consistency).await))
    }

    fn size(&self) -> StoreFuture<'_, Result<u64, ReadFailure>> {
        Box::pin(self.read(async move |store| store.size().await))
    }

    fn compact(&self, at: Revision) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(self.write(async move |store| store.compact(at).await))
    }

    fn grant_lease(&self, ttl: LeaseTtl) -> StoreFuture<'_, Result<GrantedLease, WriteFailure>> {
        Box::pin(self.write(async move |store| store.grant_lease(ttl).await))
    }

    fn revoke_lease(&self, id: LeaseId) -> StoreFuture<'_, Result<(), WriteFailure>> {
        Box::pin(self.write(async move |store| store.revoke_lease(id).await))
    }

    fn keep_lease_alive(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<i64>, WriteFailure>> {
        Box::pin(self.write(async move |store| store.keep_lease_alive(id).await))
    }

    fn lease(&self, id: LeaseId) -> StoreFuture<'_, Result<Option<LeaseStatus>, ReadFailure>> {
        Box::pin(self.read(async move |store| store.lease(id).await))
    }
}

/// A watch that ends when the store crashes.
struct OneLife {
    watch: Watch,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl WatchSource for OneLife {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Result<WatchMessage, WatchError>> {
        if let Poll::Ready(message) = self.watch.poll_next(cx) {
            return Poll::Ready(message);
        }
        self.ended.as_mut().poll(cx).map(|()| {
            let reason = "the store died".to_owned();
            Err(WatchError::Unavailable(Unavailable { reason }))
        })
    }

    fn request_progress(&mut self) {
        self.watch.request_progress();
    }
}
