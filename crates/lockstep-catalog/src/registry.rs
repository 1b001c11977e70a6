//! The resources that are served at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_mvcc::Revision;
use lockstep_object::GroupVersionKind;

use crate::{Resource, VersionIndex};

/// Resources by group and plural. A registry is immutable once published; the server swaps in a new one.
#[derive(Clone, Default)]
pub struct Registry {
    resources: BTreeMap<(Box<str>, Box<str>), Arc<Resource>>,
}

/// A resource in one of its versions.
#[derive(Clone)]
pub struct Served {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The index of the version.
    pub version: VersionIndex,
}

/// Group, version and plural that a request names, borrowed from it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ResourceId<'a> {
    /// The group; empty for the core group.
    pub group: &'a str,
    /// The version.
    pub version: &'a str,
    /// The plural.
    pub plural: &'a str,
}

impl Served {
    /// Group, version and kind of the objects.
    pub fn gvk(&self) -> GroupVersionKind {
        let version = &self.resource.versions[self.version].name;
        GroupVersionKind::new(&*self.resource.group, &**version, &*self.resource.kind)
    }

    /// True if a webhook converts objects between versions.
    pub fn has_webhook(&self) -> bool {
        self.resource.strategy.converter().is_some()
    }

    /// The revision at which the published schema was replaced; none if it is current.
    pub fn end(&self) -> Option<Revision> {
        self.resource.strategy.schema_change()?.at()
    }

    /// Waits until the published schema is replaced, and returns the revision. Never returns for resources whose
    /// schema is fixed.
    pub async fn ended(&self) -> Revision {
        match self.resource.strategy.schema_change() {
            Some(schema_change) => schema_change.ended().await,
            None => std::future::pending().await,
        }
    }
}

impl Registry {
    /// A registry of these resources. If two have the same group and plural, the later one wins.
    pub fn new(resources: impl IntoIterator<Item = Resource>) -> Self {
        let mut registry = Self::default();
        resources.into_iter().for_each(|r| registry.insert(r));
        registry
    }

    /// Adds or replaces a resource.
    pub fn insert(&mut self, resource: Resource) {
        self.insert_shared(Arc::new(resource));
    }

    /// Adds or replaces a shared resource.
    pub fn insert_shared(&mut self, resource: Arc<Resource>) {
        let key = (resource.group.clone(), resource.plural.clone());
        self.resources.insert(key, resource);
    }

    /// Removes the resources for which `keep` is false.
    pub fn retain(&mut self, keep: impl Fn(&Resource) -> bool) {
        self.resources.retain(|_, resource| keep(resource));
    }

    /// Removes a resource and returns it.
    pub fn remove(&mut self, group: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.remove(&(group.into(), plural.into()))
    }

    /// Looks up a resource by group and plural.
    pub fn resource(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.get(&(group.into(), plural.into()))
    }

    /// Resolves a resource in a served version; none if it does not exist or the version is not served.
    pub fn find<'a>(&self, id: impl Into<ResourceId<'a>>) -> Option<Served> {
        let id = id.into();
        let resource = self.resource(id.group, id.plural)?;
        let version = resource.served_version(id.version)?;
        Some(Served {
            resource: resource.clone(),
            version,
        })
    }

    /// All resources, ordered by group and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// True if at least one resource is served under a group and version.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        let mut of_group = self.iter().filter(|resource| *resource.group == *group);
        of_group.any(|resource| resource.served_version(version).is_some())
    }
}
