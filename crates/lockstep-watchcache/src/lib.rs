//! The watch cache: the objects of a store in memory, as their stored bytes.
//!
//! One task, [`Cache::feed`], follows every change below the server's prefix and sorts it into
//! buckets, one for each resource. A bucket holds the newest state as a persistent map, so that a
//! list works on an immutable snapshot, and a log of the latest changes, which all watchers of the
//! resource read at their own pace. A watcher holds only its position in the log: a slow one delays
//! no other, and gets [`Expired`] once the log has dropped changes that it has not read.
//!
//! Following a change parses nothing, since most objects are never matched against a selector.
//! Labels are read on first use, once for each object.

mod bucket;
mod change;
mod encodings;
mod feed;
mod keys;
mod log;
mod object;
mod parsed;
mod pinned;
mod snapshot;
mod watching;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use lockstep_storage::{Consistency, ReadFailure, Revision, Store};
use parking_lot::RwLock;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

pub use bucket::Bucket;
pub use change::{Change, Frame};
pub use encodings::{Chunk, ChunkKey, Listing};
pub use feed::FeedFailure;
pub use keys::{BucketKey, Scope};
pub use object::{Facts, Object};
pub use parsed::{Parse, Parsed};
pub use snapshot::Snapshot;
pub use watching::{Expired, Watching};

/// Longest wait of a read for the cache to reach a revision, as upstream's `blockTimeout`.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(3);

/// The watch cache of one server; clones share it.
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    /// Key prefix of all objects of the server.
    prefix: Bytes,
    buckets: RwLock<Buckets>,
    /// Revision of the latest compaction that the server knows of.
    compacted: AtomicU64,
    /// Revision up to which the buckets are complete; [`Revision::NONE`] before the first load.
    seen: watch::Sender<Revision>,
    /// Signalled when a read waits for a revision, so that the feed requests a progress notification: a write outside
    /// the prefix raises the store's revision without an event.
    wanted: Notify,
}

#[derive(Default)]
struct Buckets {
    by_name: BTreeMap<Bytes, Arc<Bucket>>,
    /// Revision at which every bucket that does not exist was empty, and after which it had no change: that of the
    /// latest load, or of the last change of a bucket that was forgotten.
    loaded: Revision,
}

impl Buckets {
    fn get_or_make(&mut self, name: Bytes) -> &Arc<Bucket> {
        let loaded = self.loaded;
        let empty = || Arc::new(Bucket::empty_at(loaded));
        self.by_name.entry(name).or_insert_with(empty)
    }

    /// Drops buckets that are empty, have no recent change, and are held by nothing else.
    fn forget(&mut self, now: Instant) {
        let mut loaded = self.loaded;
        self.by_name.retain(|_, bucket| {
            // INVARIANT: only a holder of this lock can get another reference.
            let is_used = Arc::strong_count(bucket) > 1;
            let stays = is_used || !bucket.is_forgettable(now);
            if !stays {
                loaded = loaded.max(bucket.snapshot().revision());
            }
            stays
        });
        self.loaded = loaded;
    }
}

/// Errors of a read from the cache.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CatchUpError {
    /// The cache has not seen this revision, and waiting did not help.
    #[error("Too large resource version: {wanted}, current: {current}")]
    Behind {
        /// The requested revision.
        wanted: Revision,
        /// The revision that the cache has reached.
        current: Revision,
    },
    /// The store failed to return its newest revision.
    #[error(transparent)]
    Store(#[from] ReadFailure),
}

impl Cache {
    /// Creates an empty cache, which [`Cache::feed`] fills.
    pub fn new(store: Arc<dyn Store>, prefix: impl Into<Bytes>) -> Self {
        let (seen, _) = watch::channel(Revision::NONE);
        Self {
            shared: Arc::new(Shared {
                store,
                prefix: prefix.into(),
                buckets: RwLock::default(),
                compacted: AtomicU64::default(),
                seen,
                wanted: Notify::new(),
            }),
        }
    }

    /// The objects of one resource. A bucket that has never held anything is empty, not missing.
    pub fn bucket(&self, key: &BucketKey) -> Arc<Bucket> {
        let known = self.shared.buckets.read().by_name.get(key.name()).cloned();
        known.unwrap_or_else(|| {
            let mut buckets = self.shared.buckets.write();
            buckets.get_or_make(key.name().clone()).clone()
        })
    }

    /// Revision up to which the buckets are complete.
    #[inline]
    pub fn seen(&self) -> Revision {
        *self.shared.seen.borrow()
    }

    /// Revision of the latest compaction that the server knows of: states before it are no longer served, whether or
    /// not the cache could still do so.
    pub fn compacted(&self) -> Revision {
        Revision(self.shared.compacted.load(Ordering::Acquire))
    }

    /// Takes in that a server of the store compacts it, and drops the states before `at`.
    pub fn compact(&self, at: Revision) {
        if self.shared.compacted.fetch_max(at.0, Ordering::AcqRel) >= at.0 {
            return;
        }
        for bucket in self.buckets() {
            bucket.compact(at);
        }
    }

    /// Drops changes that are too old, and buckets of resources that are gone, such as those of deleted CRDs.
    pub(crate) fn trim(&self, now: Instant) {
        for bucket in self.buckets() {
            bucket.trim(now);
        }
        self.shared.buckets.write().forget(now);
    }

    fn buckets(&self) -> Vec<Arc<Bucket>> {
        let buckets = self.shared.buckets.read();
        buckets.by_name.values().cloned().collect()
    }

    /// Subscribes to [`Cache::seen`].
    pub fn follow_seen(&self) -> watch::Receiver<Revision> {
        self.shared.seen.subscribe()
    }

    /// Waits until the cache holds every write that was acknowledged before the call by any server of the store, and
    /// returns the revision reached.
    pub async fn caught_up(&self) -> Result<Revision, CatchUpError> {
        let newest = self.shared.store.revision(Consistency::Linearizable);
        self.at_least(newest.await?).await
    }

    /// Waits until the cache has reached a revision, at most [`CATCH_UP_MAX`], and returns the revision reached.
    pub async fn at_least(&self, wanted: Revision) -> Result<Revision, CatchUpError> {
        let current = self.seen();
        if current >= wanted {
            return Ok(current);
        }
        let mut seen = self.shared.seen.subscribe();
        self.shared.wanted.notify_one();
        let deadline = Instant::now() + CATCH_UP_MAX;
        let waiting = seen.wait_for(|seen| *seen >= wanted);
        match tokio::time::timeout_at(deadline, waiting).await {
            Ok(Ok(seen)) => Ok(*seen),
            Ok(Err(_)) | Err(_) => Err(CatchUpError::Behind {
                wanted,
                current: self.seen(),
            }),
        }
    }
}
