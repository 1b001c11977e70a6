//! Watches.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, Object as ApiObject, Status, json};
use lockstep_storage::Revision;
use serde_json::json;
use tokio::time::{Instant, Sleep, sleep_until};

use super::list_options::{catch_up_failed, check_watch};
use super::print::Printer;
use super::selection::Selection;
use super::{Answer, Api, Body, Request, Served};
use crate::cache::{
    Cache, Change, Chunk, ChunkKey, Expired, Frame, Listing, Object, Snapshot, Watching,
};
use crate::route::Verb;
use crate::views::{Headers, Shape};

/// Shortest default duration of a watch; the default is random between this and twice as much.
const LASTS_MIN_SECONDS: u64 = 1800;
/// Interval between bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Time before the end of a watch at which the last bookmark is sent.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// Target size of a chunk of initial objects or of events that are ready together.
const CHUNK_BYTES: usize = 64 * 1024;
/// Annotation of the bookmark that follows the initial objects.
const FIRST_END: &str = "k8s.io/initial-events-end";

/// Event stream of one watch.
pub struct WatchStream {
    cache: Cache,
    pub(super) served: Served,
    pub(super) shape: Shape,
    /// Tracks whether a Table with column definitions has been sent.
    headers: Headers,
    /// Start of the watch, in wall-clock and monotonic time.
    began: (Seconds, Instant),
    pub(super) selection: Selection,
    watching: Watching,
    /// Changes up to this revision are skipped.
    after: Revision,
    /// Revision up to which the client has received all events.
    told: Revision,
    /// Initial objects that are not sent yet.
    pub(super) initial: Option<Initial>,
    /// Changes that wait for conversion by a webhook; unused if the version needs none.
    pub(super) taken: VecDeque<Arc<Change>>,
    /// Revision for the bookmark that follows the initial objects, if the client requested it.
    pub(super) first_end: Option<Revision>,
    pub(super) ready: VecDeque<Bytes>,
    bookmarks: bool,
    next_bookmark: Instant,
    ends: Instant,
    /// Fires at the next bookmark or at the end of the watch, whichever is first.
    timer: Pin<Box<Sleep>>,
    pub(super) is_over: bool,
}

/// Initial objects of a watch that are not sent yet: a state, which watches share, and the position in it. A watch
/// encodes a chunk when its client has read what came before.
pub(super) struct Initial {
    snapshot: Arc<Snapshot>,
    /// Key of the last object that was sent.
    after: Option<Bytes>,
}

/// Start of a watch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Begin {
    /// Initial objects from a state at least as new as this revision; the newest state if none.
    Objects(Option<Revision>),
    /// Changes after this revision; changes from now on if none.
    Changes(Option<Revision>),
}

/// Time of the next bookmark: after the usual interval, or shortly before the end of the watch.
fn next_bookmark(now: Instant, ends: Instant) -> Instant {
    match ends.checked_sub(BOOKMARK_BEFORE_END) {
        Some(last) if now < last => (now + BOOKMARK_EVERY).min(last),
        _ => ends,
    }
}

impl Api {
    /// Starts a watch.
    pub(super) async fn watch(&self, request: &Request<'_>) -> Result<Answer, ApiError> {
        let begin = begin(request, self.watch_list)?;
        let selection = Selection::of(request)?;
        request.number("limit")?;
        let asked = request.number("timeoutSeconds")?.unwrap_or_default();
        let lasts = match u64::try_from(asked) {
            Ok(seconds) if seconds > 0 => seconds,
            _ => {
                let more = (self.random_u128)() % u128::from(LASTS_MIN_SECONDS);
                LASTS_MIN_SECONDS + u64::try_from(more).unwrap_or_default()
            }
        };
        let stream = self
            .open(request, begin, selection, Duration::from_secs(lasts))
            .await?;
        Ok(Answer {
            code: 200,
            body: Body::Watch(Box::new(stream)),
        })
    }

    async fn open(
        &self,
        request: &Request<'_>,
        begin: Begin,
        selection: Selection,
        lasts: Duration,
    ) -> Result<WatchStream, ApiError> {
        let bucket = self.cache.bucket(&request.served.resource.bucket);
        let bookmarks = request.query.flag("allowWatchBookmarks");
        let scope = selection.scope.clone();
        let now = Instant::now();
        let mut initial = None;
        let mut ready = VecDeque::new();
        let (watching, seen) = match begin {
            Begin::Objects(at_least) => {
                let reached = self.reach_for_watch(at_least).await;
                let (snapshot, watching) = bucket.snapshot_and_watch(scope);
                match reached {
                    Err(error) => {
                        ready.push_back(error_line(&error));
                        (watching, snapshot.revision())
                    }
                    Ok(seen) => {
                        let revision = snapshot.revision();
                        let after = None;
                        initial = Some(Initial { snapshot, after });
                        (watching, seen.max(revision))
                    }
                }
            }
            Begin::Changes(after) => {
                let seen = match after {
                    Some(after) => after,
                    None => self.reach_for_watch(None).await?,
                };
                match bucket.watch_after(scope.clone(), seen) {
                    Ok(watching) => (watching, seen),
                    Err(Expired { oldest }) => {
                        ready.push_back(gone(seen, oldest));
                        (bucket.snapshot_and_watch(scope).1, seen)
                    }
                }
            }
        };
        let is_over = !ready.is_empty();
        let wants_end = bookmarks && !is_over && matches!(begin, Begin::Objects(_));
        Ok(WatchStream {
            cache: self.cache.clone(),
            served: request.served.clone(),
            shape: request.shape,
            headers: Headers::Shown,
            began: (request.now, now),
            selection,
            watching,
            after: seen,
            told: seen,
            initial,
            taken: VecDeque::new(),
            first_end: wants_end.then_some(seen),
            ready,
            bookmarks,
            next_bookmark: next_bookmark(now, now + lasts),
            ends: now + lasts,
            timer: Box::pin(sleep_until(next_bookmark(now, now + lasts))),
            is_over,
        })
    }

    async fn reach_for_watch(&self, at_least: Option<Revision>) -> Result<Revision, ApiError> {
        let reached = match at_least {
            Some(Revision::NONE) => Ok(self.cache.seen()),
            Some(revision) => self.cache.at_least(revision).await,
            None => self.cache.caught_up().await,
        };
        reached.map_err(|error| catch_up_failed(&error))
    }
}

/// Start of a watch by `resourceVersion`, `resourceVersionMatch` and `sendInitialEvents`.
fn begin(request: &Request<'_>, watch_list: bool) -> Result<Begin, ApiError> {
    let query = &request.query;
    check_watch(query, watch_list)?;
    let revision = request.revision()?;
    Ok(match revision {
        _ if query.flag("sendInitialEvents") => Begin::Objects(revision),
        None | Some(Revision::NONE) if query.get("sendInitialEvents").is_none() => {
            Begin::Objects(revision)
        }
        revision => Begin::Changes(revision.filter(|revision| *revision > Revision::NONE)),
    })
}

impl Initial {
    /// The next objects, at most `count`.
    pub(super) fn batch(&self, selection: &Selection, count: usize) -> Vec<Arc<Object>> {
        let objects = self.snapshot.objects(&selection.scope, self.after.as_ref());
        objects.take(count).cloned().collect()
    }

    /// Goes on after the objects of a batch.
    pub(super) fn advance(&mut self, batch: &[Arc<Object>]) {
        if let Some(last) = batch.last() {
            self.after = Some(last.key.clone());
        }
    }
}

impl WatchStream {
    /// Next bytes to send; none when the watch is over. Cancel-safe.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(bytes) = self.ready_chunk() {
                return Some(bytes);
            }
            if let Some(initial) = self.initial.take() {
                if self.served.has_webhook() {
                    // Boxed, like the other conversion: only watches through a conversion webhook need these large
                    // futures.
                    self.initial = Some(initial);
                    Box::pin(self.convert_initial()).await;
                } else {
                    self.send_initial(initial);
                }
                continue;
            }
            if let Some(revision) = self.first_end.take() {
                return Some(self.bookmark(revision, true));
            }
            if !self.taken.is_empty() {
                Box::pin(self.convert_taken()).await;
                continue;
            }
            if self.is_over {
                return None;
            }
            self.wait().await;
        }
    }

    /// Next chunk of encoded events. A single event is shared, not copied.
    fn ready_chunk(&mut self) -> Option<Bytes> {
        let first = self.ready.pop_front()?;
        if self.ready.is_empty() {
            return Some(first);
        }
        let mut chunk = first.to_vec();
        while let Some(next) = self.ready.front()
            && chunk.len() + next.len() <= CHUNK_BYTES
        {
            chunk.extend_from_slice(next);
            self.ready.pop_front();
        }
        Some(chunk.into())
    }

    /// Takes pending changes, or waits for changes, the next bookmark or the end of the watch.
    async fn wait(&mut self) {
        if let Some(at) = self.served.end() {
            return self.end(at);
        }
        match self.watching.take() {
            Ok(changes) if changes.is_empty() => {}
            Ok(changes) => return self.take_in(&changes),
            Err(expired) => return self.fail(expired),
        }
        let wake = self.next_bookmark.min(self.ends);
        if self.timer.deadline() != wake {
            self.timer.as_mut().reset(wake);
        }
        let ended = self.served.ended();
        tokio::select! {
            biased;
            // The next call takes the changes, unless the watch ended first.
            () = self.watching.changed() => {}
            at = ended => self.end(at),
            () = self.timer.as_mut() => self.tick(),
        }
    }

    fn take_in(&mut self, changes: &[Arc<Change>]) {
        for change in changes {
            if change.revision <= self.after {
                // The initial objects include this change.
            } else if self.served.has_webhook() {
                self.taken.push_back(Arc::clone(change));
            } else {
                let event = self.event(change, change.before.clone(), change.now.clone());
                self.ready.extend(event);
            }
            self.told = self.told.max(change.revision);
        }
    }

    /// Takes the changes up to the end, then ends the watch.
    fn end(&mut self, at: Revision) {
        self.is_over = true;
        while let Ok(mut changes) = self.watching.take() {
            if changes.is_empty() {
                return;
            }
            changes.retain(|change| change.revision < at);
            self.take_in(&changes);
        }
    }

    /// True until the initial events were taken.
    pub(crate) fn is_beginning(&self) -> bool {
        self.initial.is_some() || self.first_end.is_some()
    }

    fn fail(&mut self, Expired { oldest }: Expired) {
        self.ready.push_back(gone(self.told, oldest));
        self.is_over = true;
    }

    fn tick(&mut self) {
        let now = Instant::now();
        let seen = self.cache.seen();
        match self.watching.take() {
            Ok(changes) if changes.is_empty() && self.bookmarks && seen > self.told => {
                self.told = seen;
                let bookmark = self.bookmark(seen, false);
                self.ready.push_back(bookmark);
            }
            Ok(changes) => self.take_in(&changes),
            Err(expired) => self.fail(expired),
        }
        self.is_over |= now >= self.ends;
        self.next_bookmark = next_bookmark(now, self.ends);
    }

    /// Encodes a change as `ADDED`, `MODIFIED` or `DELETED`, by whether the object matched the selectors before and
    /// matches now. `before` and `now` are the objects of the change, converted to the requested version if a webhook
    /// converts them.
    pub(super) fn event(
        &mut self,
        change: &Change,
        before: Option<Arc<Object>>,
        now: Option<Arc<Object>>,
    ) -> Option<Bytes> {
        let selected =
            |object: Option<Arc<Object>>| object.filter(|object| self.selection.matches(object));
        let (event, object) = match (selected(before), selected(now)) {
            (None, Some(now)) => ("ADDED", now),
            (Some(_), Some(now)) => ("MODIFIED", now),
            (Some(before), None) => ("DELETED", before),
            (None, None) => return None,
        };
        let form = self.shape.cache_key(&self.served);
        let mut print = || {
            let mut out = Vec::with_capacity(object.value.len() + 96);
            self.print(event, &object, change.revision, &mut out);
            Bytes::from(out)
        };
        Some(match form {
            Some(form) => change.frame(Frame { event, form }, print),
            None => print(),
        })
    }

    /// Encodes the next chunk of initial objects, or shares that of another watch at the same position.
    fn send_initial(&mut self, initial: Initial) {
        let Initial { snapshot, after } = initial;
        let form = self.shape.cache_key(&self.served);
        let form = form.filter(|_| !self.selection.has_selectors());
        let (bytes, last) = match form {
            Some(form) => {
                let scope = self.selection.scope.clone();
                let listing = Listing { scope, form };
                let key = ChunkKey {
                    listing,
                    after: after.clone(),
                };
                snapshot.chunk(key, || self.chunk_of(&snapshot, after.as_ref()))
            }
            None => {
                let Chunk { bytes, last } = self.chunk_of(&snapshot, after.as_ref());
                (bytes.into(), last)
            }
        };
        if !bytes.is_empty() {
            self.ready.push_back(bytes);
        }
        self.initial = last.map(|last| Initial {
            snapshot,
            after: Some(last),
        });
    }

    /// Encodes the selected objects after a key, up to the size of a chunk.
    fn chunk_of(&mut self, snapshot: &Snapshot, after: Option<&Bytes>) -> Chunk {
        let mut chunk = Chunk {
            bytes: Vec::new(),
            last: None,
        };
        let scope = self.selection.scope.clone();
        for object in snapshot.objects(&scope, after) {
            if self.selection.matches(object) {
                self.print("ADDED", object, object.revision, &mut chunk.bytes);
            }
            if chunk.bytes.len() >= CHUNK_BYTES {
                chunk.last = Some(object.key.clone());
                break;
            }
        }
        chunk.bytes.shrink_to_fit();
        chunk
    }

    pub(super) fn print(
        &mut self,
        event: &str,
        object: &Object,
        revision: Revision,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        out.extend_from_slice(format!(r#"{{"type":"{event}","object":"#).as_bytes());
        let headers = std::mem::replace(&mut self.headers, Headers::Known);
        let printed = self.printer().stored(&object.value, revision, headers, out);
        match printed {
            Ok(()) => out.extend_from_slice(b"}\n"),
            Err(error) => {
                out.truncate(start);
                out.extend_from_slice(&error_line(&error));
            }
        }
    }

    fn printer(&self) -> Printer<'_> {
        let Served { resource, version } = &self.served;
        Printer {
            served: &self.served,
            columns: resource.strategy.columns(*version),
            verb: Verb::Watch,
            shape: self.shape,
            now: match self.shape {
                Shape::Table(..) => self.now(),
                Shape::Whole | Shape::Metadata(_) => self.began.0,
            },
        }
    }

    /// Current time, used for ages in Tables.
    fn now(&self) -> Seconds {
        let (seconds, at) = self.began;
        let passed = Instant::now().saturating_duration_since(at).as_secs();
        let now = seconds.unix().saturating_add_unsigned(passed);
        Seconds::from_unix(now).unwrap_or(seconds)
    }

    fn bookmark(&mut self, revision: Revision, is_first_end: bool) -> Bytes {
        let resource = &self.served.resource;
        let mut metadata = json!({ "resourceVersion": revision.0.to_string() });
        if is_first_end {
            metadata["annotations"] = json!({ FIRST_END: "true" });
        }
        let object = ApiObject::from_map(serde_json::Map::from_iter([
            ("kind".to_owned(), (&*resource.kind).into()),
            (
                "apiVersion".to_owned(),
                resource.api_version(self.served.version).into(),
            ),
            ("metadata".to_owned(), metadata),
        ]));
        let mut out = br#"{"type":"BOOKMARK","object":"#.to_vec();
        let headers = std::mem::replace(&mut self.headers, Headers::Known);
        self.printer().object(&object, headers, &mut out);
        out.extend_from_slice(b"}\n");
        out.into()
    }
}

/// 410 event: the history begins after `oldest`, and lacks changes after the requested revision.
fn gone(asked: Revision, oldest: Revision) -> Bytes {
    let message = format!("too old resource version: {} ({})", asked.0, oldest.0);
    error_line(&ApiError::Expired(message))
}

/// `ERROR` event with the `Status` of an error.
pub(super) fn error_line(error: &ApiError) -> Bytes {
    let mut out = br#"{"type":"ERROR","object":"#.to_vec();
    json::encode_into(&Status::from(error).to_value(), &mut out);
    out.extend_from_slice(b"}\n");
    out.into()
}
