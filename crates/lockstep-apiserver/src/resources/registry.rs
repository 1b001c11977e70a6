//! All resources that are served at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use lockstep_object::GroupVersionKind;

use super::Resource;
use crate::route::ResourceRoute;
use crate::views::Shape;

/// The resources by group and plural. Never changes; the server swaps in a new one.
#[derive(Clone, Default)]
pub struct Registry {
    resources: BTreeMap<(Box<str>, Box<str>), Arc<Resource>>,
}

/// A resource in one of its versions.
#[derive(Clone)]
pub struct Served {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The version.
    pub version: usize,
}

impl Served {
    /// What its objects are.
    pub fn gvk(&self) -> GroupVersionKind {
        let version = &self.resource.versions[self.version].name;
        GroupVersionKind::new(&*self.resource.group, &**version, &*self.resource.kind)
    }

    /// The number of what is shown of its objects in a shape, if that is the same for everybody.
    pub(super) fn form(&self, shape: Shape) -> Option<u64> {
        let since = self.resource.schema_revision.0;
        let shape = shape.shared_number()?;
        Some((since << 16) | (shape << 8) | self.version as u64)
    }
}

impl Registry {
    /// These resources; of two with one group and plural, the later.
    pub fn new(resources: impl IntoIterator<Item = Resource>) -> Self {
        let mut registry = Self::default();
        resources.into_iter().for_each(|r| registry.insert(r));
        registry
    }

    /// Adds or replaces a resource.
    pub fn insert(&mut self, resource: Resource) {
        self.insert_shared(Arc::new(resource));
    }

    /// The same for one that is shared.
    pub fn insert_shared(&mut self, resource: Arc<Resource>) {
        let key = (resource.group.clone(), resource.plural.clone());
        self.resources.insert(key, resource);
    }

    /// Keeps only some resources.
    pub fn retain(&mut self, keep: impl Fn(&Resource) -> bool) {
        self.resources.retain(|_, resource| keep(resource));
    }

    /// Takes a resource out.
    pub fn remove(&mut self, group: &str, plural: &str) -> Option<Arc<Resource>> {
        self.resources.remove(&(group.into(), plural.into()))
    }

    /// A resource by group and plural.
    pub fn resource(&self, group: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.get(&(group.into(), plural.into()))
    }

    /// What a request is about, if it is served.
    pub fn find(&self, route: &ResourceRoute) -> Option<Served> {
        let resource = self.resource(&route.group, &route.resource)?;
        let version = resource.served_version(&route.version)?;
        Some(Served {
            resource: resource.clone(),
            version,
        })
    }

    /// All resources, by group and plural.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// Whether anything is served under a group and version.
    pub fn serves(&self, group: &str, version: &str) -> bool {
        let mut of_group = self.iter().filter(|resource| *resource.group == *group);
        of_group.any(|resource| resource.served_version(version).is_some())
    }
}
