//! Gauges of stored objects per resource and of the store size.

use std::sync::Arc;

use prometheus::proto::MetricFamily;

use crate::cache::Scope;
use crate::metrics::gauges;
use crate::resources::{Api, Resource};

/// Gauges of stored objects, from the current watch cache, and of the store size.
pub(super) async fn families(api: &Api) -> Vec<MetricFamily> {
    let mut families = object_counts(api);
    families.extend(api.store_bytes().await.map(store_size));
    families
}

fn object_counts(api: &Api) -> Vec<MetricFamily> {
    let registry = api.registry();
    let counted = registry.iter().filter(|resource| {
        // A resource stored as another kind is counted under that kind.
        resource.is_stored() && resource.strategy.stored_as().is_none()
    });
    let counted: Vec<(&Arc<Resource>, usize)> = counted
        .map(|resource| {
            let snapshot = api.cache().bucket(&resource.bucket).snapshot();
            (resource, snapshot.count(&Scope::All))
        })
        .collect();
    let label = |name: &str, value: String| (name.to_owned(), value);
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let family = |name: &str, help: &str, labels: fn(&Resource) -> Vec<(&'static str, String)>| {
        let samples = counted.iter().map(|(resource, count)| {
            let labels = labels(resource).into_iter();
            let labels = labels.map(|(name, value)| label(name, value)).collect();
            (labels, *count as f64)
        });
        gauges(name, help, samples.collect())
    };
    vec![
        family(
            "apiserver_storage_objects",
            "[STABLE] Number of stored objects at the time of last check split by kind.",
            |resource| vec![("resource", resource.group_resource().to_string())],
        ),
        family(
            "apiserver_resource_objects",
            "[ALPHA] Number of stored objects at the time of last check split by kind.",
            |resource| {
                let (group, plural) = (resource.group.to_string(), resource.plural.to_string());
                vec![("group", group), ("resource", plural)]
            },
        ),
    ]
}

/// Gauge of the store size. The single store has the name of upstream's first etcd server.
fn store_size(bytes: u64) -> MetricFamily {
    let cluster = ("storage_cluster_id".to_owned(), "etcd-0".to_owned());
    #[expect(
        clippy::cast_precision_loss,
        reason = "stores are far below 2^52 bytes"
    )]
    let sample = (vec![cluster], bytes as f64);
    gauges(
        "apiserver_storage_size_bytes",
        "[STABLE] Size of the storage database file physically allocated in bytes.",
        vec![sample],
    )
}
