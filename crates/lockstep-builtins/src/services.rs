//! Services: cluster IPs and node ports, and their uniqueness.

mod assign;
mod range;

use std::collections::BTreeSet;

use lockstep_object::{Map, Object, Value};
use serde_json::json;

use crate::look::{fill, list, map_in, number, some, text};

pub use assign::{Pool, assign};
pub use range::{BadRange, ServiceRange};

/// An address that a service has when it has none.
pub(crate) const HEADLESS: &str = "None";

/// Addresses and ports of a service that no other service may use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Allocations {
    /// Its addresses in the cluster.
    pub addresses: BTreeSet<String>,
    /// Its ports on nodes.
    pub node_ports: BTreeSet<i64>,
}

/// The addresses and ports of a stored service.
pub fn allocations(service: &Value) -> Allocations {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let addresses = list(spec, "clusterIPs").iter().filter_map(Value::as_str);
    let ports = list(spec, "ports").iter();
    let ports = ports.filter_map(|port| number(port, "nodePort"));
    let health = number(spec, "healthCheckNodePort");
    Allocations {
        addresses: addresses
            .filter(|address| !matches!(*address, "" | HEADLESS))
            .map(str::to_owned)
            .collect(),
        node_ports: ports.chain(health).filter(|port| *port != 0).collect(),
    }
}

/// True if services of this type have a cluster IP.
pub(crate) fn has_address(spec: &Value) -> bool {
    matches!(
        text(spec, "type"),
        "ClusterIP" | "NodePort" | "LoadBalancer"
    )
}

/// True if services of this type have node ports.
pub(crate) fn has_node_ports(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" => true,
        "LoadBalancer" => spec.get("allocateLoadBalancerNodePorts") != Some(&Value::Bool(false)),
        _ => false,
    }
}

/// True if a load balancer checks node health on `healthCheckNodePort`.
pub(crate) fn has_health_port(spec: &Value) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

/// Synchronizes `clusterIP` with the first of `clusterIPs` on create.
pub(crate) fn prepare_for_create(service: &mut Object) {
    align_addresses(map_in(service.fields_mut(), "spec"), None);
    choose_families(service, None);
}

/// Keeps allocated addresses and ports on update, unless the new type does not use them.
pub(crate) fn prepare_for_update(service: &mut Object, old: &Object) {
    let old_spec = old.as_value().get("spec").unwrap_or(&Value::Null);
    let spec = map_in(service.fields_mut(), "spec");
    align_addresses(spec, Some(old_spec));
    keep_given(spec, old_spec);
    drop_useless(spec, old_spec);
    choose_families(service, Some(old_spec));
}

fn align_addresses(spec: &mut Map<String, Value>, old: Option<&Value>) {
    let spec_value = Value::Object(spec.clone());
    let (alone, all) = (
        text(&spec_value, "clusterIP"),
        list(&spec_value, "clusterIPs"),
    );
    let (old_alone, old_all) = match old {
        Some(old) => (text(old, "clusterIP"), list(old, "clusterIPs")),
        None => ("", [].as_slice()),
    };
    // A client that changes one of the two fields means both.
    if alone.is_empty() && !all.is_empty() && (old_alone.is_empty() || all != old_all) {
        spec.insert("clusterIP".to_owned(), all[0].clone());
    } else if alone.is_empty() && all == old_all {
        spec.remove("clusterIPs");
    } else if !alone.is_empty() && (all.is_empty() || (alone != old_alone && all == old_all)) {
        spec.insert("clusterIPs".to_owned(), json!([alone]));
    }
}

fn keep_given(spec: &mut Map<String, Value>, old: &Value) {
    let new = Value::Object(spec.clone());
    if has_address(old) && has_address(&new) && text(&new, "clusterIP").is_empty() {
        for field in ["clusterIP", "clusterIPs"] {
            if let Some(kept) = some(old, field) {
                spec.insert(field.to_owned(), kept.clone());
            }
        }
    }
    if has_node_ports(old) && has_node_ports(&new) {
        let old_ports = list(old, "ports");
        let used: BTreeSet<i64> = list(&new, "ports")
            .iter()
            .filter_map(|port| number(port, "nodePort"))
            .collect();
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten() {
            // Ports correspond by name, whatever else changed.
            let same = |known: &&Value| text(known, "name") == text(port, "name");
            let known = old_ports.iter().find(same);
            let known = known.and_then(|known| number(known, "nodePort"));
            let has_own = number(port, "nodePort").unwrap_or_default() != 0;
            if let Some(known) = known.filter(|known| !has_own && !used.contains(known)) {
                port["nodePort"] = known.into();
            }
        }
    }
    let health = number(old, "healthCheckNodePort");
    if let Some(port) = health.filter(|_| has_health_port(old) && has_health_port(&new)) {
        fill(spec, "healthCheckNodePort", port);
    }
}

/// Drops fields that the service type does not use, if the client did not change them.
fn drop_useless(spec: &mut Map<String, Value>, old: &Value) {
    let new = Value::Object(spec.clone());
    let is_same = |field: &str| new.get(field) == old.get(field);
    let drop_same = |spec: &mut Map<String, Value>, fields: &[&str]| {
        for field in fields.iter().filter(|field| is_same(field)) {
            spec.remove(*field);
        }
    };
    if has_address(old) && !has_address(&new) {
        drop_same(
            spec,
            &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"],
        );
    }
    let ports_of = |spec: &Value| -> Vec<Option<i64>> {
        let ports = list(spec, "ports").iter();
        ports.map(|port| number(port, "nodePort")).collect()
    };
    if has_node_ports(old) && !has_node_ports(&new) && ports_of(old) == ports_of(&new) {
        let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
        for port in ports.into_iter().flatten().filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    if has_health_port(old) && !has_health_port(&new) {
        drop_same(spec, &["healthCheckNodePort"]);
    }
    if text(old, "type") == "LoadBalancer" && text(&new, "type") != "LoadBalancer" {
        drop_same(
            spec,
            &["allocateLoadBalancerNodePorts", "loadBalancerClass"],
        );
    }
    if is_outside(old) && !is_outside(&new) {
        drop_same(spec, &["externalTrafficPolicy"]);
    }
}

/// True if the service accepts external traffic.
pub(crate) fn is_outside(spec: &Value) -> bool {
    match text(spec, "type") {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    }
}

/// The families of its addresses, and how many there are.
fn choose_families(service: &mut Object, old: Option<&Value>) {
    let spec = map_in(service.fields_mut(), "spec");
    let value = Value::Object(spec.clone());
    if !has_address(&value) {
        return;
    }
    let is_free = text(&value, "clusterIP") == HEADLESS && !has_entries(&value, "selector");
    let kept = old
        .map(|old| text(old, "ipFamilyPolicy"))
        .filter(|policy| !policy.is_empty());
    let policy = match kept {
        Some(policy) => policy,
        None if is_free => "RequireDualStack",
        None => "SingleStack",
    };
    fill(spec, "ipFamilyPolicy", policy);
    let families = spec.get("ipFamilies").and_then(Value::as_array).cloned();
    let mut families = families.unwrap_or_default();
    if families.is_empty() {
        let first = list(&value, "clusterIPs").first().and_then(Value::as_str);
        let is_six = first.is_some_and(|address| address.contains(':'));
        families.push(if is_six { "IPv6" } else { "IPv4" }.into());
    }
    let is_single = spec.get("ipFamilyPolicy") == Some(&"SingleStack".into());
    if is_free && families.len() == 1 && !is_single {
        let other = if families[0] == "IPv4" {
            "IPv6"
        } else {
            "IPv4"
        };
        families.push(other.into());
    }
    spec.insert("ipFamilies".to_owned(), families.into());
}

fn has_entries(value: &Value, field: &str) -> bool {
    let map = value.get(field).and_then(Value::as_object);
    map.is_some_and(|map| !map.is_empty())
}
