//! The feed: loads the store into the buckets and follows its changes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_storage::{
    Consistency, Event, KeyRange, KeyValue, Range, ReadFailure, Revision, Watch, WatchError,
    WatchMessage, WatchRequest, WatchSelector, next_page,
};
use tokio::time::Instant;

use crate::{Cache, keys};

/// Page size of the initial load.
const LOAD_PAGE: usize = 10_000;
/// Bounds of the backoff after a failure.
const PAUSE_MIN: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// Interval at which logs drop old changes although no change follows them.
pub(crate) const TRIM_INTERVAL: Duration = Duration::from_secs(15);

/// Errors after which the feed reloads everything.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FeedFailure {
    /// The objects could not be read.
    #[error("reading the objects of the store: {0}")]
    Load(#[from] ReadFailure),
    /// The changes could not be followed.
    #[error("following the changes of the store: {0}")]
    Watch(#[from] WatchError),
}

impl Cache {
    /// Loads the cache and follows the store. The future never completes; dropping it leaves the cache at its last
    /// revision. After a failure, which is passed to `failed`, everything is loaded again: running watches expire,
    /// while reads are served from the last state.
    pub async fn feed(self, mut failed: impl FnMut(&FeedFailure)) {
        let mut pause = PAUSE_MIN;
        loop {
            let before = self.seen();
            let failure = self.follow().await;
            failed(&failure);
            pause = if self.seen() > before {
                PAUSE_MIN
            } else {
                (pause * 2).min(PAUSE_MAX)
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// Loads everything and follows later changes until a failure.
    async fn follow(&self) -> FeedFailure {
        match self.load().await {
            Ok(mut watch) => self.listen(&mut watch).await.into(),
            Err(failure) => failure,
        }
    }

    async fn load(&self) -> Result<Watch, FeedFailure> {
        let (revision, pairs) = self.read_all().await?;
        let mut filled: BTreeMap<Bytes, Vec<(Bytes, Arc<KeyValue>)>> = BTreeMap::new();
        for kv in pairs {
            if let Some((bucket, key)) = self.place(&kv.key) {
                filled.entry(bucket).or_default().push((key, kv));
            }
        }
        let request = WatchRequest {
            selector: WatchSelector::new(KeyRange::prefix(self.shared.prefix.clone())),
            from: Some(revision.next()),
        };
        let watch = self.shared.store.watch(request).await?;
        let mut buckets = self.shared.buckets.write();
        buckets.loaded = revision;
        for name in buckets.by_name.keys() {
            filled.entry(name.clone()).or_default();
        }
        for (name, objects) in filled {
            buckets.get_or_make(name).load(objects, revision);
        }
        drop(buckets);
        self.shared.seen.send_replace(revision);
        Ok(watch)
    }

    async fn read_all(&self) -> Result<(Revision, Vec<Arc<KeyValue>>), ReadFailure> {
        let mut range = Range {
            limit: LOAD_PAGE,
            ..Range::new(KeyRange::prefix(self.shared.prefix.clone()))
        };
        let mut pairs = Vec::new();
        let mut first_page = None;
        loop {
            let reading = self
                .shared
                .store
                .range(range.clone(), Consistency::Linearizable);
            let page = reading.await?;
            let revision = *first_page.get_or_insert(page.revision);
            let next = next_page(&range, &page, revision);
            pairs.extend(page.kvs);
            match next {
                Some(next) => range = next,
                None => return Ok((revision, pairs)),
            }
        }
    }

    async fn listen(&self, watch: &mut Watch) -> WatchError {
        let mut trims = tokio::time::interval(TRIM_INTERVAL);
        loop {
            tokio::select! {
                message = watch.next() => match message {
                    Ok(message) => self.apply_message(message),
                    Err(error) => return error,
                },
                () = self.shared.wanted.notified() => watch.request_progress(),
                now = trims.tick() => self.trim(now),
            }
        }
    }

    pub(crate) fn apply_message(&self, message: WatchMessage) {
        let progress = match message {
            WatchMessage::Progress { progress } => progress,
            WatchMessage::Events { events, progress } => {
                self.apply_events(events);
                progress
            }
        };
        self.shared.seen.send_if_modified(|seen| {
            let is_news = progress > *seen;
            *seen = progress.max(*seen);
            is_news
        });
    }

    fn apply_events(&self, events: Vec<Event>) {
        let heard = Instant::now();
        let mut sorted: BTreeMap<Bytes, Vec<(Bytes, Event)>> = BTreeMap::new();
        for event in events {
            if let Some((bucket, key)) = self.place(&event.kv.key) {
                sorted.entry(bucket).or_default().push((key, event));
            }
        }
        for (name, events) in sorted {
            self.bucket(&keys::BucketKey::new(name))
                .apply(&events, heard);
        }
    }

    /// Splits a key of the store into its bucket and the key inside it.
    fn place(&self, key: &Bytes) -> Option<(Bytes, Bytes)> {
        let below = key.starts_with(&self.shared.prefix);
        let key = below.then(|| key.slice(self.shared.prefix.len()..))?;
        keys::split(&key)
    }
}
