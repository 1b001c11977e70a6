//! A running watch: a position in the log of a bucket.

use std::sync::Arc;

use lockstep_storage::Revision;
use tokio::sync::watch;

use crate::bucket::News;
use crate::log::Place;
use crate::{Bucket, Change, Scope};

/// Most changes that a watcher takes at a time.
pub(crate) const TAKEN_MAX: usize = 256;

/// The log no longer holds the next change of a watch: it started too early or reads too slowly, or the cache was
/// loaded again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the changes that the watch needs are no longer kept")]
pub struct Expired {
    /// Revision after which the log holds every change.
    pub oldest: Revision,
}

/// A running watch. It holds only its position; dropping it ends the watch.
pub struct Watching {
    bucket: Arc<Bucket>,
    scope: Scope,
    next: Place,
    news: watch::Receiver<News>,
    /// True if everything up to the last notification was read.
    is_read: bool,
}

impl Watching {
    pub(crate) fn new(
        bucket: Arc<Bucket>,
        scope: Scope,
        next: Place,
        news: watch::Receiver<News>,
    ) -> Self {
        Self {
            bucket,
            scope,
            next,
            news,
            is_read: false,
        }
    }

    /// Waits for the next changes: in order, without duplicates or gaps, never empty. Cancel-safe.
    pub async fn next(&mut self) -> Result<Vec<Arc<Change>>, Expired> {
        loop {
            let changes = self.take()?;
            if !changes.is_empty() {
                return Ok(changes);
            }
            self.changed().await;
        }
    }

    /// Waits until there may be a change to take. Cancel-safe.
    pub async fn changed(&mut self) {
        if self.is_read {
            let changed = self.news.changed().await;
            changed.expect("the bucket keeps the sender while it has a receiver");
            // `changed` marks the notification as seen, but its changes have not been read yet.
            self.is_read = false;
        }
    }

    /// Takes the available changes. If there are none, the watcher has read everything up to
    /// [`Cache::seen`](crate::Cache::seen) as read before the call.
    pub fn take(&mut self) -> Result<Vec<Arc<Change>>, Expired> {
        if self.is_read && matches!(self.news.has_changed(), Ok(false)) {
            return Ok(Vec::new());
        }
        let log = self.bucket.log.read();
        // INVARIANT: news changes only while the log is locked for writing.
        if self.next < self.news.borrow_and_update().forgotten {
            let oldest = log.complete_after();
            return Err(Expired { oldest });
        }
        let (changes, next) = log.read(self.next, &self.scope, TAKEN_MAX);
        self.next = next;
        self.is_read = next == log.end();
        Ok(changes)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.bucket.unsubscribe(&self.scope);
    }
}
