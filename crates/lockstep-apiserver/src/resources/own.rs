//! Writes of the server itself, for those who log and count them.

use super::{Api, Resource};
use crate::route::Verb;

/// A write of the server itself that was tried.
#[derive(Clone, Copy)]
pub(crate) struct OwnWrite<'a> {
    /// What was written.
    pub(crate) resource: &'a Resource,
    /// Which object of it.
    pub(crate) key: &'a str,
    /// How: it was created, updated or deleted.
    pub(crate) verb: Verb,
    /// What a client would have been answered.
    pub(crate) code: u16,
}

/// Who hears of such writes.
pub(crate) type OwnWrites = Box<dyn Fn(&OwnWrite<'_>) + Send + Sync>;

impl OwnWrite<'_> {
    /// Where a client would have sent it.
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
    /// Says who hears of writes of the server itself. Whoever was said first stays.
    pub(crate) fn tell_own_writes(&self, listener: OwnWrites) {
        let _first = self.own_writes.set(listener);
    }
}
