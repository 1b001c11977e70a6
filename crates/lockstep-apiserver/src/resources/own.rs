//! Writes by the server itself, reported to the access log and metrics.

use super::{Api, Resource};
use crate::route::Verb;

/// An attempted write by the server itself.
#[derive(Clone, Copy)]
pub(crate) struct OwnWrite<'a> {
    /// Resource of the object.
    pub(crate) resource: &'a Resource,
    /// Key of the object: `namespace/name`, or `name` if cluster-scoped.
    pub(crate) key: &'a str,
    /// Create, update or delete.
    pub(crate) verb: Verb,
    /// HTTP status code that a client would have received for this write.
    pub(crate) code: u16,
}

/// Callback for writes by the server itself.
pub(crate) type OwnWrites = Box<dyn Fn(&OwnWrite<'_>) + Send + Sync>;

impl OwnWrite<'_> {
    /// URL path that a client would have used for this write.
    pub(crate) fn path(&self) -> String {
        let Self { resource, key, .. } = self;
        let (namespace, name) = key.split_once('/').unwrap_or(("", key));
        let mut path = match &*resource.group {
            "" => "/api".to_owned(),
            group => format!("/apis/{group}"),
        };
        path += &format!(
            "/{}",
            resource.versions[resource.encoding_version().index()].name
        );
        if !namespace.is_empty() {
            path += &format!("/namespaces/{namespace}");
        }
        path += &format!("/{}", resource.plural);
        if self.verb != Verb::Create {
            path += &format!("/{name}");
        }
        path
    }
}

impl Api {
    /// Sets the callback for writes by the server itself. Only the first call has an effect.
    pub(crate) fn tell_own_writes(&self, listener: OwnWrites) {
        let _first = self.own_writes.set(listener);
    }
}
