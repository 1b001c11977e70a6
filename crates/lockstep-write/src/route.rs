//! The route of a resource request: verb, resource, object and subresource.

use lockstep_catalog::{ResourceId, Verb};

/// Verb, resource and object of a resource request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResourceRoute {
    /// The verb.
    pub verb: Verb,
    /// The group; empty for the core group.
    pub group: String,
    /// The version.
    pub version: String,
    /// The namespace in the path; empty at cluster scope.
    pub namespace: String,
    /// The resource.
    pub resource: String,
    /// The name in the path; empty if there is none.
    pub name: String,
    /// The subresource; empty for the object itself.
    pub subresource: String,
}

impl ResourceRoute {
    /// True if the path names an object.
    pub fn is_named(&self) -> bool {
        !self.name.is_empty()
    }
}

impl<'a> From<&'a ResourceRoute> for ResourceId<'a> {
    fn from(route: &'a ResourceRoute) -> Self {
        Self {
            group: &route.group,
            version: &route.version,
            plural: &route.resource,
        }
    }
}
