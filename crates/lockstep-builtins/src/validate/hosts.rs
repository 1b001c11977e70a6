//! Validation of pod DNS, host aliases and sysctls.

use std::collections::BTreeSet;
use std::net::IpAddr;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names;

use super::network::IP;
use super::{Errors, push_problems, subdomain};
use crate::look::{list, some, text};

const NAMESERVERS_MAX: usize = 3;
const SEARCHES_MAX: usize = 32;
const SEARCH_BYTES_MAX: usize = 2048;
const SYSCTL_BYTES_MAX: usize = 253;
const SYSCTL: &str = "must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$";
/// Sysctl prefixes of the network and IPC namespaces.
const OF_NETWORK: [&str; 1] = ["net."];
const OF_MEMORY: [&str; 4] = ["kernel.shm", "kernel.msg", "fs.mqueue.", "kernel.sem"];

fn ip(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.parse::<IpAddr>().is_err() {
        errors.push_with(|| FieldError::invalid(path, text, IP));
    }
}

/// Names that the pod knows by itself.
pub(super) fn aliases(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("hostAliases");
    for (index, alias) in list(spec, "hostAliases").iter().enumerate() {
        let path = path.index(index);
        ip(text(alias, "ip"), &path.field("ip"), errors);
        let place = path.field("hostnames");
        for (index, name) in list(alias, "hostnames").iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            subdomain(name, &place.index(index), errors);
        }
    }
}

/// Validates `dnsConfig`.
pub(super) fn dns(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("dnsConfig");
    let is_own = text(spec, "dnsPolicy") == "None";
    let Some(config) = some(spec, "dnsConfig") else {
        if is_own {
            let why = "must provide `dnsConfig` when `dnsPolicy` is None";
            errors.push_with(|| FieldError::required(&path, why));
        }
        return;
    };
    let (servers, place) = (list(config, "nameservers"), path.field("nameservers"));
    if is_own && servers.is_empty() {
        let why = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push_with(|| FieldError::required(&place, why));
        return;
    }
    if servers.len() > NAMESERVERS_MAX {
        let why = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        errors.push_with(|| FieldError::invalid(&place, servers, why));
    }
    for (index, server) in servers.iter().enumerate() {
        ip(
            server.as_str().unwrap_or_default(),
            &place.index(index),
            errors,
        );
    }
    searches(config, &path, errors);
    let place = path.field("options");
    for (index, option) in list(config, "options").iter().enumerate() {
        if text(option, "name").is_empty() {
            let why = "must not be empty";
            errors.push_with(|| FieldError::required(&place.index(index), why));
        }
    }
}

fn searches(config: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (searches, path) = (list(config, "searches"), path.field("searches"));
    let mut wrong = |why: String| errors.push_with(|| FieldError::invalid(&path, searches, why));
    if searches.len() > SEARCHES_MAX {
        wrong(format!(
            "must not have more than {SEARCHES_MAX} search paths"
        ));
    }
    let texts = searches
        .iter()
        .map(|search| search.as_str().unwrap_or_default());
    // With a space between each two.
    let bytes: usize = texts.clone().map(|search| search.len() + 1).sum();
    if bytes > SEARCH_BYTES_MAX + 1 {
        wrong(format!(
            "must not have more than {SEARCH_BYTES_MAX} characters (including spaces) in the search list"
        ));
    }
    for (index, search) in texts.enumerate().filter(|(_, search)| *search != ".") {
        let search = search.strip_suffix('.').unwrap_or(search);
        let problems = names::dns1123_subdomain_with_underscore(search);
        push_problems(problems, search, &path.index(index), errors);
    }
}

/// Parameters of the kernel.
pub(super) fn sysctls(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let is_true = |field: &str| spec.get(field) == Some(&Value::Bool(true));
    let path = path.field("sysctls");
    let mut seen = BTreeSet::new();
    for (index, sysctl) in list(&spec["securityContext"], "sysctls").iter().enumerate() {
        let (name, path) = (text(sysctl, "name"), path.index(index));
        let path = path.field("name");
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&path, ""));
        } else if !is_sysctl(name) {
            errors.push_with(|| FieldError::invalid(&path, name, SYSCTL));
        } else if !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path, name));
        }
        let dotted = name.replace('/', ".");
        let is_of = |starts: &[&str]| starts.iter().any(|start| dotted.starts_with(start));
        for (field, starts) in [("hostNetwork", &OF_NETWORK[..]), ("hostIPC", &OF_MEMORY)] {
            if is_true(field) && is_of(starts) {
                let why = format!("may not be specified when '{field}' is true");
                errors.push_with(|| FieldError::invalid(&path, name, why));
                break;
            }
        }
    }
}

fn is_sysctl(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_segment = |segment: &str| {
        let bytes = segment.as_bytes();
        let ends = [bytes.first(), bytes.last()];
        ends.iter()
            .all(|end| end.is_some_and(|byte| is_plain(*byte)))
            && bytes
                .iter()
                .all(|byte| is_plain(*byte) || b"-_".contains(byte))
    };
    name.len() <= SYSCTL_BYTES_MAX && name.split(['.', '/']).all(is_segment)
}
