//! The objects of the store in memory, as the bytes they are stored as.
//!
//! One task, [`Cache::feed`], follows every change below the server's prefix and sorts it into
//! buckets, one for each resource. A bucket holds the newest state as a persistent map, so that a
//! list works on a snapshot that nobody can change, and a log of the latest changes, which all
//! watchers of the resource read at their own pace. A watcher holds a place in the log and nothing
//! else: it cannot slow anybody down, and one that falls behind the log is told so.
//!
//! Nothing is parsed to follow a change. What selectors need of an object is found when the first
//! selector asks, once for each object.

mod bucket;
mod change;
mod encodings;
mod feed;
mod kept;
mod keys;
mod log;
mod object;
mod snapshot;
mod watching;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_storage::{Consistency, ReadFailure, Revision, Store};
use parking_lot::RwLock;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

pub use bucket::Bucket;
pub use change::{Change, Frame};
pub use encodings::Listing;
pub use feed::FeedFailure;
pub use keys::{BucketKey, Scope};
pub use object::{Facts, Object};
pub use snapshot::Snapshot;
pub use watching::{Fallen, Watching};

/// How long a read waits for the cache to have seen a revision before it gives up.
pub const CATCH_UP_MAX: Duration = Duration::from_secs(3);

/// The memory of one server, shared by all its requests.
#[derive(Clone)]
pub struct Cache {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn Store>,
    /// Everything the server keeps lies below it.
    prefix: Bytes,
    buckets: RwLock<Buckets>,
    /// Everything up to this revision is in the buckets; none before the first load.
    seen: watch::Sender<Revision>,
    /// Somebody waits for a revision that the feed may not hear of by itself.
    wanted: Notify,
}

#[derive(Default)]
struct Buckets {
    by_name: BTreeMap<Bytes, Arc<Bucket>>,
    /// The revision of the newest load. What was not filled then was empty.
    loaded: Revision,
}

impl Buckets {
    fn get_or_make(&mut self, name: Bytes) -> &Arc<Bucket> {
        let loaded = self.loaded;
        let empty = || Arc::new(Bucket::empty_at(loaded));
        self.by_name.entry(name).or_insert_with(empty)
    }
}

/// Why a read could not be answered from the cache.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CatchUpError {
    /// The cache has not seen this revision, and waiting did not help.
    #[error("Too large resource version: {wanted}, current: {current}")]
    Behind {
        /// What was asked for.
        wanted: Revision,
        /// What the cache has seen.
        current: Revision,
    },
    /// The store did not say what its newest revision is.
    #[error(transparent)]
    Store(#[from] ReadFailure),
}

impl Cache {
    /// An empty cache. It knows nothing until [`Cache::feed`] runs.
    pub fn new(store: Arc<dyn Store>, prefix: impl Into<Bytes>) -> Self {
        let (seen, _) = watch::channel(Revision::NONE);
        Self {
            shared: Arc::new(Shared {
                store,
                prefix: prefix.into(),
                buckets: RwLock::default(),
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

    /// Everything up to this revision is in the buckets.
    pub fn seen(&self) -> Revision {
        *self.shared.seen.borrow()
    }

    /// Follows how far the cache has come.
    pub(crate) fn follow_seen(&self) -> watch::Receiver<Revision> {
        self.shared.seen.subscribe()
    }

    /// Waits until the cache holds every write that was acknowledged before the call, through
    /// whichever server, and returns a revision that it has seen.
    pub async fn caught_up(&self) -> Result<Revision, CatchUpError> {
        let newest = self.shared.store.revision(Consistency::Linearizable);
        self.at_least(newest.await?).await
    }

    /// Waits until the cache has seen a revision, for no longer than [`CATCH_UP_MAX`], and returns
    /// what it has seen then.
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
