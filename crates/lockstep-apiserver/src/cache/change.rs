//! One change of one object, shared by all who watch it.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_storage::Revision;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::Object;

/// How many encodings of one change are remembered. A change that is asked for in more ways is
/// encoded again.
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
    /// When the cache heard of it.
    pub(super) heard: Instant,
    frames: Mutex<Vec<(Frame, Bytes)>>,
}

/// Which encoding of a change: as what kind of event, in which form.
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
    pub(super) fn new(
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

    /// The bytes of an encoding, made by the first who asks and shared by the others. Two who ask
    /// at once may both make them.
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

    /// The bytes of an encoding that somebody has made already.
    pub fn framed(&self, frame: Frame) -> Option<Bytes> {
        let frames = self.frames.lock();
        let found = frames.iter().find(|(known, _)| *known == frame);
        found.map(|(_, bytes)| bytes.clone())
    }

    /// What the log keeps alive for this change.
    pub(super) fn weight(&self) -> usize {
        let value = |object: &Option<Arc<Object>>| object.as_ref().map_or(0, |o| o.value.len());
        size_of::<Self>() + self.key.len() + value(&self.before) + value(&self.now)
    }
}
