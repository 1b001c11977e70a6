//! Versions of resources, as policies use them.

use lockstep_admission::evaluate::Versions;
use lockstep_admission::facts::Kind;
use lockstep_admission::request::ResourceVersion;
use lockstep_catalog::{Registry, ResourceId, Served};
use lockstep_merge::types::Type;
use lockstep_object::{ApiError, GroupVersionResource, Object};

use crate::admission::policies::{OfServed, resource_version};

/// A version whose schema is known, or a kind without one.
pub(super) enum OfVersion {
    Known(OfServed),
    Schemaless,
}

impl Kind for OfVersion {
    fn merge_type(&self) -> Option<Type<'_>> {
        match self {
            Self::Known(kind) => kind.merge_type(),
            Self::Schemaless => None,
        }
    }

    fn prune_and_default(&self, object: &mut Object, old: Option<&Object>) -> Result<(), String> {
        match self {
            Self::Known(kind) => kind.prune_and_default(object, old),
            Self::Schemaless => Ok(()),
        }
    }
}

/// All served versions of one resource.
pub(super) struct OfResource {
    versions: Vec<(ResourceVersion, OfVersion)>,
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
        let versions = versions.map(|served| {
            let version = resource_version(&served);
            (version, OfVersion::Known(OfServed(served)))
        });
        Self {
            versions: versions.collect(),
        }
    }

    /// The versions of the objects in a request of another server. If their kind is not the one that this registry has
    /// for the resource, as with subresources such as `scale`, or the resource is unknown, there is one version without
    /// schema.
    pub(super) fn described(registry: &Registry, version: &ResourceVersion) -> Self {
        let GroupVersionResource {
            group,
            version: name,
            resource,
        } = &version.resource;
        let served = registry.find(ResourceId {
            group,
            version: name,
            plural: resource,
        });
        match served {
            Some(served) if served.gvk() == version.kind => Self::new(registry, &served),
            _ => Self {
                versions: vec![(version.clone(), OfVersion::Schemaless)],
            },
        }
    }

    /// True if objects can be brought into this version.
    pub(super) fn knows(&self, version: &ResourceVersion) -> bool {
        self.versions.iter().any(|(known, _)| known == version)
    }

    /// Checks types, drops unknown fields and applies defaults, if the schema of the version is known.
    pub(super) fn read(
        &self,
        version: &ResourceVersion,
        object: &mut Object,
    ) -> Result<(), ApiError> {
        match self.find(version)? {
            OfVersion::Known(kind) => kind.read(object).map_err(ApiError::bad_request),
            OfVersion::Schemaless => Ok(()),
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

    fn find(&self, version: &ResourceVersion) -> Result<&OfVersion, ApiError> {
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
        let OfVersion::Known(OfServed(Served { resource, version })) = self.find(to)? else {
            let why = format!("objects cannot be converted to {}", to.resource.version);
            return Err(ApiError::ConversionFailed(why));
        };
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
