//! Compaction of the store: on a schedule, by one server of several ([`CompactionPlan`]).

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use lockstep_storage::{
    Claim, CompactionPlan, Consistency, KeyRange, Range, ReadError, ReadFailure, Revision, Store,
    WatchMessage, WatchRequest, WatchSelector, WriteError, WriteFailure, compacted_revision,
    compaction_key,
};

use crate::cache::Cache;

/// Pause before the compactions of other servers are followed again after a failure.
const FOLLOW_PAUSE: Duration = Duration::from_secs(1);

/// Compactor of one server.
#[derive(Clone)]
pub(crate) struct Compactor {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) cache: Cache,
    /// Time between compactions; zero means that this server compacts nothing.
    pub(crate) interval: Duration,
}

impl Compactor {
    /// Compacts, and follows the compactions of other servers; never returns.
    pub(crate) async fn run(&self) -> Infallible {
        tokio::join!(self.compact(), self.follow()).0
    }

    async fn compact(&self) -> Infallible {
        if self.interval.is_zero() {
            return std::future::pending().await;
        }
        let mut plan = CompactionPlan::default();
        loop {
            tokio::time::sleep(self.interval).await;
            match self.attempt(&mut plan).await {
                Ok(Some(at)) => tracing::debug!(revision = at.0, "compacted the store"),
                Ok(None) => {}
                Err(failure) => tracing::error!(%failure, "cannot compact the store"),
            }
        }
    }

    /// Claims a compaction and performs it. Returns its revision if this server has the claim.
    async fn attempt(&self, plan: &mut CompactionPlan) -> Result<Option<Revision>, WriteFailure> {
        let response = self.store.txn(plan.claim()).await?;
        match plan.take_in(&response) {
            Claim::Won(at) => {
                match self.store.compact(at).await {
                    // An operator compacted the store further.
                    Ok(())
                    | Err(WriteFailure::Refused(WriteError::Read(ReadError::Compacted {
                        ..
                    }))) => {}
                    Err(failure) => return Err(failure),
                }
                self.cache.compact(at);
                Ok(Some(at))
            }
            Claim::First => Ok(None),
            Claim::Lost(at) => {
                if let Some(at) = at {
                    self.cache.compact(at);
                }
                Ok(None)
            }
        }
    }

    async fn follow(&self) -> Infallible {
        loop {
            if let Ok(revision) = self.read().await {
                self.watch(revision).await;
            }
            tokio::time::sleep(FOLLOW_PAUSE).await;
        }
    }

    /// Takes in the latest compaction, and returns the revision of the read.
    async fn read(&self) -> Result<Revision, ReadFailure> {
        let range = Range::new(KeyRange::single(compaction_key()));
        let found = self.store.range(range, Consistency::Linearizable).await?;
        if let Some(kv) = found.kvs.first() {
            self.take_in(&kv.value);
        }
        Ok(found.revision)
    }

    /// Takes in each later compaction until the watch ends, for whatever reason: the next round reads the key again.
    async fn watch(&self, after: Revision) {
        let request = WatchRequest {
            selector: WatchSelector::new(KeyRange::single(compaction_key())),
            from: Some(after.next()),
        };
        let Ok(mut watch) = self.store.watch(request).await else {
            return;
        };
        while let Ok(message) = watch.next().await {
            if let WatchMessage::Events { events, .. } = message {
                for event in events {
                    self.take_in(&event.kv.value);
                }
            }
        }
    }

    fn take_in(&self, value: &[u8]) {
        if let Some(at) = compacted_revision(value) {
            self.cache.compact(at);
        }
    }
}
