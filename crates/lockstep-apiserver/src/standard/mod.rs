//! Default objects of a cluster other than namespaces and roles: the `kubernetes` Service and its endpoints, the
//! `ServiceCIDR`, system priority classes and flow control.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use lockstep_builtins::services::ServiceRange;
use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use lockstep_storage::Expected;
use serde_json::json;
use tokio::task::JoinSet;

use crate::resources::Api;

mod flow;

pub(crate) use flow::make_mandatory as make_mandatory_flow_control;

/// Most attempts to write an object under concurrent writes.
const TRIES_MAX: usize = 5;
/// Port of the `kubernetes` Service.
const HTTPS: u16 = 443;

/// A default object.
struct Standard {
    group: &'static str,
    plural: &'static str,
    key: &'static str,
    object: Value,
    /// Updates a stored object to its required state; true if that changed it.
    repair: fn(&mut Object, &Object) -> bool,
}

/// Creates missing default objects and repairs others, concurrently. `address` is that of this server. True if all are
/// in place.
pub(crate) async fn make_standard_objects(
    api: &Arc<Api>,
    range: ServiceRange,
    address: &str,
    now: Seconds,
) -> bool {
    let mut making = JoinSet::new();
    let address: SocketAddr = address
        .parse()
        .unwrap_or_else(|_| SocketAddr::from((Ipv4Addr::LOCALHOST, HTTPS)));
    let standards = services(range, address).into_iter();
    let standards = standards
        .chain([service_range(range, now)])
        .chain(priorities());
    for standard in standards.chain(flow::objects(now)) {
        let api = Arc::clone(api);
        making.spawn(async move { make(&api, &standard, now).await });
    }
    let made = making.join_all().await;
    made.into_iter().all(|is_made| is_made)
}

async fn make(api: &Api, standard: &Standard, now: Seconds) -> bool {
    let Standard {
        group, plural, key, ..
    } = *standard;
    let Ok(wanted) = Object::from_value(standard.object.clone()) else {
        return false;
    };
    for _ in 0..TRIES_MAX {
        let (expected, next) = match api.read_internally(group, plural, key).await {
            None => {
                let mut object = wanted.clone();
                object.set_meta_text("uid", &api.new_uid());
                object.set_meta_text("creationTimestamp", &now.to_string());
                (Expected::Absent, object)
            }
            Some((mut stored, revision)) => {
                if !(standard.repair)(&mut stored, &wanted) {
                    return true;
                }
                (Expected::At(revision), stored)
            }
        };
        if api
            .store_internally(group, plural, key, expected, Some(next))
            .await
        {
            return true;
        }
    }
    false
}

/// The `kubernetes` Service with its Endpoints and `EndpointSlice`.
fn services(range: ServiceRange, address: SocketAddr) -> Vec<Standard> {
    let first = range.address(0).to_string();
    let port = address.port();
    let ip = match address.ip() {
        any if any.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        ip => ip,
    };
    let address_type = if ip.is_ipv4() { "IPv4" } else { "IPv6" };
    let metadata =
        |labels: Value| json!({ "name": "kubernetes", "namespace": "default", "labels": labels });
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(json!({ "component": "apiserver", "provider": "kubernetes" })),
        "spec": {
            "clusterIP": first,
            "clusterIPs": [first],
            "internalTrafficPolicy": "Cluster",
            "ipFamilies": [range.family()],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{ "name": "https", "port": HTTPS, "protocol": "TCP", "targetPort": port }],
            "sessionAffinity": "None",
            "type": "ClusterIP",
        },
        "status": { "loadBalancer": {} },
    });
    let endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": metadata(json!({ "endpointslice.kubernetes.io/skip-mirror": "true" })),
        "subsets": [{
            "addresses": [{ "ip": ip.to_string() }],
            "ports": [{ "name": "https", "port": port, "protocol": "TCP" }],
        }],
    });
    let mut slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": metadata(json!({ "kubernetes.io/service-name": "kubernetes" })),
        "addressType": address_type,
        "endpoints": [{ "addresses": [ip.to_string()], "conditions": { "ready": true } }],
        "ports": [{ "name": "https", "port": port, "protocol": "TCP" }],
    });
    slice["metadata"]["generation"] = 1.into();
    let of = |group, plural, object, repair| Standard {
        group,
        plural,
        key: "default/kubernetes",
        object,
        repair,
    };
    vec![
        of("", "services", service, |stored, wanted| {
            let ports =
                |object: &Object| object.at(&["spec", "ports"]).cloned().unwrap_or_default();
            let (is, wanted) = (ports(stored), ports(wanted));
            let differs = is != wanted;
            if let Some(spec) = stored
                .fields_mut()
                .get_mut("spec")
                .filter(|spec| differs && spec.is_object())
            {
                spec["ports"] = wanted;
            }
            differs
        }),
        of("", "endpoints", endpoints, |stored, wanted| {
            add(stored, wanted, "subsets", "ports", "addresses")
        }),
        of("discovery.k8s.io", "endpointslices", slice, replace),
    ]
}

/// The `ServiceCIDR` object. It shows the range of the server that started last.
fn service_range(range: ServiceRange, now: Seconds) -> Standard {
    let ready = json!({
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": now.to_string(),
        "reason": "",
        "message": "Kubernetes default Service CIDR is ready",
    });
    Standard {
        group: "networking.k8s.io",
        plural: "servicecidrs",
        key: "kubernetes",
        object: json!({
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": { "name": "kubernetes" },
            "spec": { "cidrs": [range.to_string()] },
            "status": { "conditions": [ready] },
        }),
        repair: |stored, wanted| {
            let is_same = stored.at(&["spec"]) == wanted.at(&["spec"]);
            if !is_same {
                for part in ["spec", "status"] {
                    let wanted = wanted.at(&[part]).cloned().unwrap_or_default();
                    stored.fields_mut().insert(part.to_owned(), wanted);
                }
            }
            !is_same
        },
    }
}

/// Adds an address to a subset with the same port; a different port replaces all subsets.
fn add(stored: &mut Object, wanted: &Object, list: &str, port: &str, addresses: &str) -> bool {
    let own = wanted.as_value()[list][0].clone();
    let first = stored
        .fields_mut()
        .get_mut(list)
        .and_then(|list| list.get_mut(0));
    match first {
        Some(first) if first.is_object() && first[port] == own[port] => {
            let address = &own[addresses][0];
            let Some(known) = first[addresses].as_array_mut() else {
                return false;
            };
            if known.contains(address) {
                return false;
            }
            known.push(address.clone());
        }
        _ => {
            stored.fields_mut().insert(list.to_owned(), json!([own]));
        }
    }
    true
}

/// Adds an endpoint to an `EndpointSlice` with the same port; a different port replaces all endpoints.
fn replace(stored: &mut Object, wanted: &Object) -> bool {
    let own = wanted.as_value()["endpoints"][0].clone();
    let has_port = stored.at(&["ports"]) == wanted.at(&["ports"]);
    let endpoints = stored.at(&["endpoints"]).and_then(Value::as_array);
    let mut endpoints = endpoints.cloned().unwrap_or_default();
    if has_port
        && endpoints
            .iter()
            .any(|known| known["addresses"] == own["addresses"])
    {
        return false;
    }
    if !has_port {
        endpoints.clear();
        let ports = wanted.at(&["ports"]).cloned().unwrap_or_default();
        stored.fields_mut().insert("ports".to_owned(), ports);
    }
    endpoints.push(own);
    stored
        .fields_mut()
        .insert("endpoints".to_owned(), endpoints.into());
    stored.set_generation(stored.generation() + 1);
    true
}

/// Priority classes of the system, above the range for users.
fn priorities() -> Vec<Standard> {
    const CLASSES: [(&str, i64, &str); 2] = [
        (
            "system-cluster-critical",
            2_000_000_000,
            "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
        ),
        (
            "system-node-critical",
            2_000_001_000,
            "Used for system critical pods that must not be moved from their current node.",
        ),
    ];
    let class = |(name, value, description): (&'static str, i64, &str)| Standard {
        group: "scheduling.k8s.io",
        plural: "priorityclasses",
        key: name,
        object: json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": { "name": name, "generation": 1 },
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
            "value": value,
        }),
        repair: |_, _| false,
    };
    CLASSES.into_iter().map(class).collect()
}
