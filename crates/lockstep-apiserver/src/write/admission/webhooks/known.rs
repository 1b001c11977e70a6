//! Registered webhooks of all webhook configurations, in call order.

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use lockstep_object::{Object, Value};
use lockstep_storage::Revision;

use super::hook::Hook;
use crate::cache::{Bucket, BucketKey, Cache, Object as Cached, Scope};

/// Parsed webhooks of one configuration resource, refreshed when the cached bucket changes.
pub(crate) struct Known {
    bucket: &'static str,
    place: OnceLock<Arc<Bucket>>,
    read: ArcSwap<Read>,
}

/// Webhook configurations as of a revision.
#[derive(Default)]
struct Read {
    revision: Revision,
    configurations: Vec<Configuration>,
    hooks: Arc<[Arc<Hook>]>,
}

#[derive(Clone)]
struct Configuration {
    stored: Arc<Cached>,
    hooks: Vec<Arc<Hook>>,
}

impl Known {
    pub(crate) fn new(bucket: &'static str) -> Self {
        Self {
            bucket,
            place: OnceLock::new(),
            read: ArcSwap::default(),
        }
    }

    /// Webhooks ordered by the name of their configuration, then by position.
    pub(crate) fn hooks(&self, cache: &Cache) -> Arc<[Arc<Hook>]> {
        let place = || cache.bucket(&BucketKey::new(self.bucket));
        let snapshot = self.place.get_or_init(place).snapshot();
        let read = self.read.load();
        if read.revision == snapshot.revision() {
            return Arc::clone(&read.hooks);
        }
        let stored = snapshot.objects(&Scope::All, None);
        let configurations = stored.map(|stored| read.configuration(stored));
        let configurations: Vec<Configuration> = configurations.collect();
        let hooks = configurations.iter().flat_map(|all| all.hooks.clone());
        let hooks: Arc<[Arc<Hook>]> = hooks.collect();
        self.read.store(Arc::new(Read {
            revision: snapshot.revision(),
            configurations,
            hooks: Arc::clone(&hooks),
        }));
        hooks
    }
}

impl Read {
    /// Parses a configuration, or reuses the previous result if its revision is unchanged.
    fn configuration(&self, stored: &Arc<Cached>) -> Configuration {
        let known = self.configurations.iter();
        let mut known = known.filter(|known| known.stored.key == stored.key);
        if let Some(known) = known.find(|known| known.stored.revision == stored.revision) {
            return known.clone();
        }
        let value: Option<Value> = serde_json::from_slice(&stored.value).ok();
        let object = value.and_then(|value| Object::from_value(value).ok());
        let hooks = object.map(|object| Hook::read_all(&object));
        let hooks = hooks.unwrap_or_default().into_iter().map(Arc::new);
        Configuration {
            stored: Arc::clone(stored),
            hooks: hooks.collect(),
        }
    }
}
