//! Validation of nodes, priority classes and certificate signing requests.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::{json, names};

use super::pod_spec::tolerations;
use super::{Errors, immutable_field, label, labels, network, one_of_or_none, push_problems};
use crate::look::{list, number, text};

/// Highest priority that users may set.
const PRIORITY_MAX: i64 = 1_000_000_000;
const SYSTEM_PRIORITIES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

pub(crate) fn node(node: &Value, errors: &mut Errors) {
    let spec = &node["spec"];
    let path = Path::ROOT.field("metadata");
    let path = path.field("taints");
    let mut seen = BTreeSet::new();
    for (index, taint) in list(spec, "taints").iter().enumerate() {
        let path = path.index(index);
        let (key, effect) = (text(taint, "key"), text(taint, "effect"));
        push_problems(names::qualified_name(key), key, &path.field("key"), errors);
        let value = text(taint, "value");
        let problems = names::label_value(value);
        if !problems.is_empty() {
            let place = path.field("value");
            errors.push_with(|| FieldError::invalid(&place, value, problems.join(";")));
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        super::one_of(effect, &known, &path.field("effect"), errors);
        if !seen.insert((key, effect)) {
            let mut fault = FieldError::duplicate(&path, taint);
            "taints must be unique by key and effect pair".clone_into(&mut fault.detail);
            errors.push(fault);
        }
    }
    let path = Path::ROOT.field("spec");
    let path = path.field("podCIDRs");
    for (index, range) in list(spec, "podCIDRs").iter().enumerate() {
        let range = range.as_str().unwrap_or_default();
        network::network(range, &path.index(index), errors);
    }
}

pub(crate) fn node_update(new: &Value, old: &Value, errors: &mut Errors) {
    node(new, errors);
    let path = Path::ROOT.field("spec");
    let provider = text(&old["spec"], "providerID");
    if !provider.is_empty() && text(&new["spec"], "providerID") != provider {
        let why = "node updates may not change providerID except from \"\" to valid";
        errors.push_with(|| FieldError::forbidden(&path.field("providerID"), why));
    }
    let ranges = list(&old["spec"], "podCIDRs");
    if !ranges.is_empty() && list(&new["spec"], "podCIDRs") != ranges {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.push_with(|| FieldError::forbidden(&path.field("podCIDRs"), why));
    }
}

pub(crate) fn priority(class: &Value, errors: &mut Errors) {
    let name = class["metadata"]["name"].as_str().unwrap_or_default();
    let value = number(class, "value").unwrap_or_default();
    let is_system = SYSTEM_PRIORITIES.contains(&name);
    if name.starts_with("system-") && !is_system {
        let metadata = Path::ROOT.field("metadata");
        let why = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: {name} is not a known system priority class"
        );
        errors.push_with(|| FieldError::forbidden(&metadata.field("name"), why));
    } else if value > PRIORITY_MAX && !is_system {
        let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        errors.push_with(|| FieldError::forbidden(&Path::ROOT.field("value"), why));
    }
    let policy = text(class, "preemptionPolicy");
    let known = ["PreemptLowerPriority", "Never"];
    one_of_or_none(
        policy,
        &known,
        &Path::ROOT.field("preemptionPolicy"),
        errors,
    );
}

pub(crate) fn priority_update(new: &Value, old: &Value, errors: &mut Errors) {
    if number(new, "value") != number(old, "value") {
        let why = "may not be changed in an update.";
        errors.push_with(|| FieldError::forbidden(&Path::ROOT.field("value"), why));
    }
    immutable_field(new, old, "preemptionPolicy", &Path::ROOT, errors);
}

pub(crate) fn runtime(class: &Value, errors: &mut Errors) {
    label(text(class, "handler"), &Path::ROOT.field("handler"), errors);
    let path = Path::ROOT.field("scheduling");
    let scheduling = &class["scheduling"];
    let place = path.field("nodeSelector");
    labels(&scheduling["nodeSelector"], &place, errors);
    tolerations(scheduling, &path, errors);
    let place = path.field("tolerations");
    let mut seen = BTreeSet::new();
    for (index, one) in list(scheduling, "tolerations").iter().enumerate() {
        if !seen.insert(json::encode(one)) {
            errors.push_with(|| FieldError::duplicate(&place.index(index), one));
        }
    }
}

pub(crate) fn runtime_update(new: &Value, old: &Value, errors: &mut Errors) {
    immutable_field(new, old, "handler", &Path::ROOT, errors);
}

/// Minimum requested lifetime of a certificate.
const EXPIRATION_SECONDS_MIN: i64 = 600;

pub(crate) fn signing_request(request: &Value, errors: &mut Errors) {
    let (spec, path) = (&request["spec"], Path::ROOT.field("spec"));
    let asked = text(spec, "request");
    if let Err(why) = check_request(asked) {
        errors.push_with(|| FieldError::invalid(&path.field("request"), asked, why));
    }
    usages(list(spec, "usages"), &path.field("usages"), errors);
    let signer = text(spec, "signerName");
    let place = path.field("signerName");
    match signer.split_once('/') {
        _ if signer.is_empty() => errors.push_with(|| FieldError::required(&place, "")),
        Some((domain, rest)) if !rest.is_empty() => {
            push_problems(names::dns1123_subdomain(domain), domain, &place, errors);
        }
        _ => {
            let why =
                "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            errors.push_with(|| FieldError::invalid(&place, signer, why));
        }
    }
    let seconds = number(spec, "expirationSeconds");
    if let Some(seconds) = seconds.filter(|seconds| *seconds < EXPIRATION_SECONDS_MIN) {
        let why = format!(
            "may not specify a duration less than {EXPIRATION_SECONDS_MIN} seconds (10 minutes)"
        );
        errors.push_with(|| FieldError::invalid(&path.field("expirationSeconds"), seconds, why));
    }
}

/// Key usages of certificates.
const USAGES: [&str; 23] = [
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
];

fn usages(usages: &[Value], path: &Path<'_>, errors: &mut Errors) {
    if usages.is_empty() {
        errors.push_with(|| FieldError::required(path, ""));
    }
    let words = || {
        let words = usages
            .iter()
            .map(|usage| usage.as_str().unwrap_or_default());
        words.enumerate()
    };
    for (index, usage) in words().filter(|(_, usage)| !USAGES.contains(usage)) {
        let path = path.index(index);
        errors.push_with(|| FieldError::not_supported(&path, usage, USAGES));
    }
    let mut seen = BTreeSet::new();
    for (index, usage) in words().filter(|(_, usage)| !seen.insert(*usage)) {
        errors.push_with(|| FieldError::duplicate(&path.index(index), usage));
    }
}

/// PEM markers of a certificate request.
const REQUEST_START: &str = "-----BEGIN CERTIFICATE REQUEST-----";
const REQUEST_END: &str = "-----END CERTIFICATE REQUEST-----";
/// ASN.1 tag of a sequence.
const SEQUENCE: u8 = 0x30;

/// Rejects base64 that is not a PEM certificate request. The signature is verified by the signer.
fn check_request(encoded: &str) -> Result<(), &'static str> {
    let no_block = "PEM block type must be CERTIFICATE REQUEST";
    let decoded = STANDARD.decode(encoded).unwrap_or_default();
    let text = String::from_utf8(decoded).map_err(|_| no_block)?;
    let body = text.trim_start().strip_prefix(REQUEST_START);
    let (body, _) = body
        .and_then(|body| body.split_once(REQUEST_END))
        .ok_or(no_block)?;
    let body: String = body.split_whitespace().collect();
    let bytes = STANDARD.decode(body).map_err(|_| no_block)?;
    match sequence_length(&bytes) {
        Some(length) if length == bytes.len() => Ok(()),
        Some(length) if length < bytes.len() => Err("asn1: syntax error: trailing data"),
        Some(_) => Err("asn1: syntax error: data truncated"),
        None => Err("asn1: structure error: it is no sequence"),
    }
}

/// Total length of the leading ASN.1 sequence, including its header.
fn sequence_length(bytes: &[u8]) -> Option<usize> {
    let (SEQUENCE, [first, rest @ ..]) = bytes.split_first().map(|(tag, rest)| (*tag, rest))?
    else {
        return None;
    };
    if *first < 0x80 {
        return Some(2 + usize::from(*first));
    }
    let count = usize::from(first & 0x7f);
    let digits = rest
        .get(..count)
        .filter(|digits| (1..=4).contains(&digits.len()))?;
    let length = digits
        .iter()
        .fold(0, |length, digit| length << 8 | usize::from(*digit));
    length.checked_add(2 + count)
}

pub(crate) fn signing_request_update(new: &Value, old: &Value, errors: &mut Errors) {
    immutable_field(new, old, "spec", &Path::ROOT, errors);
    let of = |request: &Value, name: &str| {
        let conditions = list(&request["status"], "conditions").iter();
        conditions
            .filter(|condition| text(condition, "type") == name)
            .count()
    };
    if of(new, "Approved") > 0 && of(new, "Denied") > 0 {
        let status = Path::ROOT.field("status");
        let why = "Approved and Denied conditions are mutually exclusive";
        let value = &new["status"]["conditions"];
        errors.push_with(|| FieldError::invalid(&status.field("conditions"), value, why));
    }
}
