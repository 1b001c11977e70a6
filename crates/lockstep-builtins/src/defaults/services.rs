//! Defaults of services, network policies, nodes and limit ranges.

use lockstep_object::{Map, Value};
use serde_json::json;

use super::Fields;
use crate::look::{fill, map_in};

/// Default timeout of `ClientIP` session affinity.
const AFFINITY_SECONDS: i64 = 10_800;

fn text<'v>(fields: &'v Fields, field: &str) -> &'v str {
    fields
        .get(field)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Defaults that depend on the service type and session affinity.
pub(super) fn service_spec(spec: &mut Fields) {
    match text(spec, "sessionAffinity") {
        "None" => drop(spec.remove("sessionAffinityConfig")),
        "ClientIP" => {
            let client = map_in(map_in(spec, "sessionAffinityConfig"), "clientIP");
            fill(client, "timeoutSeconds", AFFINITY_SECONDS);
        }
        _ => {}
    }
    let (has_ip, is_outside) = match text(spec, "type") {
        "ClusterIP" => (true, !external_ips(spec).is_empty()),
        "NodePort" | "LoadBalancer" => (true, true),
        _ => (false, false),
    };
    if is_outside && text(spec, "externalTrafficPolicy").is_empty() {
        spec.insert("externalTrafficPolicy".to_owned(), "Cluster".into());
    }
    if has_ip {
        fill(spec, "internalTrafficPolicy", "Cluster");
    }
    if text(spec, "type") == "LoadBalancer" {
        fill(spec, "allocateLoadBalancerNodePorts", true);
    }
}

fn external_ips(spec: &Fields) -> &[Value] {
    let list = spec.get("externalIPs").and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// A port leads to the same port.
pub(super) fn service_port(port: &mut Fields) {
    let target = port.get("targetPort");
    if target.is_none_or(|target| target.is_null() || *target == 0 || *target == "") {
        let own = port.get("port").cloned().unwrap_or_else(|| 0.into());
        port.insert("targetPort".to_owned(), own);
    }
}

/// `allocatable` defaults to `capacity`.
pub(super) fn node_status(status: &mut Fields) {
    let has_own = status.get("allocatable").is_some_and(Value::is_object);
    let capacity = status.get("capacity").filter(|_| !has_own).cloned();
    if let Some(capacity) = capacity {
        status.insert("allocatable".to_owned(), capacity);
    }
}

/// Defaults of container limit range items: default limits from maxima, default requests from limits and minima.
pub(super) fn limit_range_item(item: &mut Fields) {
    if text(item, "type") != "Container" {
        return;
    }
    let of = |item: &Fields, field: &str| -> Map<String, Value> {
        item.get(field)
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default()
    };
    let fill_from = |item: &mut Fields, field: &str, amounts: Map<String, Value>| {
        let own = map_in(item, field);
        for (name, amount) in amounts {
            own.entry(name).or_insert(amount);
        }
    };
    let max = of(item, "max");
    fill_from(item, "default", max);
    let default = of(item, "default");
    fill_from(item, "defaultRequest", default);
    let min = of(item, "min");
    fill_from(item, "defaultRequest", min);
}

/// `policyTypes` defaults to Ingress, plus Egress if there are egress rules.
pub(super) fn network_policy_spec(spec: &mut Fields) {
    let types = spec.get("policyTypes").and_then(Value::as_array);
    if types.is_some_and(|types| !types.is_empty()) {
        return;
    }
    let egress = spec.get("egress").and_then(Value::as_array);
    let types = if egress.is_some_and(|rules| !rules.is_empty()) {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    spec.insert("policyTypes".to_owned(), types);
}

/// Defaults of an exempt priority level.
pub(super) fn priority_level_spec(spec: &mut Fields) {
    if text(spec, "type") == "Exempt" {
        map_in(spec, "exempt");
    }
}
