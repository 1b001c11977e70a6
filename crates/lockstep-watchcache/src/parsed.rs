//! Objects of one resource, parsed once per version: how a server follows a kind that configures it.
//!
//! A reader always gets the state of the watch cache, so a configuration is in force as soon as the cache shows its
//! write. There is no task and no copy that could lag behind. Unchanged objects are not parsed again.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use bytes::Bytes;
use lockstep_storage::Revision;

use crate::{Bucket, BucketKey, Cache, Object, Scope};

/// Parses one stored object into the configuration items that it holds, in their order.
pub type Parse<T> = fn(&Object) -> Vec<T>;

/// Configuration items of all objects of one bucket.
pub struct Parsed<T> {
    key: &'static str,
    parse: Parse<T>,
    bucket: OnceLock<Arc<Bucket>>,
    state: ArcSwap<State<T>>,
}

/// Parsed state of the bucket at a revision.
struct State<T> {
    revision: Revision,
    objects: Vec<ParsedObject<T>>,
    items: Arc<[Arc<T>]>,
}

struct ParsedObject<T> {
    key: Bytes,
    revision: Revision,
    items: Vec<Arc<T>>,
}

impl<T> Parsed<T> {
    /// Follows the bucket of a resource.
    pub fn new(bucket: &'static str, parse: Parse<T>) -> Self {
        let nothing = State {
            revision: Revision::NONE,
            objects: Vec::new(),
            items: Arc::from([]),
        };
        Self {
            key: bucket,
            parse,
            bucket: OnceLock::new(),
            state: ArcSwap::from_pointee(nothing),
        }
    }

    /// Items in the order of their objects' keys. Without a change this is a load and a comparison.
    pub fn items(&self, cache: &Cache) -> Arc<[Arc<T>]> {
        let bucket = || cache.bucket(&BucketKey::new(self.key));
        let snapshot = self.bucket.get_or_init(bucket).snapshot();
        let known = self.state.load();
        if known.revision == snapshot.revision() {
            return Arc::clone(&known.items);
        }
        let stored = snapshot.objects(&Scope::All, None);
        let objects: Vec<_> = stored
            .map(|object| known.object(object, self.parse))
            .collect();
        let items = objects.iter().flat_map(|object| object.items.clone());
        let items: Arc<[Arc<T>]> = items.collect();
        self.state.store(Arc::new(State {
            revision: snapshot.revision(),
            objects,
            items: Arc::clone(&items),
        }));
        items
    }
}

impl<T> State<T> {
    /// Parses an object, or reuses the items of the same version. Both lists are ordered by key.
    fn object(&self, stored: &Object, parse: Parse<T>) -> ParsedObject<T> {
        let known = self
            .objects
            .binary_search_by(|known| known.key.cmp(&stored.key));
        let known = known.ok().map(|at| &self.objects[at]);
        let items = match known.filter(|known| known.revision == stored.revision) {
            Some(known) => known.items.clone(),
            None => parse(stored).into_iter().map(Arc::new).collect(),
        };
        ParsedObject {
            key: stored.key.clone(),
            revision: stored.revision,
            items,
        }
    }
}
