//! Validation of ingresses and network policies.

use std::net::IpAddr;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names::{NameRule, Part};
use lockstep_object::selector::validate_label_selector;

use super::scalar::{port_number, port_or_name};
use super::{Errors, immutable_field, label, push_problems, required, subdomain};
use crate::look::{list, number, some, text};

pub(super) const IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
pub(super) const CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// An address that others can reach. An IPv4-mapped address is judged by the IPv4 address that it stands for.
pub(super) fn reachable(ip: &str, path: &Path<'_>, errors: &mut Errors) {
    let Ok(parsed) = ip.parse::<IpAddr>() else {
        errors.push_with(|| FieldError::invalid(path, ip, "must be a valid IP address"));
        return;
    };
    let parsed = parsed.to_canonical();
    let (is_link_local, is_link_local_multicast) = match parsed {
        IpAddr::V4(four) => (
            four.is_link_local(),
            four.octets().starts_with(&[224, 0, 0]),
        ),
        IpAddr::V6(six) => (
            six.is_unicast_link_local(),
            six.segments()[0] & 0xff0f == 0xff02,
        ),
    };
    let why = if parsed.is_unspecified() {
        format!("may not be unspecified ({ip})")
    } else if parsed.is_loopback() {
        "may not be in the loopback range (127.0.0.0/8, ::1/128)".to_owned()
    } else if is_link_local {
        "may not be in the link-local range (169.254.0.0/16, fe80::/10)".to_owned()
    } else if is_link_local_multicast {
        "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)".to_owned()
    } else {
        return;
    };
    errors.push_with(|| FieldError::invalid(path, ip, why));
}

/// An address in a form that all programs read alike.
pub(super) fn well_formed(ip: &str, path: &Path<'_>, errors: &mut Errors) -> Option<IpAddr> {
    let why = match ip.parse::<IpAddr>() {
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            "must not be an IPv4-mapped IPv6 address"
        }
        Ok(address) => return Some(address),
        Err(_) => IP,
    };
    errors.push_with(|| FieldError::invalid(path, ip, why));
    None
}

pub(super) fn is_network(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, prefix)| {
        let bits = match address.parse::<IpAddr>() {
            Ok(address) if address.is_ipv4() => 32,
            Ok(_) => 128,
            Err(_) => return false,
        };
        prefix.parse::<u32>().is_ok_and(|prefix| prefix <= bits)
    })
}

pub(super) fn network(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if !is_network(text) {
        errors.push_with(|| FieldError::invalid(path, text, CIDR));
    }
}

pub(crate) fn ingress(ingress: &Value, errors: &mut Errors) {
    let (spec, path) = (&ingress["spec"], Path::ROOT.field("spec"));
    let rules = list(spec, "rules");
    match some(spec, "defaultBackend") {
        Some(default) => backend(default, &path.field("defaultBackend"), errors),
        None if rules.is_empty() => {
            let why = "either `defaultBackend` or `rules` must be specified";
            errors.push_with(|| FieldError::invalid(&path, &rules_value(spec), why));
        }
        None => {}
    }
    let rules_path = path.field("rules");
    for (index, rule) in rules.iter().enumerate() {
        let path = rules_path.index(index);
        host(text(rule, "host"), &path.field("host"), errors);
        if let Some(http) = some(rule, "http") {
            let path = path.field("http");
            let path = path.field("paths");
            if list(http, "paths").is_empty() {
                errors.push_with(|| FieldError::required(&path, ""));
            }
            for (index, row) in list(http, "paths").iter().enumerate() {
                http_path(row, &path.index(index), errors);
            }
        }
    }
    let tls_path = path.field("tls");
    for (index, tls) in list(spec, "tls").iter().enumerate() {
        let of_tls = tls_path.index(index);
        let path = of_tls.field("hosts");
        for (index, name) in list(tls, "hosts").iter().enumerate() {
            wildcard(
                name.as_str().unwrap_or_default(),
                &path.index(index),
                errors,
            );
        }
        let secret = text(tls, "secretName");
        if !secret.is_empty() {
            subdomain(secret, &of_tls.field("secretName"), errors);
        }
    }
    if let Some(class) = some(spec, "ingressClassName").and_then(Value::as_str) {
        subdomain(class, &path.field("ingressClassName"), errors);
    }
}

fn rules_value(spec: &Value) -> Value {
    spec.get("rules").cloned().unwrap_or_default()
}

fn host(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        return;
    }
    if name.parse::<IpAddr>().is_ok() {
        let why = "must be a DNS name, not an IP address";
        errors.push_with(|| FieldError::invalid(path, name, why));
        return;
    }
    wildcard(name, path, errors);
}

/// Validates a wildcard host name.
fn wildcard(name: &str, path: &Path<'_>, errors: &mut Errors) {
    match name.strip_prefix("*.") {
        Some(rest) if lockstep_object::names::dns1123_subdomain(rest).is_empty() => {}
        Some(_) => {
            let why = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
            errors.push_with(|| FieldError::invalid(path, name, why));
        }
        None => subdomain(name, path, errors),
    }
}

/// Forbidden sequences in an ingress path.
const IN_PATH: [&str; 5] = ["//", "/./", "/../", "%2f", "%2F"];
/// Forbidden suffixes of an ingress path.
const AT_END: [&str; 2] = ["/..", "/."];

fn http_path(row: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (own, place) = (text(row, "path"), path.field("path"));
    let kind = some(row, "pathType").and_then(Value::as_str);
    match kind {
        None => {
            let why = "pathType must be specified";
            errors.push_with(|| FieldError::required(&path.field("pathType"), why));
            return;
        }
        Some("Exact" | "Prefix") => {
            if !own.starts_with('/') {
                errors.push_with(|| FieldError::invalid(&place, own, "must be an absolute path"));
            }
            for bad in IN_PATH.into_iter().filter(|bad| own.contains(bad)) {
                let why = format!("must not contain '{bad}'");
                errors.push_with(|| FieldError::invalid(&place, own, why));
            }
            for bad in AT_END.into_iter().filter(|bad| own.ends_with(bad)) {
                let why = format!("cannot end with '{bad}'");
                errors.push_with(|| FieldError::invalid(&place, own, why));
            }
        }
        Some("ImplementationSpecific") => {
            if !own.is_empty() && !own.starts_with('/') {
                errors.push_with(|| FieldError::invalid(&place, own, "must be an absolute path"));
            }
        }
        Some(other) => {
            let known = ["Exact", "ImplementationSpecific", "Prefix"];
            errors.push_with(|| FieldError::not_supported(&path.field("pathType"), other, known));
        }
    }
    backend(&row["backend"], &path.field("backend"), errors);
}

fn backend(backend: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (service, resource) = (some(backend, "service"), some(backend, "resource"));
    match (service, resource) {
        (Some(_), Some(_)) => {
            let why = "cannot set both resource and service backends";
            errors.push_with(|| FieldError::invalid(path, "", why));
        }
        (Some(service), None) => service_backend(service, path, errors),
        (None, Some(resource)) => resource_backend(resource, &path.field("resource"), errors),
        (None, None) => {
            let why = "resource or service backend is required";
            errors.push_with(|| FieldError::invalid(path, "", why));
        }
    }
}

fn resource_backend(resource: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(group) = some(resource, "apiGroup").and_then(Value::as_str) {
        subdomain(group, &path.field("apiGroup"), errors);
    }
    for field in ["kind", "name"] {
        if required(resource, field, path, errors) {
            let given = text(resource, field);
            let problems = NameRule::PathSegment.check(given, Part::Whole);
            push_problems(problems, given, &path.field(field), errors);
        }
    }
}

fn service_backend(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    let service_path = path.field("service");
    let name = text(service, "name");
    if name.is_empty() {
        errors.push_with(|| FieldError::required(&service_path.field("name"), ""));
    } else {
        label(name, &service_path.field("name"), errors);
    }
    let port = &service["port"];
    let own = number(port, "number").unwrap_or_default();
    match (text(port, "name"), own) {
        ("", 0) => {
            let why = "port name or number is required";
            errors.push_with(|| FieldError::required(path, why));
        }
        ("", own) => {
            let path = service_path.field("port");
            port_number(own, &path.field("number"), errors);
        }
        (name, 0) => {
            let path = service_path.field("port");
            port_or_name(&name.into(), &path.field("name"), errors);
        }
        _ => {
            let why = "cannot set both port name & port number";
            errors.push_with(|| FieldError::invalid(path, "", why));
        }
    }
}

pub(crate) fn ingress_update(new: &Value, _old: &Value, errors: &mut Errors) {
    ingress(new, errors);
}

pub(crate) fn ingress_class(class: &Value, errors: &mut Errors) {
    let (spec, path) = (&class["spec"], Path::ROOT.field("spec"));
    let controller = text(spec, "controller");
    let place = path.field("controller");
    let is_path = controller
        .split_once('/')
        .is_some_and(|(domain, rest)| !domain.is_empty() && !rest.is_empty());
    if controller.is_empty() {
        errors.push_with(|| FieldError::required(&place, ""));
    } else if !is_path {
        let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push_with(|| FieldError::invalid(&place, controller, why));
    }
    let Some(parameters) = some(spec, "parameters") else {
        return;
    };
    let path = path.field("parameters");
    required(parameters, "kind", &path, errors);
    required(parameters, "name", &path, errors);
    let space = text(parameters, "namespace");
    match text(parameters, "scope") {
        "Namespace" if space.is_empty() => {
            let why = "`parameters.scope` is set to 'Namespace'";
            errors.push_with(|| FieldError::required(&path.field("namespace"), why));
        }
        "Cluster" if !space.is_empty() => {
            let why = "`parameters.scope` is set to 'Cluster'";
            errors.push_with(|| FieldError::forbidden(&path.field("namespace"), why));
        }
        "Namespace" | "Cluster" => {}
        other => {
            let known = ["Cluster", "Namespace"];
            errors.push_with(|| FieldError::not_supported(&path.field("scope"), other, known));
        }
    }
}

pub(crate) fn ingress_class_update(new: &Value, old: &Value, errors: &mut Errors) {
    ingress_class(new, errors);
    let path = Path::ROOT.field("spec");
    immutable_field(&new["spec"], &old["spec"], "controller", &path, errors);
}

pub(crate) fn policy(policy: &Value, errors: &mut Errors) {
    let (spec, path) = (&policy["spec"], Path::ROOT.field("spec"));
    let place = path.field("podSelector");
    errors.append(validate_label_selector(&spec["podSelector"], &place));
    for (field, peers) in [("ingress", "from"), ("egress", "to")] {
        let path = path.field(field);
        for (index, rule) in list(spec, field).iter().enumerate() {
            let path = path.index(index);
            policy_ports(rule, &path, errors);
            let path = path.field(peers);
            for (index, peer) in list(rule, peers).iter().enumerate() {
                policy_peer(peer, &path.index(index), errors);
            }
        }
    }
    let path = path.field("policyTypes");
    if list(spec, "policyTypes").len() > 2 {
        let why = "may not specify more than two policyTypes";
        errors.push_with(|| FieldError::invalid(&path, &spec["policyTypes"], why));
        return;
    }
    for (index, kind) in list(spec, "policyTypes").iter().enumerate() {
        let known = ["Ingress", "Egress"];
        let kind = kind.as_str().unwrap_or_default();
        if !known.contains(&kind) {
            errors.push_with(|| FieldError::not_supported(&path.index(index), kind, known));
        }
    }
}

fn policy_ports(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("ports");
    for (index, row) in list(rule, "ports").iter().enumerate() {
        let path = path.index(index);
        let known = ["TCP", "UDP", "SCTP"];
        super::one_of_or_none(
            text(row, "protocol"),
            &known,
            &path.field("protocol"),
            errors,
        );
        let Some(port) = some(row, "port") else {
            if some(row, "endPort").is_some() {
                let why = "must be specified when `endPort` is specified";
                errors.push_with(|| FieldError::required(&path.field("port"), why));
            }
            continue;
        };
        port_or_name(port, &path.field("port"), errors);
        let Some(end) = number(row, "endPort") else {
            continue;
        };
        match port.as_i64() {
            Some(first) if end < first => {
                let why = "must be greater than or equal to `port`";
                errors.push_with(|| FieldError::invalid(&path.field("endPort"), first, why));
            }
            Some(_) => port_number(end, &path.field("endPort"), errors),
            None => {
                let why = "may not be specified when `port` is non-numeric";
                errors.push_with(|| FieldError::forbidden(&path.field("endPort"), why));
            }
        }
    }
}

fn policy_peer(peer: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut count = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if let Some(selector) = some(peer, field) {
            count += 1;
            errors.append(validate_label_selector(selector, &path.field(field)));
        }
    }
    if let Some(block) = some(peer, "ipBlock") {
        let block_path = path.field("ipBlock");
        network(text(block, "cidr"), &block_path.field("cidr"), errors);
        let except = block_path.field("except");
        for (index, part) in list(block, "except").iter().enumerate() {
            network(
                part.as_str().unwrap_or_default(),
                &except.index(index),
                errors,
            );
        }
        if count > 0 {
            let why = "may not specify both ipBlock and another peer";
            errors.push_with(|| FieldError::forbidden(path, why));
        }
    } else if count == 0 {
        errors.push_with(|| FieldError::required(path, "must specify a peer"));
    }
}

pub(crate) fn policy_update(new: &Value, _old: &Value, errors: &mut Errors) {
    policy(new, errors);
}
