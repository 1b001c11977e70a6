//! Services, and where they lead.

use std::collections::BTreeSet;
use std::net::IpAddr;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names;
use serde_json::json;

use super::network::{IP, address};
use super::scalar::{port_number, port_or_name};
use super::{Errors, label, labels, one_of_or_none, subdomain, told};
use crate::look::{list, number, some, text};
use crate::services::{HEADLESS, has_address, has_health_port, has_node_ports, is_outside};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
/// The longest time that a client stays with one endpoint.
const AFFINITY_SECONDS_MAX: i64 = 86_400;

pub(crate) fn service(service: &Value, errors: &mut Errors) {
    let spec = service.get("spec").unwrap_or(&Value::Null);
    let path = Path::ROOT.field("spec");
    let kind = text(spec, "type");
    let is_headless = text(spec, "clusterIP") == HEADLESS;
    if list(spec, "ports").is_empty() && !is_headless && kind != "ExternalName" {
        errors.push(FieldError::required(&path.field("ports"), ""));
    }
    match kind {
        "LoadBalancer" if is_headless => {
            let why = "may not be set to 'None' for LoadBalancer services";
            let path = path.field("clusterIPs");
            let path = path.index(0);
            errors.push(FieldError::invalid(&path, HEADLESS, why));
        }
        "NodePort" if is_headless => {
            let why = "may not be set to 'None' for NodePort services";
            let path = path.field("clusterIPs");
            let path = path.index(0);
            errors.push(FieldError::invalid(&path, HEADLESS, why));
        }
        "ExternalName" => external_name(spec, &path, errors),
        _ => {}
    }
    ports(spec, &path, errors);
    labels(&spec["selector"], &path.field("selector"), errors);
    affinity(spec, &path, errors);
    cluster_ips(spec, &path, errors);
    let ips_path = path.field("externalIPs");
    for (index, ip) in list(spec, "externalIPs").iter().enumerate() {
        let path = ips_path.index(index);
        address(ip.as_str().unwrap_or_default(), &path, errors);
    }
    let types = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of_or_none(kind, &types, &path.field("type"), errors);
    node_ports(spec, &path, errors);
    traffic(spec, &path, errors);
}

fn external_name(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !list(spec, "clusterIPs").is_empty() {
        let why = "may not be set for ExternalName services";
        errors.push(FieldError::forbidden(&path.field("clusterIPs"), why));
    }
    let name = text(spec, "externalName").trim_end_matches('.');
    if name.is_empty() {
        errors.push(FieldError::required(&path.field("externalName"), ""));
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
                errors.push(FieldError::required(&path.field("name"), ""));
            }
        } else {
            label(name, &path.field("name"), errors);
            if !names.insert(name) {
                errors.push(FieldError::duplicate(&path.field("name"), name));
            }
        }
        let own = number(port, "port").unwrap_or_default();
        port_number(own, &path.field("port"), errors);
        let protocol = text(port, "protocol");
        one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
        port_or_name(&port["targetPort"], &path.field("targetPort"), errors);
    }
    let mut seen = BTreeSet::new();
    for (index, port) in all.iter().enumerate() {
        let key = (text(port, "protocol"), number(port, "port"));
        if !seen.insert(key) {
            let value = json!({ "protocol": key.0, "port": key.1 });
            errors.push(FieldError::duplicate(&path.index(index), value));
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
        errors.push(FieldError::invalid(
            &client.field("timeoutSeconds"),
            seconds,
            why,
        ));
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
            errors.push(FieldError::invalid(&path.index(index), ip, IP));
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
            errors.push(FieldError::forbidden(&path.field("nodePort"), why));
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
        errors.push(FieldError::invalid(&place, outside, why));
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
        errors.push(FieldError::invalid(
            &path.field("healthCheckNodePort"),
            port,
            why,
        ));
    }
    if some(spec, "allocateLoadBalancerNodePorts").is_some() && text(spec, "type") != "LoadBalancer"
    {
        let why = "may only be used when `type` is 'LoadBalancer'";
        let path = path.field("allocateLoadBalancerNodePorts");
        errors.push(FieldError::forbidden(&path, why));
    }
    let class = text(spec, "loadBalancerClass");
    if !class.is_empty() {
        let path = path.field("loadBalancerClass");
        if text(spec, "type") == "LoadBalancer" {
            told(names::qualified_name(class), class, &path, errors);
        } else {
            let why = "may only be used when `type` is 'LoadBalancer'";
            errors.push(FieldError::forbidden(&path, why));
        }
    }
}

pub(crate) fn service_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, old_spec) = (&new["spec"], &old["spec"]);
    let path = Path::ROOT.field("spec");
    if has_address(spec) && has_address(old_spec) {
        let place = path.field("clusterIPs");
        let before = list(old_spec, "clusterIPs").first();
        if before.is_some() && before != list(spec, "clusterIPs").first() {
            let value = spec["clusterIPs"].clone();
            let why = "may not change once set";
            errors.push(FieldError::invalid(&place.index(0), value, why));
        }
    }
    service(new, errors);
}

pub(crate) fn endpoints(endpoints: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("subsets");
    for (index, subset) in list(endpoints, "subsets").iter().enumerate() {
        let path = path.index(index);
        if list(subset, "addresses").is_empty() && list(subset, "notReadyAddresses").is_empty() {
            let why = "must specify `addresses` or `notReadyAddresses`";
            errors.push(FieldError::required(&path, why));
        }
        for field in ["addresses", "notReadyAddresses"] {
            let path = path.field(field);
            for (index, place) in list(subset, field).iter().enumerate() {
                let path = path.index(index);
                let (ip, place) = (text(place, "ip"), path.field("ip"));
                if ip.parse::<IpAddr>().is_err() {
                    errors.push(FieldError::invalid(&place, ip, IP));
                }
                super::network::reachable(ip, &place, errors);
            }
        }
        let path = path.field("ports");
        let all = list(subset, "ports");
        for (index, port) in all.iter().enumerate() {
            let (name, path) = (text(port, "name"), path.index(index));
            if name.is_empty() && all.len() > 1 {
                errors.push(FieldError::required(&path.field("name"), ""));
            } else if !name.is_empty() {
                label(name, &path.field("name"), errors);
            }
            let own = number(port, "port").unwrap_or_default();
            port_number(own, &path.field("port"), errors);
            let protocol = text(port, "protocol");
            one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
        }
    }
}

pub(crate) fn endpoints_update(new: &Value, _old: &Value, errors: &mut Errors) {
    endpoints(new, errors);
}

pub(crate) fn slice(slice: &Value, errors: &mut Errors) {
    const TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
    let kind = text(slice, "addressType");
    super::one_of(kind, &TYPES, &Path::ROOT.field("addressType"), errors);
    let path = Path::ROOT.field("ports");
    let mut seen = BTreeSet::new();
    for (index, port) in list(slice, "ports").iter().enumerate() {
        let (name, path) = (text(port, "name"), path.index(index));
        if !name.is_empty() {
            label(name, &path.field("name"), errors);
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path.field("name"), name));
        }
        let protocol = text(port, "protocol");
        one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
    }
    let path = Path::ROOT.field("endpoints");
    for (index, endpoint) in list(slice, "endpoints").iter().enumerate() {
        let path = path.index(index);
        let path = path.field("addresses");
        let all = list(endpoint, "addresses");
        if all.is_empty() {
            let why = "must contain at least 1 address";
            errors.push(FieldError::required(&path, why));
        }
        for (index, ip) in all.iter().enumerate() {
            slice_address(ip.as_str().unwrap_or_default(), kind, &path, index, errors);
        }
    }
}

fn slice_address(ip: &str, kind: &str, path: &Path<'_>, index: usize, errors: &mut Errors) {
    let parsed = ip.parse::<IpAddr>();
    match (kind, parsed) {
        ("IPv4", Ok(parsed)) if !parsed.is_ipv4() => {
            errors.push(FieldError::invalid(path, ip, "must be an IPv4 address"));
        }
        ("IPv6", Ok(parsed)) if !parsed.is_ipv6() => {
            errors.push(FieldError::invalid(path, ip, "must be an IPv6 address"));
        }
        ("IPv4" | "IPv6", Ok(_)) => super::network::reachable(ip, &path.index(index), errors),
        ("IPv4" | "IPv6", Err(_)) => {
            errors.push(FieldError::invalid(&path.index(index), ip, IP));
        }
        ("FQDN", _) => subdomain(ip, &path.index(index), errors),
        _ => {}
    }
}

pub(crate) fn slice_update(new: &Value, old: &Value, errors: &mut Errors) {
    slice(new, errors);
    super::immutable_field(new, old, "addressType", &Path::ROOT, errors);
}
