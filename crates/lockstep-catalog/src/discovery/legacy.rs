//! Legacy discovery: one document for each group and group version.

use serde_json::{Value, json};

use super::{Group, groups, storage_version_hash, verbs};
use crate::{Registry, Resource, Subresource};

/// `APIVersions` for `/api`. `address` is the server's address for clients.
pub fn api_versions(registry: &Registry, address: &str) -> Value {
    let groups = groups(registry);
    let core = groups.iter().find(|group| group.name.is_empty());
    let versions = core.into_iter().flat_map(|group| &group.versions);
    json!({
        "kind": "APIVersions",
        "versions": versions.map(|(name, _)| *name).collect::<Vec<_>>(),
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": address }],
    })
}

/// `APIGroupList` for `/apis`.
pub fn api_group_list(registry: &Registry) -> Value {
    let groups = groups(registry);
    let named = groups.iter().filter(|group| !group.name.is_empty());
    json!({
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": named.map(entry).collect::<Vec<_>>(),
    })
}

/// `APIGroup` for `/apis/GROUP`; none if no resource of the group is served.
pub fn api_group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = groups(registry);
    let group = groups.iter().find(|group| group.name == name)?;
    let mut entry = entry(group);
    entry["kind"] = "APIGroup".into();
    entry["apiVersion"] = "v1".into();
    Some(entry)
}

fn entry(group: &Group<'_>) -> Value {
    let version =
        |name: &str| json!({ "groupVersion": format!("{}/{name}", group.name), "version": name });
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|(name, _)| version(name))
        .collect();
    json!({
        "name": group.name,
        "preferredVersion": versions.first(),
        "versions": versions,
    })
}

/// `APIResourceList` for `/api/VERSION` and `/apis/GROUP/VERSION`; none if no resource of it is served.
pub fn api_resource_list(registry: &Registry, group: &str, version: &str) -> Option<Value> {
    let groups = groups(registry);
    let group = groups.iter().find(|found| found.name == group)?;
    let mut versions = group.versions.iter();
    let (_, resources) = versions.find(|(name, _)| *name == version)?;
    let rows = resources
        .iter()
        .flat_map(|resource| rows(resource, version));
    let group_version = match group.name {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": rows.collect::<Vec<_>>(),
    }))
}

/// The entries of a resource and its subresources.
fn rows(resource: &Resource, version: &str) -> Vec<Value> {
    let mut row = json!({
        "name": &*resource.plural,
        "singularName": &*resource.singular,
        "namespaced": resource.is_namespaced(),
        "kind": &*resource.kind,
        "verbs": verbs(resource.verbs),
    });
    if !resource.short_names.is_empty() {
        row["shortNames"] = resource.short_names.iter().map(|n| &**n).collect();
    }
    if !resource.categories.is_empty() {
        row["categories"] = resource.categories.iter().map(|n| &**n).collect();
    }
    if let Some(hash) = storage_version_hash(resource) {
        row["storageVersionHash"] = hash.into();
    }
    let version = resource
        .versions
        .iter()
        .find(|known| *known.name == *version);
    let parts = version
        .into_iter()
        .flat_map(|version| &version.subresources);
    let part = |part: &Subresource| {
        let mut row = json!({
            "name": format!("{}/{}", resource.plural, part.name()),
            "singularName": "",
            "namespaced": resource.is_namespaced(),
            "kind": &*resource.kind,
            "verbs": verbs(part.verbs()),
        });
        if let Some([group, version, kind]) = part.own_kind() {
            if *resource.group != *group {
                row["group"] = group.into();
                row["version"] = version.into();
            }
            row["kind"] = kind.into();
        }
        row
    };
    std::iter::once(row).chain(parts.map(part)).collect()
}
