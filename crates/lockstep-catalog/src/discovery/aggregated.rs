//! Aggregated discovery.

use serde_json::{Value, json};

use super::{groups, verbs};
use crate::{Registry, Resource, Version};

/// The endpoint of aggregated discovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Aggregated {
    /// `/api`: the core group.
    Core,
    /// `/apis`: all others.
    Named,
}

/// `APIGroupDiscoveryList` in a version of `apidiscovery.k8s.io`.
pub fn group_discovery_list(registry: &Registry, half: Aggregated, version: &str) -> Value {
    let groups = groups(registry);
    let is_meant = |name: &str| name.is_empty() == (half == Aggregated::Core);
    let items = groups
        .iter()
        .filter(|group| is_meant(group.name))
        .map(|group| {
            let versions = group.versions.iter().map(|(name, resources)| {
                let resources = resources.iter().map(|found| resource(found, name));
                json!({
                    "version": name,
                    "resources": resources.collect::<Vec<_>>(),
                    "freshness": "Current",
                })
            });
            let metadata = match group.name {
                "" => json!({ "creationTimestamp": null }),
                name => json!({ "name": name, "creationTimestamp": null }),
            };
            json!({ "metadata": metadata, "versions": versions.collect::<Vec<_>>() })
        });
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items.collect::<Vec<_>>(),
    })
}

fn resource(resource: &Resource, version: &str) -> Value {
    let kind = json!({ "group": &*resource.group, "version": version, "kind": &*resource.kind });
    let scope = if resource.is_namespaced() {
        "Namespaced"
    } else {
        "Cluster"
    };
    let mut row = json!({
        "resource": &*resource.plural,
        "responseKind": kind,
        "scope": scope,
        "singularResource": &*resource.singular,
        "verbs": verbs(resource.verbs),
    });
    if !resource.short_names.is_empty() {
        row["shortNames"] = resource.short_names.iter().map(|n| &**n).collect();
    }
    if !resource.categories.is_empty() {
        row["categories"] = resource.categories.iter().map(|n| &**n).collect();
    }
    let version = resource
        .versions
        .iter()
        .find(|known| *known.name == *version);
    let parts = version.map(Version::parts).unwrap_or_default();
    let parts: Vec<Value> = parts
        .iter()
        .map(|part| {
            let own = part.own_kind().map(
                |[group, version, kind]| json!({ "group": group, "version": version, "kind": kind }),
            );
            json!({
                "subresource": part.name(),
                "responseKind": own.unwrap_or_else(|| kind.clone()),
                "verbs": verbs(part.verbs()),
            })
        })
        .collect();
    if !parts.is_empty() {
        row["subresources"] = parts.into();
    }
    row
}
