//! API server identity leases, and garbage collection of expired ones.

use lockstep_object::Object;
use lockstep_object::metadata::Micros;
use serde_json::json;

use crate::names::LEASES;
use crate::{Action, ClusterView, Propagation};

/// Namespace of identity leases.
pub const NAMESPACE: &str = "kube-system";
/// Lease duration in seconds.
pub const IDENTITY_SECONDS: i64 = 3600;
const LABEL: &str = "apiserver.kubernetes.io/identity";
const LABEL_VALUE: &str = "kube-apiserver";

/// The lease of a server: new, or the stored one renewed.
pub fn identity(
    stored: Option<&Object>,
    name: &str,
    host: &str,
    holder: &str,
    now: Micros,
) -> Object {
    let mut lease = stored.cloned().unwrap_or_else(|| {
        crate::made(json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "labels": { LABEL: LABEL_VALUE, "kubernetes.io/hostname": host },
            },
        }))
    });
    let spec = json!({
        "holderIdentity": holder,
        "leaseDurationSeconds": IDENTITY_SECONDS,
        "renewTime": now.to_string(),
    });
    lease.fields_mut().insert("spec".to_owned(), spec);
    lease
}

/// Deletes expired identity leases.
pub fn collect(cluster: &dyn ClusterView, now: Micros) -> Vec<Action> {
    let leases = LEASES.resource();
    let ids = cluster.keys(&leases, Some(NAMESPACE));
    let ids = ids.into_iter().map(|key| leases.id(&key));
    let stored = ids.filter_map(|id| cluster.object(&id).map(|stored| (id, stored)));
    stored
        .filter(|(_, stored)| is_dead(&stored.object, now))
        .map(|(id, stored)| Action::Delete {
            id,
            revision: stored.revision,
            propagation: Propagation::Background,
        })
        .collect()
}

fn is_dead(lease: &Object, now: Micros) -> bool {
    if lease.label(LABEL) != Some(LABEL_VALUE) {
        return false;
    }
    let text = |field| lease.at(&["spec", field]).and_then(|value| value.as_str());
    let renewed = text("renewTime").and_then(|text| text.parse::<Micros>().ok());
    let seconds = lease.at(&["spec", "leaseDurationSeconds"]);
    let seconds = seconds.and_then(serde_json::Value::as_i64);
    match (renewed, seconds) {
        (Some(renewed), Some(seconds)) => {
            let until = renewed
                .unix()
                .saturating_add(seconds.saturating_mul(1_000_000));
            until < now.unix()
        }
        // A lease without holder or renew time is invalid and collected.
        _ => true,
    }
}
