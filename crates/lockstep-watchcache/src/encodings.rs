//! Encoded lists and initial events of one state, shared by concurrent responses.

use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

use crate::Scope;

/// Most encodings of one state that are shared; further ones are made for each response.
pub(crate) const SHARED_MAX: usize = 64;

/// Key of an encoded list: the scope, and the form as in [`Frame`](crate::Frame).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// The scope.
    pub scope: Scope,
    /// The form.
    pub form: u64,
}

/// Key of a chunk of the initial events of watches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkKey {
    /// Scope and form of the watches.
    pub listing: Listing,
    /// The key after which the chunk begins; none for the first one.
    pub after: Option<Bytes>,
}

/// A chunk of the initial events of watches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Chunk {
    /// The encoded events.
    pub bytes: Vec<u8>,
    /// Key of the last object; none if there is no object left.
    pub last: Option<Bytes>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Encodings that a response still holds. They are weak references, so that idle lists cost no memory.
pub(crate) struct Encodings<Key, Encoded>(Mutex<Vec<(Key, Weak<Encoded>)>>);

impl<Key: PartialEq, Encoded: AsRef<[u8]> + Send + Sync + 'static> Encodings<Key, Encoded> {
    /// Returns an encoding that is still held, or makes one. Concurrent callers may each make it.
    pub(crate) fn share<E>(
        &self,
        key: Key,
        encode: impl FnOnce() -> Result<Encoded, E>,
    ) -> Result<Arc<Encoded>, E> {
        if let Some(shared) = self.held(&key) {
            return Ok(shared);
        }
        let made = Arc::new(encode()?);
        self.hold(key, &made);
        Ok(made)
    }

    fn held(&self, key: &Key) -> Option<Arc<Encoded>> {
        let known = self.0.lock();
        let found = known.iter().find(|(known, _)| known == key);
        found.and_then(|(_, held)| held.upgrade())
    }

    fn hold(&self, key: Key, made: &Arc<Encoded>) {
        let mut known = self.0.lock();
        known.retain(|(known, held)| *known != key && held.strong_count() > 0);
        if known.len() < SHARED_MAX {
            known.push((key, Arc::downgrade(made)));
        }
    }
}

impl<Key, Encoded> Default for Encodings<Key, Encoded> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

/// Starts empty, since a cloned state is about to change.
impl<Key, Encoded> Clone for Encodings<Key, Encoded> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Bytes that hold their encoding.
pub(crate) fn bytes_of<Encoded: AsRef<[u8]> + Send + Sync + 'static>(
    shared: Arc<Encoded>,
) -> Bytes {
    Bytes::from_owner(Shared(shared))
}

struct Shared<Encoded>(Arc<Encoded>);

impl<Encoded: AsRef<[u8]>> AsRef<[u8]> for Shared<Encoded> {
    fn as_ref(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}
