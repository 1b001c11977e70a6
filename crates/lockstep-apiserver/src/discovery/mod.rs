//! What is served, as clients ask for it: group by group as it always was, or all at once.
//!
//! Everything here is derived from the [`Registry`]; a resource that is in it is in discovery.

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

use crate::resources::{Registry, Resource};

/// Groups of the server itself, in the order in which they are shown; others follow by name.
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

/// One group: its versions, preferred ones first, with their resources by plural.
struct Group<'a> {
    name: &'a str,
    versions: Vec<(&'a str, Vec<&'a Arc<Resource>>)>,
}

/// All groups in the order in which they are shown.
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

/// All groups in their versions, as they are shown, with their resources by plural.
pub(crate) fn group_versions(registry: &Registry) -> Vec<(&str, &str, Vec<&Arc<Resource>>)> {
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

/// Which version objects are stored in, as a hash: equal for all served versions.
fn storage_version_hash(resource: &Resource) -> Option<String> {
    let storage = &resource.versions[resource.storage];
    let (group, version) = match resource.strategy.stored_as() {
        None => (&*resource.group, &*storage.name),
        Some(kept) => (kept.group, kept.version),
    };
    let text = format!("{group}/{version}/{}", resource.kind);
    let digest = Sha256::digest(text.as_bytes());
    let is_told = storage.is_served && resource.is_stored();
    is_told.then(|| STANDARD.encode(&digest[..8]))
}

fn verbs(verbs: &[crate::route::Verb]) -> Vec<&'static str> {
    let mut names: Vec<&str> = verbs.iter().map(|verb| verb.as_str()).collect();
    names.sort_unstable();
    names
}
