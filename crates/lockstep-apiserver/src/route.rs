//! The route of a resource request, from its path and method.

pub use lockstep_catalog::Verb;
pub use lockstep_write::ResourceRoute;

use crate::request::RequestInfo;

impl RequestInfo {
    /// The route of the request; none if it is not a resource request, or its method maps to no verb.
    pub fn route(&self) -> Option<ResourceRoute> {
        let path = self.resource.as_ref()?;
        let verb = Verb::ALL
            .into_iter()
            .find(|verb| verb.as_str() == self.verb)?;
        let is_selected = verb.is_of_collection() && !path.is_watch_path;
        let name = if is_selected { "" } else { &path.name };
        Some(ResourceRoute {
            verb,
            group: path.group.clone(),
            version: path.version.clone(),
            namespace: path.namespace.clone(),
            resource: path.resource.clone(),
            name: name.to_owned(),
            subresource: path.subresource.clone(),
        })
    }
}
