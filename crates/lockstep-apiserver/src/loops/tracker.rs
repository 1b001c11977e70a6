//! Tracks changes of all resources for the controllers.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_controllers::{Change, ClusterView, Id, Kind, Meta, Resource, Stored};
use lockstep_object::Object;
use lockstep_storage::Revision;

use super::machines::Machines;
use crate::cache::{self, Bucket, Scope, Watching};
use crate::resources::{self, Api, Registry};
use crate::route::Verb;

/// Number of objects after which the task yields to others.
const TURN: usize = 512;

/// Changes were missed or a write failed; the controllers have to restart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fallen;

/// Watches all resources, including those served later.
pub(super) struct Tracker {
    api: Arc<Api>,
    /// Registry at the last check.
    registry: Arc<Registry>,
    tracked: BTreeMap<Resource, Tracked>,
    kinds: Vec<Kind>,
}

struct Tracked {
    bucket: Arc<Bucket>,
    watching: Watching,
}

/// State that the controllers read: complete up to a revision, possibly newer.
pub(super) struct View<'a> {
    tracker: &'a Tracker,
    seen: Revision,
}

impl Tracker {
    pub(super) fn new(api: Arc<Api>) -> Self {
        Self {
            api,
            registry: Arc::default(),
            tracked: BTreeMap::new(),
            kinds: Vec::new(),
        }
    }

    /// View of a state that is complete up to the revision `seen`.
    pub(super) fn view(&self, seen: Revision) -> View<'_> {
        View {
            tracker: self,
            seen,
        }
    }

    /// Delivers all changes up to a revision, possibly newer ones. It does not wait for the end of the stream, because
    /// writers may be faster.
    pub(super) async fn catch_up(
        &mut self,
        visible: Revision,
        machines: &mut Machines,
    ) -> Result<(), Fallen> {
        self.follow_registry(machines).await;
        for (resource, tracked) in &mut self.tracked {
            loop {
                let changes = tracked
                    .watching
                    .take()
                    .map_err(|cache::Expired { .. }| Fallen)?;
                let newest = changes.last().map(|change| change.revision);
                for change in changes {
                    let meta = |object: &Option<Arc<cache::Object>>| {
                        object.as_ref().and_then(|object| meta(object))
                    };
                    let (before, now) = (meta(&change.before), meta(&change.now));
                    tell(
                        machines,
                        resource,
                        &change.key,
                        before.as_ref(),
                        now.as_ref(),
                    );
                }
                if newest.is_none_or(|newest| newest >= visible) {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Starts to watch new resources and drops those that are no longer served.
    async fn follow_registry(&mut self, machines: &mut Machines) {
        let registry = self.api.registry();
        if Arc::ptr_eq(&registry, &self.registry) {
            return;
        }
        // A resource stored as another kind is tracked under that kind.
        let served = registry
            .iter()
            .filter(|resource| resource.is_stored() && resource.strategy.stored_as().is_none());
        let served: BTreeMap<Resource, &Arc<resources::Resource>> = served
            .map(|resource| (Resource::new(&resource.group, &resource.plural), resource))
            .collect();
        self.tracked.retain(|resource, _| {
            let is_served = served.contains_key(resource);
            if !is_served {
                machines.forget(resource);
            }
            is_served
        });
        self.kinds = registry
            .iter()
            .map(|resource| {
                let name = Resource::new(&resource.group, &resource.plural);
                kind(&name, resource, served.contains_key(&name))
            })
            .collect();
        for (resource, served) in served {
            if !self.tracked.contains_key(&resource) {
                let tracked = self.begin(&resource, served, machines).await;
                self.tracked.insert(resource, tracked);
            }
        }
        machines.kinds_changed();
        self.registry = registry;
    }

    async fn begin(
        &self,
        resource: &Resource,
        served: &resources::Resource,
        machines: &mut Machines,
    ) -> Tracked {
        let bucket = self.api.cache().bucket(&served.bucket);
        let (snapshot, watching) = bucket.snapshot_and_watch(Scope::All);
        for (at, object) in snapshot.objects(&Scope::All, None).enumerate() {
            tell(machines, resource, &object.key, None, meta(object).as_ref());
            if at % TURN == TURN - 1 {
                tokio::task::yield_now().await;
            }
        }
        Tracked { bucket, watching }
    }
}

/// Delivers a change to the controllers. Values that are not objects are ignored.
fn tell(
    machines: &mut Machines,
    resource: &Resource,
    key: &[u8],
    before: Option<&Meta>,
    now: Option<&Meta>,
) {
    let Ok(key) = std::str::from_utf8(key) else {
        return;
    };
    if before.is_some() || now.is_some() {
        let id = &resource.id(key);
        machines.observe(&Change { id, before, now });
    }
}

fn meta(object: &cache::Object) -> Option<Meta> {
    Meta::read(&object.value, object.revision.0)
}

fn kind(name: &Resource, served: &resources::Resource, is_tracked: bool) -> Kind {
    let versions = served.versions.iter().filter(|version| version.is_served);
    Kind {
        resource: name.clone(),
        kind: served.kind.clone(),
        versions: versions.map(|version| version.name.clone()).collect(),
        is_namespaced: served.is_namespaced(),
        is_deletable: is_tracked && served.verbs.contains(&Verb::Delete),
    }
}

impl View<'_> {
    fn find(&self, id: &Id) -> Option<Arc<cache::Object>> {
        let tracked = self.tracker.tracked.get(&id.resource)?;
        let snapshot = tracked.bucket.snapshot();
        snapshot.get(id.key.as_bytes()).cloned()
    }
}

impl ClusterView for View<'_> {
    fn seen(&self) -> u64 {
        self.seen.0
    }

    fn kinds(&self) -> &[Kind] {
        &self.tracker.kinds
    }

    fn meta(&self, id: &Id) -> Option<Meta> {
        meta(&*self.find(id)?)
    }

    fn object(&self, id: &Id) -> Option<Stored> {
        let found = self.find(id)?;
        Some(Stored {
            object: Object::read(&found.value)?,
            revision: found.revision.0,
        })
    }

    fn keys(&self, resource: &Resource, namespace: Option<&str>) -> Vec<Arc<str>> {
        let Some(tracked) = self.tracker.tracked.get(resource) else {
            return Vec::new();
        };
        let scope = namespace.map_or(Scope::All, |name| Scope::Namespace(name.into()));
        let snapshot = tracked.bucket.snapshot();
        let objects = snapshot.objects(&scope, None);
        let keys = objects.filter_map(|object| std::str::from_utf8(&object.key).ok());
        keys.map(Arc::from).collect()
    }
}
