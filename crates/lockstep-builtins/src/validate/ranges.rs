//! Validation of `IPAddress` and `ServiceCIDR`.

use std::net::IpAddr;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::names::{NameRule, Part};
use lockstep_object::{Value, names};

use super::network::{CIDR, IP};
use super::{Errors, immutable_field, push_problems};
use crate::look::{list, some, text};

/// The most networks of one range: one of each family.
const NETWORKS_MAX: usize = 2;
const IMMUTABLE: &str = "field is immutable";

pub(crate) fn address(address: &Value, errors: &mut Errors) {
    let name = text(&address["metadata"], "name");
    let path = Path::ROOT.field("metadata");
    push_problems(written_ip(name), name, &path.field("name"), errors);
    let path = Path::ROOT.field("spec");
    let path = path.field("parentRef");
    let Some(parent) = some(&address["spec"], "parentRef") else {
        errors.push_with(|| FieldError::required(&path, ""));
        return;
    };
    let group = text(parent, "group");
    if !group.is_empty() {
        let problems = names::dns1123_subdomain(group);
        push_problems(problems, group, &path.field("group"), errors);
    }
    for (field, is_required) in [("resource", true), ("name", true), ("namespace", false)] {
        let (value, path) = (text(parent, field), path.field(field));
        if !value.is_empty() {
            let problems = NameRule::PathSegment.check(value, Part::Whole);
            push_problems(problems, value, &path, errors);
        } else if is_required {
            errors.push_with(|| FieldError::required(&path, ""));
        }
    }
}

pub(crate) fn address_update(new: &Value, old: &Value, errors: &mut Errors) {
    address(new, errors);
    let path = Path::ROOT.field("spec");
    immutable_field(&new["spec"], &old["spec"], "parentRef", &path, errors);
}

pub(crate) fn range(range: &Value, errors: &mut Errors) {
    let spec = &range["spec"];
    let path = Path::ROOT.field("spec");
    let path = path.field("cidrs");
    let networks = list(spec, "cidrs");
    if networks.is_empty() {
        let why = "at least one CIDR required";
        errors.push_with(|| FieldError::required(&path, why));
        return;
    }
    if networks.len() > NETWORKS_MAX {
        let why = format!("may only hold up to {NETWORKS_MAX} values");
        errors.push_with(|| FieldError::invalid(&path, spec, why));
        return;
    }
    for (index, network) in networks.iter().enumerate() {
        let network = network.as_str().unwrap_or_default();
        push_problems(
            written_network(network),
            network,
            &path.index(index),
            errors,
        );
    }
    if let [first, second] = networks {
        let family = |network: &Value| {
            let (address, _) = network.as_str()?.split_once('/')?;
            Some(address.parse::<IpAddr>().ok()?.is_ipv4())
        };
        if family(first).is_some() && family(first) == family(second) {
            let why = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
            errors.push_with(|| FieldError::invalid(&path, &spec["cidrs"], why));
        }
    }
}

/// A range stays what it is, but may gain a network of the other family.
pub(crate) fn range_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (is, was) = (list(&new["spec"], "cidrs"), list(&old["spec"], "cidrs"));
    let path = Path::ROOT.field("spec");
    let path = path.field("cidrs");
    let gains_one = (was.len(), is.len()) == (1, NETWORKS_MAX);
    if was.len() != is.len() && !gains_one {
        let is = new["spec"]["cidrs"].clone();
        errors.push_with(|| FieldError::invalid(&path, &is, IMMUTABLE));
        return;
    }
    for (index, (is, was)) in is.iter().zip(was).enumerate() {
        if is != was {
            let error = FieldError::invalid(&path.index(index), is, IMMUTABLE);
            errors.push(error);
        }
    }
    if gains_one {
        range(new, errors);
    }
}

/// Validates that an IP address is in canonical form.
fn written_ip(text: &str) -> Vec<String> {
    let Ok(ip) = text.parse::<IpAddr>() else {
        let is_padded = without_leading_zeros(text).parse::<IpAddr>().is_ok();
        let why = if is_padded {
            "must not have leading 0s"
        } else {
            IP
        };
        return vec![why.to_owned()];
    };
    if is_mapped(ip) {
        return vec!["must not be an IPv4-mapped IPv6 address".to_owned()];
    }
    canonical(text, &ip.to_string())
}

/// Validates that a CIDR is in canonical form.
fn written_network(text: &str) -> Vec<String> {
    let Some((address, prefix)) = text.split_once('/') else {
        return vec![CIDR.to_owned()];
    };
    let plain = |text: &str| {
        let bits: u32 = text.parse().ok()?;
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then_some(bits)
    };
    let sloppy = without_leading_zeros(address);
    let (Ok(ip), Some(bits)) = (sloppy.parse::<IpAddr>(), plain(prefix)) else {
        return vec![CIDR.to_owned()];
    };
    let (number, width) = match ip {
        IpAddr::V4(four) => (u128::from(four.to_bits()), 32),
        IpAddr::V6(six) => (six.to_bits(), 128),
    };
    if bits > width {
        return vec![CIDR.to_owned()];
    }
    let why = if sloppy != address || (prefix.len() > 1 && prefix.starts_with('0')) {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(ip) {
        "must not have an IPv4-mapped IPv6 address"
    } else if number.trailing_zeros() < width - bits {
        "must not have bits set beyond the prefix length"
    } else {
        return canonical(text, &format!("{ip}/{bits}"));
    };
    vec![why.to_owned()]
}

fn canonical(text: &str, wanted: &str) -> Vec<String> {
    if text == wanted {
        return Vec::new();
    }
    vec![format!("must be in canonical form ({wanted:?})")]
}

fn is_mapped(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(six) if six.to_ipv4_mapped().is_some())
}

/// Four numbers, as programs of old read them.
fn without_leading_zeros(address: &str) -> String {
    if address.contains(':') {
        return address.to_owned();
    }
    let parts = address.split('.').map(|part| {
        let digits = part.trim_start_matches('0');
        if digits.is_empty() && !part.is_empty() {
            "0"
        } else {
            digits
        }
    });
    parts.collect::<Vec<_>>().join(".")
}
