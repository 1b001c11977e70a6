//! One resource: its newest state, its latest changes, and who waits for the next.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use lockstep_storage::{Event, KeyValue, Revision};
use parking_lot::{Mutex, RwLock};
use tokio::sync::watch;
use tokio::time::Instant;

use super::kept::Kept;
use super::keys::namespace_of;
use super::log::{Log, Place};
use super::watching::{Fallen, Watching};
use super::{Change, Object, Scope, Snapshot};

/// The objects of one resource.
#[derive(Default)]
pub struct Bucket {
    state: ArcSwap<Snapshot>,
    pub(super) log: RwLock<Log>,
    kept: Mutex<Kept>,
    waiting: Mutex<BTreeMap<Scope, watch::Sender<News>>>,
}

/// What those who wait for changes of one scope are told: that something happened, and what is
/// lost to those who have not read it yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct News {
    /// All changes of the scope before this place are forgotten.
    pub(super) forgotten: Place,
}

impl Bucket {
    /// A bucket that was empty at a revision.
    pub(super) fn empty_at(revision: Revision) -> Self {
        let bucket = Self::default();
        bucket.load(Vec::new(), revision);
        bucket
    }

    /// The newest state.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.state.load_full()
    }

    /// The state at exactly this revision, if it is at hand. `seen` is what the cache had seen
    /// before the call.
    pub fn snapshot_at(&self, revision: Revision, seen: Revision) -> Option<Arc<Snapshot>> {
        let newest = self.snapshot();
        if newest.revision() <= revision && revision <= seen {
            return Some(newest);
        }
        self.kept.lock().get(revision).map(Arc::new)
    }

    /// Keeps a state for a list that goes on at this revision.
    pub fn keep(&self, at: Revision, snapshot: &Snapshot) {
        self.kept.lock().keep(at, snapshot);
    }

    /// The newest state, and a watch that goes on exactly behind it.
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

    /// A watch of every change after a revision.
    pub fn watch_after(
        self: &Arc<Self>,
        scope: Scope,
        revision: Revision,
    ) -> Result<Watching, Fallen> {
        let news = self.news(&scope);
        let place = self.log.read().after_revision(revision);
        let place = place.ok_or(Fallen)?;
        Ok(Watching::new(self.clone(), scope, place, news))
    }

    fn news(&self, scope: &Scope) -> watch::Receiver<News> {
        let mut waiting = self.waiting.lock();
        if let Some(news) = waiting.get(scope) {
            return news.subscribe();
        }
        let (news, receiver) = watch::channel(News::default());
        waiting.insert(scope.clone(), news);
        receiver
    }

    /// A watcher of this scope, which is still counted, goes.
    pub(super) fn left(&self, scope: &Scope) {
        let mut waiting = self.waiting.lock();
        let is_last = |news: &watch::Sender<News>| news.receiver_count() <= 1;
        if waiting.get(scope).is_some_and(is_last) {
            waiting.remove(scope);
        }
    }

    /// How many scopes somebody waits for.
    #[cfg(test)]
    pub(super) fn scopes_waited_for(&self) -> usize {
        self.waiting.lock().len()
    }

    /// Fills the bucket anew. Watches of the state before are over.
    pub(super) fn load(&self, objects: Vec<(Bytes, Arc<KeyValue>)>, revision: Revision) {
        let mut snapshot = Snapshot::default();
        for (key, kv) in objects {
            snapshot.put(&Object::new(key, &kv));
        }
        snapshot.advance(revision);
        let mut log = self.log.write();
        let first = log.end() + 1;
        *log = Log::after(revision, first);
        self.kept.lock().clear();
        self.state.store(Arc::new(snapshot));
        for news in self.waiting.lock().values() {
            news.send_modify(|news| news.forgotten = first);
        }
    }

    /// Takes in changes, in the order of their revisions.
    pub(super) fn apply(&self, events: &[(Bytes, Event)], heard: Instant) {
        let mut log = self.log.write();
        let before = log.end();
        let mut snapshot = Snapshot::clone(&self.state.load());
        for (key, event) in events {
            if let Some(change) = change(&mut snapshot, key, event, heard) {
                snapshot.advance(change.revision);
                log.push(Arc::new(change));
            }
        }
        let waiting = self.waiting.lock();
        log.trim(heard, |place, change| {
            for news in concerned(&waiting, &change.key) {
                news.send_modify(|news| news.forgotten = place + 1);
            }
        });
        self.state.store(Arc::new(snapshot));
        for change in log.since(before) {
            concerned(&waiting, &change.key).for_each(|news| news.send_modify(|_| ()));
        }
    }
}

/// Those who wait for changes of this key.
fn concerned<'a>(
    waiting: &'a BTreeMap<Scope, watch::Sender<News>>,
    key: &Bytes,
) -> impl Iterator<Item = &'a watch::Sender<News>> {
    scopes(key).filter_map(|scope| waiting.get(&scope))
}

/// Every scope that a change of this key is news for.
fn scopes(key: &Bytes) -> impl Iterator<Item = Scope> {
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).map(Into::into).ok();
    let namespace = namespace_of(key).and_then(text).map(Scope::Namespace);
    let object = text(key).map(Scope::Object);
    std::iter::once(Scope::All).chain(namespace).chain(object)
}

/// What an event changes; nothing if it deletes what is not there.
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
