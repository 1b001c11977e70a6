//! Validation of services.

use std::collections::BTreeSet;
use std::net::IpAddr;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names;
use serde_json::json;

use super::network::{IP, network, reachable, well_formed};
use super::scalar::{port_number, port_or_name};
use super::{Errors, label, labels, one_of_or_none, push_problems, subdomain};
use crate::look::{list, number, some, text};
use crate::services::{HEADLESS, has_address, has_health_port, has_node_ports, is_outside};

pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const BALANCERS_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
/// The longest time that a client stays with one endpoint.
const AFFINITY_SECONDS_MAX: i64 = 86_400;

pub(crate) fn service(service: &Value, errors: &mut Errors) {
    service_after(service, &Value::Null, errors);
}

/// Validates a service that was `old` before; null if it is created.
fn service_after(service: &Value, old: &Value, errors: &mut Errors) {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let path = Path::ROOT.field("spec");
    let kind = text(spec, "type");
    let is_headless = text(spec, "clusterIP") == HEADLESS;
    if list(spec, "ports").is_empty() && !is_headless && kind != "ExternalName" {
        errors.push_with(|| FieldError::required(&path.field("ports"), ""));
    }
    match kind {
        "LoadBalancer" if is_headless => {
            let why = "may not be set to 'None' for LoadBalancer services";
            let path = path.field("clusterIPs");
            let path = path.index(0);
            errors.push_with(|| FieldError::invalid(&path, HEADLESS, why));
        }
        "NodePort" if is_headless => {
            let why = "may not be set to 'None' for NodePort services";
            let path = path.field("clusterIPs");
            let path = path.index(0);
            errors.push_with(|| FieldError::invalid(&path, HEADLESS, why));
        }
        "ExternalName" => external_name(spec, &path, errors),
        _ => {}
    }
    ports(spec, &path, errors);
    labels(&spec["selector"], &path.field("selector"), errors);
    affinity(spec, &path, errors);
    cluster_ips(spec, &path, errors);
    external_ips(spec, &old["spec"], &path, errors);
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of_or_none(kind, &types, &path.field("type"), errors);
    node_ports(spec, &path, errors);
    source_ranges(spec, &path, errors);
    allocation(spec, &path, errors);
    class(spec, &path, errors);
    traffic(spec, &path, errors);
    distribution(spec, &path, errors);
}

/// Validates `externalIPs`. The form of those that are stored already is not judged: older servers took others.
fn external_ips(spec: &Value, old_spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("externalIPs");
    let stored: BTreeSet<&str> = list(old_spec, "externalIPs")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for (index, ip) in list(spec, "externalIPs").iter().enumerate() {
        let (ip, path) = (ip.as_str().unwrap_or_default(), path.index(index));
        if stored.contains(ip) || well_formed(ip, &path, errors).is_some() {
            reachable(ip, &path, errors);
        }
    }
}

/// Validates `appProtocol`.
pub(super) fn app_protocol(port: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(protocol) = some(port, "appProtocol").and_then(Value::as_str) {
        let problems = names::qualified_name(protocol);
        push_problems(problems, protocol, &path.field("appProtocol"), errors);
    }
}

/// Validates `loadBalancerSourceRanges`.
fn source_ranges(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let ranges = list(spec, "loadBalancerSourceRanges");
    // Upstream's spelling.
    let path = path.field("LoadBalancerSourceRanges");
    if !ranges.is_empty() && text(spec, "type") != "LoadBalancer" {
        errors.push_with(|| FieldError::forbidden(&path, BALANCERS_ONLY));
    }
    for (index, range) in ranges.iter().enumerate() {
        let range = range.as_str().unwrap_or_default().trim();
        network(range, &path.index(index), errors);
    }
}

/// Validates `trafficDistribution`.
fn distribution(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    let wish = some(spec, "trafficDistribution").and_then(Value::as_str);
    if let Some(wish) = wish.filter(|wish| !known.contains(wish)) {
        let path = path.field("trafficDistribution");
        errors.push_with(|| FieldError::not_supported(&path, wish, known));
    }
}

fn external_name(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !list(spec, "clusterIPs").is_empty() {
        let why = "may not be set for ExternalName services";
        errors.push_with(|| FieldError::forbidden(&path.field("clusterIPs"), why));
    }
    for field in ["ipFamilies", "ipFamilyPolicy"] {
        let is_empty = list(spec, field).is_empty() && text(spec, field).is_empty();
        if !is_empty {
            let why = "may not be set for ExternalName services";
            errors.push_with(|| FieldError::forbidden(&path.field(field), why));
        }
    }
    let name = text(spec, "externalName").trim_end_matches('.');
    if name.is_empty() {
        errors.push_with(|| FieldError::required(&path.field("externalName"), ""));
    } else {
        subdomain(name, &path.field("externalName"), errors);
    }
}

fn ports(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("ports");
    let all = list(spec, "ports");
    let mut names = BTreeSet::new();
    for (index, port) in all.iter().enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if name.is_empty() {
            if all.len() > 1 {
                errors.push_with(|| FieldError::required(&path.field("name"), ""));
            }
        } else {
            label(name, &path.field("name"), errors);
            if !names.insert(name) {
                errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
            }
        }
        let own = number(port, "port").unwrap_or_default();
        port_number(own, &path.field("port"), errors);
        let protocol = text(port, "protocol");
        one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
        port_or_name(&port["targetPort"], &path.field("targetPort"), errors);
        app_protocol(port, &path, errors);
    }
    let mut seen = BTreeSet::new();
    for (index, port) in all.iter().enumerate() {
        let key = (text(port, "protocol"), number(port, "port"));
        if !seen.insert(key) {
            let value = json!({ "protocol": key.0, "port": key.1 });
            errors.push_with(|| FieldError::duplicate(&path.index(index), &value));
        }
    }
}

fn affinity(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let affinity = text(spec, "sessionAffinity");
    one_of_or_none(
        affinity,
        &["ClientIP", "None"],
        &path.field("sessionAffinity"),
        errors,
    );
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    let seconds = seconds.as_i64();
    let is_wrong = |seconds: &i64| !(1..=AFFINITY_SECONDS_MAX).contains(seconds);
    if let Some(seconds) = seconds.filter(is_wrong).filter(|_| affinity == "ClientIP") {
        let config = path.field("sessionAffinityConfig");
        let client = config.field("clientIP");
        let why = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
        errors.push_with(|| FieldError::invalid(&client.field("timeoutSeconds"), seconds, why));
    }
}

fn cluster_ips(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !has_address(spec) {
        return;
    }
    let path = path.field("clusterIPs");
    for (index, ip) in list(spec, "clusterIPs").iter().enumerate() {
        let ip = ip.as_str().unwrap_or_default();
        if ip != HEADLESS && ip.parse::<IpAddr>().is_err() {
            errors.push_with(|| FieldError::invalid(&path.index(index), ip, IP));
        }
    }
}

fn node_ports(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = text(spec, "type");
    if has_node_ports(spec) || kind == "LoadBalancer" {
        return;
    }
    let path = path.field("ports");
    for (index, port) in list(spec, "ports").iter().enumerate() {
        if number(port, "nodePort").unwrap_or_default() != 0 {
            let path = path.index(index);
            let why = format!("may not be used when `type` is '{kind}'");
            errors.push_with(|| FieldError::forbidden(&path.field("nodePort"), why));
        }
    }
}

fn traffic(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let outside = text(spec, "externalTrafficPolicy");
    let place = path.field("externalTrafficPolicy");
    if is_outside(spec) {
        one_of_or_none(outside, &["Cluster", "Local"], &place, errors);
    } else if !outside.is_empty() {
        let why = "may only be set for externally-accessible services";
        errors.push_with(|| FieldError::invalid(&place, outside, why));
    }
    let inside = text(spec, "internalTrafficPolicy");
    one_of_or_none(
        inside,
        &["Cluster", "Local"],
        &path.field("internalTrafficPolicy"),
        errors,
    );
    let health = number(spec, "healthCheckNodePort").filter(|port| *port != 0);
    if let Some(port) = health.filter(|_| !has_health_port(spec)) {
        let why =
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        errors.push_with(|| FieldError::invalid(&path.field("healthCheckNodePort"), port, why));
    }
}

fn allocation(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let is_balancer = text(spec, "type") == "LoadBalancer";
    if some(spec, "allocateLoadBalancerNodePorts").is_some() && !is_balancer {
        let path = path.field("allocateLoadBalancerNodePorts");
        errors.push_with(|| FieldError::forbidden(&path, BALANCERS_ONLY));
    }
}

fn class(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(class) = some(spec, "loadBalancerClass").and_then(Value::as_str) else {
        return;
    };
    let path = path.field("loadBalancerClass");
    if text(spec, "type") == "LoadBalancer" {
        push_problems(names::qualified_name(class), class, &path, errors);
    } else {
        errors.push_with(|| FieldError::forbidden(&path, BALANCERS_ONLY));
    }
}

pub(crate) fn service_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, old_spec) = (&new["spec"], &old["spec"]);
    let path = Path::ROOT.field("spec");
    if has_address(spec) && has_address(old_spec) {
        let place = path.field("clusterIPs");
        let before = list(old_spec, "clusterIPs").first();
        if before.is_some() && before != list(spec, "clusterIPs").first() {
            let value = &spec["clusterIPs"];
            let why = "may not change once set";
            errors.push_with(|| FieldError::invalid(&place.index(0), value, why));
        }
    }
    let is_balancer = |spec: &Value| text(spec, "type") == "LoadBalancer";
    let class = |spec: &Value| spec["loadBalancerClass"].clone();
    if is_balancer(spec) && is_balancer(old_spec) && class(spec) != class(old_spec) {
        let path = path.field("loadBalancerClass");
        let why = "may not change once set";
        errors.push_with(|| FieldError::invalid(&path, &class(spec), why));
    }
    let health = |spec: &Value| number(spec, "healthCheckNodePort").unwrap_or_default();
    if has_health_port(spec) && has_health_port(old_spec) && health(spec) != health(old_spec) {
        let path = path.field("healthCheckNodePort");
        errors.push_with(|| FieldError::forbidden(&path, "field is immutable"));
    }
    service_after(new, old, errors);
}
