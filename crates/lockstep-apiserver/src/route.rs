//! The route of a resource request: verb, resource, object and subresource.

use lockstep_catalog::ResourceId;
pub use lockstep_catalog::Verb;

use crate::request::RequestInfo;

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
    /// The route of a request; none if it is not a resource request, or its method maps to no verb.
    pub fn of(info: &RequestInfo) -> Option<Self> {
        let path = info.resource.as_ref()?;
        let verb = Verb::ALL
            .into_iter()
            .find(|verb| verb.as_str() == info.verb)?;
        let is_selected = verb.is_of_collection() && !path.is_watch_path;
        let name = if is_selected { "" } else { &path.name };
        Some(Self {
            verb,
            group: path.group.clone(),
            version: path.version.clone(),
            namespace: path.namespace.clone(),
            resource: path.resource.clone(),
            name: name.to_owned(),
            subresource: path.subresource.clone(),
        })
    }

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
