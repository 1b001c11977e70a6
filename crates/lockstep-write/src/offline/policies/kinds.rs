//! Versions of resources, as policies use them.

use lockstep_admission::evaluate::Versions;
use lockstep_admission::facts::Kind;
use lockstep_admission::request::ResourceVersion;
use lockstep_catalog::{Registry, Served};
use lockstep_object::{ApiError, Object};

use crate::admission::policies::{OfServed, resource_version};

/// All served versions of one resource.
pub(super) struct OfResource {
    versions: Vec<(ResourceVersion, OfServed)>,
}

impl OfResource {
    /// The served versions of the objects of a resource: its own, and those of resources with the same objects.
    pub(super) fn new(registry: &Registry, served: &Served) -> Self {
        let own = &served.resource;
        let beside = registry.iter().filter(|other| {
            other.group == own.group && other.plural == own.plural
                || !own.bucket.name().is_empty() && other.bucket == own.bucket
        });
        let versions = beside.flat_map(|resource| {
            let versions = resource.versions.indexed();
            let served = versions.filter(|(_, version)| version.is_served);
            served.map(|(version, _)| Served {
                resource: resource.clone(),
                version,
            })
        });
        let versions = versions.map(|served| (resource_version(&served), OfServed(served)));
        Self {
            versions: versions.collect(),
        }
    }

    /// All versions except this one.
    pub(super) fn equivalents(&self, requested: &ResourceVersion) -> Vec<ResourceVersion> {
        let versions = self.versions.iter().map(|(version, _)| version);
        versions
            .filter(|version| *version != requested)
            .cloned()
            .collect()
    }

    fn find(&self, version: &ResourceVersion) -> Result<&OfServed, ApiError> {
        let mut versions = self.versions.iter();
        let found = versions.find(|(known, _)| known == version);
        let unknown =
            || ApiError::internal(format!("version {} is unknown", version.resource.version));
        Ok(&found.ok_or_else(unknown)?.1)
    }
}

impl Versions for OfResource {
    fn kind(&self, version: &ResourceVersion) -> Result<&dyn Kind, ApiError> {
        self.find(version).map(|found| -> &dyn Kind { found })
    }

    fn convert(&self, object: &mut Object, to: &ResourceVersion) -> Result<(), ApiError> {
        if object.gvk().as_ref() == Some(&to.kind) {
            return Ok(());
        }
        let Served { resource, version } = &self.find(to)?.0;
        if resource.strategy.converter().is_some() {
            let why = "conversion webhooks are not called offline";
            return Err(ApiError::ConversionFailed(why.to_owned()));
        }
        let from = resource.version_of(object.api_version());
        object.set_gvk(&to.kind);
        if from.is_none_or(|from| !resource.strategy.has_same_schema(from, *version)) {
            resource.strategy.fit(*version, object);
        }
        Ok(())
    }
}
