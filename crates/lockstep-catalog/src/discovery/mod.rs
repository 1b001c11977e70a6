//! Discovery documents, legacy (one per group) and aggregated, derived from the [`Registry`].

mod aggregated;
mod legacy;

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::compare_versions;
use sha2::{Digest, Sha256};

pub use aggregated::{Aggregated, group_discovery_list};
pub use legacy::{api_group, api_group_list, api_resource_list, api_versions};

use crate::{Registry, Resource, Verb};

/// Built-in groups in upstream's order of priority; other groups follow by name.
const GROUP_ORDER: &[&str] = &[
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
];

/// An API group: its versions in order of preference, with their resources ordered by plural.
struct Group<'a> {
    name: &'a str,
    versions: Vec<(&'a str, Vec<&'a Arc<Resource>>)>,
}

/// All groups with a served version, in discovery order.
fn groups(registry: &Registry) -> Vec<Group<'_>> {
    let mut found: BTreeMap<&str, BTreeMap<&str, Vec<&Arc<Resource>>>> = BTreeMap::new();
    for resource in registry.iter() {
        let versions = found.entry(&resource.group).or_default();
        for version in resource.versions.iter().filter(|version| version.is_served) {
            versions.entry(&version.name).or_default().push(resource);
        }
    }
    let mut groups: Vec<Group<'_>> = found.into_iter().map(group).collect();
    groups.retain(|group| !group.versions.is_empty());
    groups.sort_by_key(|group| {
        let own = GROUP_ORDER.iter().position(|name| *name == group.name);
        (own.unwrap_or(GROUP_ORDER.len()), group.name)
    });
    groups
}

/// All group versions in discovery order, with their resources ordered by plural.
pub fn group_versions(registry: &Registry) -> Vec<(&str, &str, Vec<&Arc<Resource>>)> {
    let groups = groups(registry).into_iter();
    let versions = groups.flat_map(|group| {
        let versions = group.versions.into_iter();
        versions.map(move |(version, resources)| (group.name, version, resources))
    });
    versions.collect()
}

fn group<'a>((name, versions): (&'a str, BTreeMap<&'a str, Vec<&'a Arc<Resource>>>)) -> Group<'a> {
    let mut versions: Vec<_> = versions.into_iter().collect();
    versions.sort_by(|(a, _), (b, _)| compare_versions(a, b));
    Group { name, versions }
}

/// The `storageVersionHash`: a hash of the group, version and kind that objects are encoded in, equal in all served
/// versions. None if the encoding version is not served, as upstream.
fn storage_version_hash(resource: &Resource) -> Option<String> {
    let storage = &resource.versions[resource.encoding_version().index()];
    let (group, version) = match resource.strategy.stored_as() {
        None => (&*resource.group, &*storage.name),
        Some(stored) => (stored.group, stored.version),
    };
    let text = format!("{group}/{version}/{}", resource.kind);
    let digest = Sha256::digest(text.as_bytes());
    let is_published = storage.is_served && resource.is_stored();
    is_published.then(|| STANDARD.encode(&digest[..8]))
}

fn verbs(verbs: &[Verb]) -> Vec<&'static str> {
    let mut names: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
    names.sort_unstable();
    names
}
