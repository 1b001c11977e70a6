//! The state of a bucket at one revision.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use lockstep_storage::{KeyValue, Revision};

use crate::encodings::{Chunk, ChunkKey, Encodings, Listing, bytes_of};
use crate::keys::namespace_of;
use crate::{Object, Scope};

/// The objects of a resource at one revision. Cheap to clone, and never changes.
#[derive(Clone, Default)]
pub struct Snapshot {
    revision: Revision,
    objects: imbl::OrdMap<Bytes, Arc<Object>>,
    /// Number of objects by namespace; cluster-scoped objects count under the empty name.
    counts: imbl::OrdMap<Bytes, usize>,
    lists: Encodings<Listing, Vec<u8>>,
    chunks: Encodings<ChunkKey, Chunk>,
}

impl Snapshot {
    /// Builds the state at a revision from pairs of the store, whose keys lose their first `prefix_bytes` bytes.
    pub fn of(pairs: Vec<Arc<KeyValue>>, prefix_bytes: usize, revision: Revision) -> Self {
        let mut snapshot = Self::default();
        for kv in pairs {
            let key = kv.key.slice(prefix_bytes.min(kv.key.len())..);
            snapshot.put(&Object::new(key, &kv));
        }
        snapshot.advance(revision);
        snapshot
    }

    /// The revision of its newest change, or of the load that made it.
    #[inline]
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// One object by its key: `[namespace/]name`.
    #[inline]
    pub fn get(&self, key: &[u8]) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// Number of objects in a scope.
    pub fn count(&self, scope: &Scope) -> usize {
        match scope {
            Scope::All => self.objects.len(),
            Scope::Namespace(namespace) => {
                let count = self.counts.get(namespace.as_bytes());
                count.copied().unwrap_or_default()
            }
            Scope::Object(key) => usize::from(self.objects.contains_key(key.as_bytes())),
        }
    }

    /// The objects of a scope in key order, those after `after` if it is given.
    #[inline]
    pub fn objects<'a>(
        &'a self,
        scope: &'a Scope,
        after: Option<&Bytes>,
    ) -> impl Iterator<Item = &'a Arc<Object>> {
        let start = scope.start();
        let from = match after {
            Some(after) if *after >= start => Bound::Excluded(after.clone()),
            _ => Bound::Included(start),
        };
        let objects = self.objects.range((from, Bound::Unbounded));
        objects
            .map(|(_, object)| object)
            .take_while(|object| scope.contains(&object.key))
    }

    /// Returns the bytes of a list of this state, made by `encode` unless a response that is still being sent holds
    /// them.
    pub fn encoded<E>(
        &self,
        listing: Listing,
        encode: impl FnOnce() -> Result<Vec<u8>, E>,
    ) -> Result<Bytes, E> {
        Ok(bytes_of(self.lists.share(listing, encode)?))
    }

    /// Returns a chunk of the initial events of watches of this state, made by `encode` unless a watch whose client has
    /// not read it yet holds it; and the key of its last object.
    pub fn chunk(&self, key: ChunkKey, encode: impl FnOnce() -> Chunk) -> (Bytes, Option<Bytes>) {
        let made = || Ok::<_, std::convert::Infallible>(encode());
        let chunk = match self.chunks.share(key, made) {
            Ok(chunk) => chunk,
            Err(never) => match never {},
        };
        let last = chunk.last.clone();
        (bytes_of(chunk), last)
    }

    pub(crate) fn put(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        let before = self.objects.insert(object.key.clone(), object.clone());
        if before.is_none() {
            *self.counts.entry(group(&object.key)).or_default() += 1;
        }
        before
    }

    pub(crate) fn remove(&mut self, key: &Bytes) -> Option<Arc<Object>> {
        let before = self.objects.remove(key)?;
        let group = group(key);
        match self.counts.get_mut(&group) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.counts.remove(&group)),
        }
        Some(before)
    }

    pub(crate) fn advance(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }
}

fn group(key: &Bytes) -> Bytes {
    namespace_of(key).map_or_else(Bytes::new, |namespace| key.slice_ref(namespace))
}
