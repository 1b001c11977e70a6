//! One resource: its newest state, its latest changes, and its watchers.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use lockstep_storage::{Event, KeyValue, Revision};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::keys::namespace_of;
use crate::log::{Log, Place};
use crate::pinned::PinnedSnapshots;
use crate::watching::{Expired, Watching};
use crate::{Change, Object, Scope, Snapshot};

/// The objects of one resource.
#[derive(Default)]
pub struct Bucket {
    state: ArcSwap<Snapshot>,
    pub(crate) log: RwLock<Log>,
    pinned: Mutex<PinnedSnapshots>,
    watched: Mutex<BTreeMap<Scope, watch::Sender<News>>>,
}

/// Notification to the watchers of one scope, sent with every change of the scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct News {
    /// First position whose change the log still holds for this scope; a watcher before it has expired.
    pub(crate) forgotten: Place,
}

impl Bucket {
    /// Creates a bucket that is empty at a revision.
    pub(crate) fn empty_at(revision: Revision) -> Self {
        let bucket = Self::default();
        bucket.load(Vec::new(), revision);
        bucket
    }

    /// The newest state.
    #[inline]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.state.load_full()
    }

    /// The state at exactly this revision, if it is the newest or pinned. `seen` is [`Cache::seen`](crate::Cache::seen)
    /// as read before the call.
    pub fn snapshot_at(&self, revision: Revision, seen: Revision) -> Option<Arc<Snapshot>> {
        let newest = self.snapshot();
        if newest.revision() <= revision && revision <= seen {
            return Some(newest);
        }
        self.pinned.lock().get(revision).map(Arc::new)
    }

    /// Pins a state for the next pages of a list at this revision.
    pub fn pin(&self, at: Revision, snapshot: &Snapshot) {
        self.pinned.lock().pin(at, snapshot);
    }

    /// The newest state, and a watch of every later change.
    pub fn snapshot_and_watch(self: &Arc<Self>, scope: Scope) -> (Arc<Snapshot>, Watching) {
        let news = self.news(&scope);
        let log = self.log.read();
        // INVARIANT: the state changes only while the log is locked for writing.
        let snapshot = self.snapshot();
        (
            snapshot,
            Watching::new(self.clone(), scope, log.end(), news),
        )
    }

    /// Watches every change after a revision; [`Expired`] if the log no longer holds them all.
    pub fn watch_after(
        self: &Arc<Self>,
        scope: Scope,
        revision: Revision,
    ) -> Result<Watching, Expired> {
        let news = self.news(&scope);
        let log = self.log.read();
        let place = log.after_revision(revision).ok_or(Expired {
            oldest: log.complete_after(),
        })?;
        drop(log);
        Ok(Watching::new(self.clone(), scope, place, news))
    }

    /// Drops the pinned states of revisions before a compaction, which no list may read any more.
    pub(crate) fn compact(&self, at: Revision) {
        self.pinned.lock().drop_before(at);
    }

    /// True if there is no object, and no change that a watch may still ask for.
    pub(crate) fn is_forgettable(&self, now: Instant) -> bool {
        self.snapshot().count(&Scope::All) == 0 && self.log.read().is_past(now)
    }

    /// Drops changes of the log that are too old, also if no change follows them.
    pub(crate) fn trim(&self, now: Instant) {
        if self.log.read().is_trimmable(now) {
            self.trim_log(&mut self.log.write(), now);
        }
    }

    fn trim_log(&self, log: &mut Log, now: Instant) {
        let watched = self.watched.lock();
        log.trim(now, |place, change| {
            for news in senders(&watched, &change.key) {
                news.send_modify(|news| news.forgotten = place + 1);
            }
        });
    }

    fn news(&self, scope: &Scope) -> watch::Receiver<News> {
        let mut watched = self.watched.lock();
        if let Some(news) = watched.get(scope) {
            return news.subscribe();
        }
        let (news, receiver) = watch::channel(News::default());
        watched.insert(scope.clone(), news);
        receiver
    }

    /// Number of watches that see a change of an object. An empty namespace or name stands for none.
    pub fn watchers(&self, namespace: &str, name: &str) -> usize {
        let watched = self.watched.lock();
        let of = |scope: &Scope| watched.get(scope).map_or(0, watch::Sender::receiver_count);
        let mut watchers = of(&Scope::All);
        if watched.len() == usize::from(watchers > 0) {
            return watchers;
        }
        if !namespace.is_empty() {
            watchers += of(&Scope::Namespace(namespace.into()));
        }
        if !name.is_empty() {
            let key = match namespace {
                "" => name.into(),
                namespace => [namespace, "/", name].concat().into(),
            };
            watchers += of(&Scope::Object(key));
        }
        watchers
    }

    /// Unsubscribes a watcher, whose receiver is still counted, and drops the sender with the last one.
    pub(crate) fn unsubscribe(&self, scope: &Scope) {
        let mut watched = self.watched.lock();
        let is_last = |news: &watch::Sender<News>| news.receiver_count() <= 1;
        if watched.get(scope).is_some_and(is_last) {
            watched.remove(scope);
        }
    }

    /// Number of scopes with a watcher.
    #[cfg(test)]
    pub(crate) fn watched_scopes(&self) -> usize {
        self.watched.lock().len()
    }

    /// Replaces the state. All watches expire, since the changes between the two states are unknown.
    pub(crate) fn load(&self, objects: Vec<(Bytes, Arc<KeyValue>)>, revision: Revision) {
        let mut snapshot = Snapshot::default();
        for (key, kv) in objects {
            snapshot.put(&Object::new(key, &kv));
        }
        snapshot.advance(revision);
        let mut log = self.log.write();
        let first = log.end() + 1;
        *log = Log::after(revision, first);
        self.pinned.lock().clear();
        self.state.store(Arc::new(snapshot));
        for news in self.watched.lock().values() {
            news.send_modify(|news| news.forgotten = first);
        }
    }

    /// Applies changes, which must be in the order of their revisions.
    pub(crate) fn apply(&self, events: &[(Bytes, Event)], heard: Instant) {
        let mut log = self.log.write();
        let before = log.end();
        let mut snapshot = Snapshot::clone(&self.state.load());
        for (key, event) in events {
            if let Some(change) = change(&mut snapshot, key, event, heard) {
                snapshot.advance(change.revision);
                log.push(Arc::new(change));
            }
        }
        self.trim_log(&mut log, heard);
        let watched = self.watched.lock();
        self.state.store(Arc::new(snapshot));
        for change in log.since(before) {
            senders(&watched, &change.key).for_each(|news| news.send_modify(|_| ()));
        }
    }
}

/// Senders to the watchers of a key.
fn senders<'a>(
    watched: &'a BTreeMap<Scope, watch::Sender<News>>,
    key: &Bytes,
) -> impl Iterator<Item = &'a watch::Sender<News>> {
    scopes(key).filter_map(|scope| watched.get(&scope))
}

/// Scopes that contain a key.
fn scopes(key: &Bytes) -> impl Iterator<Item = Scope> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).map(Into::into).ok();
    let namespace = namespace_of(key).and_then(text).map(Scope::Namespace);
    let object = text(key).map(Scope::Object);
    std::iter::once(Scope::All).chain(namespace).chain(object)
}

/// Applies an event to the snapshot; `None` if it deletes an object that does not exist.
fn change(snapshot: &mut Snapshot, key: &Bytes, event: &Event, heard: Instant) -> Option<Change> {
    let revision = event.kv.mod_revision;
    let (before, now) = if event.kv.is_tombstone() {
        (Some(snapshot.remove(key)?), None)
    } else {
        let object = Object::new(key.clone(), &event.kv);
        (snapshot.put(&object), Some(object))
    };
    Some(Change::new(revision, key.clone(), before, now, heard))
}
