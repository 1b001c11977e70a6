//! One watcher's place in the log of a bucket.

use std::sync::Arc;

use tokio::sync::watch;

use super::bucket::News;
use super::log::Place;
use super::{Bucket, Change, Scope};

/// How many changes a watcher takes at a time.
pub(super) const TAKEN_MAX: usize = 256;

/// What the watcher would have to see next is no longer kept: it began too early or read too
/// slowly, or the cache was filled anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the changes that the watch needs are no longer kept")]
pub struct Fallen;

/// A running watch. It holds nothing but its place; dropping it ends it.
pub struct Watching {
    bucket: Arc<Bucket>,
    scope: Scope,
    next: Place,
    news: watch::Receiver<News>,
    /// Whether everything was read up to the last news.
    is_read: bool,
}

impl Watching {
    pub(super) fn new(
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

    /// The next changes, in order, none twice and none left out; never empty. Nothing is lost if
    /// the future is dropped.
    pub async fn next(&mut self) -> Result<Vec<Arc<Change>>, Fallen> {
        loop {
            let changes = self.take()?;
            if !changes.is_empty() {
                return Ok(changes);
            }
            self.told().await;
        }
    }

    /// Waits until there may be something to take. Nothing is lost if the future is dropped.
    pub async fn told(&mut self) {
        if self.is_read {
            let told = self.news.changed().await;
            told.expect("the bucket keeps the sender while somebody listens");
            // News that were waited for count as seen, but nothing has been read since.
            self.is_read = false;
        }
    }

    /// The changes that are there already. If there are none, the watcher has seen everything up
    /// to what [`Cache::seen`](super::Cache::seen) said before the call.
    pub fn take(&mut self) -> Result<Vec<Arc<Change>>, Fallen> {
        if self.is_read && matches!(self.news.has_changed(), Ok(false)) {
            return Ok(Vec::new());
        }
        let log = self.bucket.log.read();
        // INVARIANT: news changes only while the log is locked for writing.
        if self.next < self.news.borrow_and_update().forgotten {
            return Err(Fallen);
        }
        let (changes, next) = log.read(self.next, &self.scope, TAKEN_MAX);
        self.next = next;
        self.is_read = next == log.end();
        Ok(changes)
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.bucket.left(&self.scope);
    }
}
