//! Validation of endpoints and endpoint slices.

use std::collections::BTreeSet;

use lockstep_gotext::print::quote;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Value, names};

use super::network::{reachable, well_formed};
use super::scalar::port_number;
use super::services::{PROTOCOLS, app_protocol};
use super::{Errors, at_most, label, one_of_or_none, push_problems, subdomain, unless_too_many};
use crate::look::{list, number, some, text};

/// Most elements of the lists of an endpoint slice.
const ENDPOINTS_MAX: usize = 1_000;
const PORTS_MAX: usize = 20_000;
const ADDRESSES_MAX: usize = 100;
const ZONES_MAX: usize = 8;

pub(crate) fn endpoints(endpoints: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("subsets");
    for (index, subset) in list(endpoints, "subsets").iter().enumerate() {
        let path = path.index(index);
        if list(subset, "addresses").is_empty() && list(subset, "notReadyAddresses").is_empty() {
            let why = "must specify `addresses` or `notReadyAddresses`";
            errors.push_with(|| FieldError::required(&path, why));
        }
        for field in ["addresses", "notReadyAddresses"] {
            let path = path.field(field);
            for (index, address) in list(subset, field).iter().enumerate() {
                let path = path.index(index);
                let (ip, place) = (text(address, "ip"), path.field("ip"));
                well_formed(ip, &place, errors);
                reachable(ip, &place, errors);
                let host = text(address, "hostname");
                if !host.is_empty() {
                    label(host, &path.field("hostname"), errors);
                }
                if let Some(node) = some(address, "nodeName").and_then(Value::as_str) {
                    subdomain(node, &path.field("nodeName"), errors);
                }
            }
        }
        let path = path.field("ports");
        let all = list(subset, "ports");
        for (index, port) in all.iter().enumerate() {
            let (name, path) = (text(port, "name"), path.index(index));
            if name.is_empty() && all.len() > 1 {
                errors.push_with(|| FieldError::required(&path.field("name"), ""));
            } else if !name.is_empty() {
                label(name, &path.field("name"), errors);
            }
            let own = number(port, "port").unwrap_or_default();
            port_number(own, &path.field("port"), errors);
            let protocol = text(port, "protocol");
            one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
            app_protocol(port, &path, errors);
        }
    }
}

/// Unchanged subsets are not judged: older servers took others.
pub(crate) fn endpoints_update(new: &Value, old: &Value, errors: &mut Errors) {
    if new["subsets"] != old["subsets"] {
        endpoints(new, errors);
    }
}

pub(crate) fn slice(slice: &Value, errors: &mut Errors) {
    slice_ports(slice, errors);
    slice_endpoints(slice, errors);
}

/// Validates the type of addresses, and the ports.
fn slice_ports(slice: &Value, errors: &mut Errors) {
    const TYPES: [&str; 3] = ["FQDN", "IPv4", "IPv6"];
    let kind = text(slice, "addressType");
    super::one_of(kind, &TYPES, &Path::ROOT.field("addressType"), errors);
    let path = Path::ROOT.field("ports");
    let mut seen = BTreeSet::new();
    let ports = unless_too_many(list(slice, "ports"), PORTS_MAX, &path, errors);
    for (index, port) in ports.iter().enumerate() {
        let (name, path) = (text(port, "name"), path.index(index));
        if !name.is_empty() {
            label(name, &path.field("name"), errors);
        }
        if !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
        }
        let protocol = text(port, "protocol");
        one_of_or_none(protocol, &PROTOCOLS, &path.field("protocol"), errors);
        app_protocol(port, &path, errors);
    }
}

fn slice_endpoints(slice: &Value, errors: &mut Errors) {
    let kind = text(slice, "addressType");
    let path = Path::ROOT.field("endpoints");
    let endpoints = unless_too_many(list(slice, "endpoints"), ENDPOINTS_MAX, &path, errors);
    for (index, endpoint) in endpoints.iter().enumerate() {
        let place = path.index(index);
        let path = place.field("addresses");
        let all = at_most(list(endpoint, "addresses"), ADDRESSES_MAX, &path, errors);
        if all.is_empty() {
            let why = "must contain at least 1 address";
            errors.push_with(|| FieldError::required(&path, why));
        }
        for (index, ip) in all.iter().enumerate() {
            slice_address(ip.as_str().unwrap_or_default(), kind, &path, index, errors);
        }
        slice_place(endpoint, &place, errors);
    }
}

/// Validates node name, host name, zone and hints of an endpoint.
fn slice_place(endpoint: &Value, path: &Path<'_>, errors: &mut Errors) {
    let given = |field: &str| some(endpoint, field).and_then(Value::as_str);
    if let Some(node) = given("nodeName") {
        subdomain(node, &path.field("nodeName"), errors);
    }
    if let Some(host) = given("hostname") {
        label(host, &path.field("hostname"), errors);
    }
    let path = path.field("hints");
    let path = path.field("forZones");
    let mut seen = BTreeSet::new();
    let zones = unless_too_many(
        list(&endpoint["hints"], "forZones"),
        ZONES_MAX,
        &path,
        errors,
    );
    for (index, zone) in zones.iter().enumerate() {
        let (name, path) = (text(zone, "name"), path.index(index));
        let path = path.field("name");
        if !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path, name));
        }
        push_problems(names::label_value(name), name, &path, errors);
    }
}

fn slice_address(ip: &str, kind: &str, path: &Path<'_>, index: usize, errors: &mut Errors) {
    let place = path.index(index);
    match kind {
        "FQDN" => return subdomain(ip, &place, errors),
        "IPv4" | "IPv6" => {}
        _ => return,
    }
    let Some(parsed) = well_formed(ip, &place, errors) else {
        return;
    };
    if parsed.is_ipv6() != (kind == "IPv6") {
        let why = format!("must be an {kind} address");
        errors.push_with(|| FieldError::invalid(path, ip, why));
    }
    let canonical = parsed.to_string();
    if kind == "IPv6" && canonical != ip {
        let why = format!("must be in canonical form ({})", quote(&canonical));
        errors.push_with(|| FieldError::invalid(&place, ip, why));
        return;
    }
    reachable(ip, &place, errors);
}

/// Unchanged endpoints are not judged: older servers took others.
pub(crate) fn slice_update(new: &Value, old: &Value, errors: &mut Errors) {
    slice_ports(new, errors);
    if new["endpoints"] != old["endpoints"] {
        slice_endpoints(new, errors);
    }
    super::immutable_field(new, old, "addressType", &Path::ROOT, errors);
}
