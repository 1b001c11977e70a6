//! Discovery documents: aggregated and unaggregated.

use std::sync::Arc;

use lockstep_apiserver::builtin;
use lockstep_apiserver::cache::BucketKey;
use lockstep_apiserver::discovery::{
    Aggregated, api_group, api_group_list, api_resource_list, api_versions, group_discovery_list,
};
use lockstep_apiserver::route::Verb;
use lockstep_catalog::{
    Origin, Present, Registry, Resource, SpecialKind, Strategy, Subresource, Transform, Validate,
    Validation, Version, VersionIndex, Versions,
};
use lockstep_object::Object;
use lockstep_object::metadata::{Scope, StatusField};
use lockstep_storage::Revision;
use serde_json::{Value, json};

struct Plain;

impl Strategy for Plain {
    fn status(&self, _: VersionIndex) -> StatusField {
        StatusField::Separate
    }

    fn tracks_generation(&self) -> bool {
        true
    }
}

impl Transform for Plain {
    fn prune_and_default(
        &self,
        _: VersionIndex,
        _: &mut Object,
        _: Option<&Object>,
    ) -> Vec<String> {
        Vec::new()
    }
}

impl Validate for Plain {
    fn validate(
        &self,
        _: VersionIndex,
        _: &Object,
        _: Option<&Object>,
        _: Option<Subresource>,
    ) -> Validation {
        Validation::default()
    }
}

impl Present for Plain {}

fn version(name: &str, is_served: bool, subresources: &[Subresource]) -> Version {
    Version {
        name: name.into(),
        is_served,
        subresources: subresources.to_vec(),
        deprecation: None,
    }
}

fn widgets(group: &str, versions: Vec<Version>, storage: usize) -> Resource {
    Resource {
        group: group.into(),
        plural: "widgets".into(),
        singular: "widget".into(),
        kind: "Widget".into(),
        list_kind: "WidgetList".into(),
        short_names: vec!["wd".into()],
        categories: vec!["all".into()],
        scope: Scope::Namespaced,
        verbs: &[Verb::Watch, Verb::Get, Verb::List],
        versions: Versions::new(versions, storage),
        bucket: BucketKey::new(format!("{group}/widgets")),
        origin: Origin::Custom,
        special: SpecialKind::Plain,
        schema_revision: Revision::NONE,
        is_terminating: false,
        strategy: Arc::new(Plain),
    }
}

/// api-machinery.md §2/order: GA by number, then beta, alpha, then other names.
#[test]
fn versions_are_in_order_of_preference_and_unserved_ones_are_left_out() {
    let names = ["v1beta1", "v10", "v2", "foo1", "v1alpha1"];
    let mut versions: Vec<Version> = names.iter().map(|name| version(name, true, &[])).collect();
    versions.push(version("v3", false, &[]));
    let registry = Registry::new([widgets("ex.io", versions, 0)]);
    let group = api_group(&registry, "ex.io").expect("it is served");
    let served: Vec<&Value> = group["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    let served: Vec<&str> = served
        .iter()
        .filter_map(|v| v["version"].as_str())
        .collect();
    assert_eq!(served, ["v10", "v2", "v1beta1", "v1alpha1", "foo1"]);
    assert_eq!(
        group["preferredVersion"],
        json!({ "groupVersion": "ex.io/v10", "version": "v10" })
    );
    assert_eq!(api_resource_list(&registry, "ex.io", "v3"), None);
    assert_eq!(api_group(&registry, "other.io"), None);
}

/// api-machinery.md §2/storage-version-hash, storage-version.md §10: vectors of the hash.
#[test]
fn the_storage_version_hash_is_of_the_storage_version() {
    let hash = |group: &str, versions: Vec<Version>, storage: usize, asked: &str| {
        let registry = Registry::new([widgets(group, versions, storage)]);
        let list = api_resource_list(&registry, group, asked).expect("it is served");
        list["resources"][0]["storageVersionHash"].clone()
    };
    let both = |v1: bool, v2: bool| vec![version("v1", v1, &[]), version("v2", v2, &[])];
    assert_eq!(hash("ex.io", both(true, false), 0, "v1"), "RDFwhYKgK0s=");
    assert_eq!(
        hash("example.com", both(true, true), 0, "v2"),
        "gIwvi5rymmg="
    );
    assert_eq!(
        hash("example.com", both(true, true), 1, "v1"),
        "zRcoV5EeA3s="
    );
    assert_eq!(hash("example.com", both(true, false), 1, "v1"), Value::Null);
}

/// api-machinery.md §2/legacy, §2/aggregated.
#[test]
fn a_custom_resource_is_listed_with_its_parts_in_both_forms() {
    let parts = [Subresource::Status, Subresource::Scale];
    let versions = vec![version("v1", true, &parts)];
    let registry = Registry::new([widgets("ex.io", versions, 0)]);
    assert_eq!(
        api_resource_list(&registry, "ex.io", "v1").expect("it is served"),
        json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "ex.io/v1",
            "resources": [
                { "name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
                  "verbs": ["get", "list", "watch"], "shortNames": ["wd"], "categories": ["all"],
                  "storageVersionHash": "RDFwhYKgK0s=" },
                { "name": "widgets/status", "singularName": "", "namespaced": true, "kind": "Widget",
                  "verbs": ["get", "patch", "update"] },
                { "name": "widgets/scale", "singularName": "", "namespaced": true,
                  "group": "autoscaling", "version": "v1", "kind": "Scale",
                  "verbs": ["get", "patch", "update"] },
            ],
        })
    );
    let kind = json!({ "group": "ex.io", "version": "v1", "kind": "Widget" });
    assert_eq!(
        group_discovery_list(&registry, Aggregated::Named, "v2"),
        json!({
            "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
            "items": [{
                "metadata": { "name": "ex.io", "creationTimestamp": null },
                "versions": [{ "version": "v1", "freshness": "Current", "resources": [{
                    "resource": "widgets", "responseKind": kind, "scope": "Namespaced",
                    "singularResource": "widget", "verbs": ["get", "list", "watch"],
                    "shortNames": ["wd"], "categories": ["all"],
                    "subresources": [
                        { "subresource": "status", "responseKind": kind,
                          "verbs": ["get", "patch", "update"] },
                        { "subresource": "scale",
                          "responseKind": { "group": "autoscaling", "version": "v1", "kind": "Scale" },
                          "verbs": ["get", "patch", "update"] },
                    ],
                }] }],
            }],
        })
    );
    let core = group_discovery_list(&registry, Aggregated::Core, "v2beta1");
    assert_eq!(core["items"], json!([]));
}

/// api-machinery.md §2/order, §2/aggregated.
#[test]
fn the_core_group_is_in_api_only_and_built_in_groups_come_first() {
    let mut registry = Registry::new(builtin::resources(
        lockstep_cel::Version::LATEST,
        &builtin::Apis::all(),
    ));
    registry.insert(widgets("a.io", vec![version("v1", true, &[])], 0));
    assert_eq!(
        api_versions(&registry, "10.0.0.1:6443"),
        json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [
                { "clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.1:6443" },
            ],
        })
    );
    let list = api_group_list(&registry);
    let names: Vec<&str> = list["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|group| group["name"].as_str())
        .collect();
    assert_eq!(
        names,
        [
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
            "a.io"
        ]
    );
}
