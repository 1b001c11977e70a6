//! One change of one object, shared by all its watchers.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_storage::Revision;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::Object;

/// Most encodings that a change caches; further ones are made for each request.
const FRAMES_MAX: usize = 8;

/// One change. At least one of `before` and `now` is there.
#[derive(Debug)]
pub struct Change {
    /// The revision of the change, also of a deletion.
    pub revision: Revision,
    /// The key inside the bucket.
    pub key: Bytes,
    /// The object before; none if it was created.
    pub before: Option<Arc<Object>>,
    /// The object after; none if it was deleted.
    pub now: Option<Arc<Object>>,
    /// Time at which the cache received it.
    pub(crate) heard: Instant,
    frames: Mutex<Vec<(Frame, Bytes)>>,
}

/// Cache key of an encoded change: the watch event type and the form.
///
/// The form is a number that the server gives to each pair of served version and media type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Frame {
    /// `ADDED`, `MODIFIED` or `DELETED`.
    pub event: &'static str,
    /// The form.
    pub form: u64,
}

impl Change {
    pub(crate) fn new(
        revision: Revision,
        key: Bytes,
        before: Option<Arc<Object>>,
        now: Option<Arc<Object>>,
        heard: Instant,
    ) -> Self {
        Self {
            revision,
            key,
            before,
            now,
            heard,
            frames: Mutex::default(),
        }
    }

    /// Returns the encoding from the cache, or makes it. Concurrent callers may each make it, since `encode` runs
    /// without the lock.
    pub fn frame(&self, frame: Frame, encode: impl FnOnce() -> Bytes) -> Bytes {
        if let Some(bytes) = self.framed(frame) {
            return bytes;
        }
        let bytes = encode();
        let mut frames = self.frames.lock();
        let is_known = frames.iter().any(|(known, _)| *known == frame);
        if frames.len() < FRAMES_MAX && !is_known {
            frames.push((frame, bytes.clone()));
        }
        bytes
    }

    /// The cached encoding, if there is one.
    pub fn framed(&self, frame: Frame) -> Option<Bytes> {
        let frames = self.frames.lock();
        let found = frames.iter().find(|(known, _)| *known == frame);
        found.map(|(_, bytes)| bytes.clone())
    }

    /// Bytes that the log keeps in memory for this change.
    pub(crate) fn weight(&self) -> usize {
        let value = |object: &Option<Arc<Object>>| object.as_ref().map_or(0, |o| o.value.len());
        size_of::<Self>() + self.key.len() + value(&self.before) + value(&self.now)
    }
}
