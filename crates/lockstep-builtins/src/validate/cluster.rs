//! Nodes, limits, priorities, certificates.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names;

use super::resources::{amount, non_negative_amount, resource_name};
use super::{Errors, immutable_field, label, network, one_of_or_none, told};
use crate::look::{entries, list, number, text};

/// The highest priority that users give.
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
        told(names::qualified_name(key), key, &path.field("key"), errors);
        let value = text(taint, "value");
        let problems = names::label_value(value);
        if !problems.is_empty() {
            let place = path.field("value");
            errors.push(FieldError::invalid(&place, value, problems.join(";")));
        }
        let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        super::one_of(effect, &known, &path.field("effect"), errors);
        if !seen.insert((key, effect)) {
            let mut fault = FieldError::duplicate(&path, taint.clone());
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
        errors.push(FieldError::forbidden(&path.field("providerID"), why));
    }
    let ranges = list(&old["spec"], "podCIDRs");
    if !ranges.is_empty() && list(&new["spec"], "podCIDRs") != ranges {
        let why = "node updates may not change podCIDR except from \"\" to valid";
        errors.push(FieldError::forbidden(&path.field("podCIDRs"), why));
    }
}

pub(crate) fn limits(range: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    let path = path.field("limits");
    let mut seen = BTreeSet::new();
    for (index, item) in list(&range["spec"], "limits").iter().enumerate() {
        let path = path.index(index);
        let kind = text(item, "type");
        if kind.is_empty() {
            errors.push(FieldError::required(&path.field("type"), ""));
        }
        if !seen.insert(kind) {
            errors.push(FieldError::duplicate(&path.field("type"), kind));
        }
        limit(item, kind, &path, errors);
    }
}

fn limit(item: &Value, kind: &str, path: &Path<'_>, errors: &mut Errors) {
    const FIELDS: [&str; 5] = [
        "max",
        "min",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ];
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if entries(item, field).next().is_some() {
                let why = "may not be specified when `type` is 'Pod'";
                errors.push(FieldError::forbidden(&path.field(field), why));
            }
        }
    }
    if kind == "PersistentVolumeClaim" {
        let has = |field: &str| item[field].get("storage").is_some();
        if !has("min") && !has("max") {
            let why =
                "either minimum or maximum storage value is required, but neither was provided";
            errors.push(FieldError::required(&path.field("limits"), why));
        }
    }
    let names: BTreeSet<&str> = FIELDS
        .into_iter()
        .flat_map(|field| entries(item, field).map(|(name, _)| name))
        .collect();
    for name in names {
        let of = |field: &str| item[field].get(name);
        let asked = if kind == "Pod" {
            None
        } else {
            of("defaultRequest")
        };
        let default = if kind == "Pod" { None } else { of("default") };
        let pairs = [
            ("min", "min value", of("min"), "max value", of("max")),
            (
                "defaultRequest",
                "default request value",
                asked,
                "max value",
                of("max"),
            ),
            (
                "defaultRequest",
                "default request value",
                asked,
                "default value",
                default,
            ),
            ("default", "default value", default, "max value", of("max")),
        ];
        lower_bounds(name, &pairs[..1], path, errors);
        under_minimum(name, (of("min"), asked, default), path, errors);
        lower_bounds(name, &pairs[1..], path, errors);
    }
}

type Pair<'v> = (
    &'static str,
    &'static str,
    Option<&'v Value>,
    &'static str,
    Option<&'v Value>,
);

fn lower_bounds(name: &str, pairs: &[Pair<'_>], path: &Path<'_>, errors: &mut Errors) {
    for (field, what, low, other, high) in pairs {
        let (Some(low), Some(high)) = (low, high) else {
            continue;
        };
        if amount(low) > amount(high) {
            let (low, high) = (shown(low), shown(high));
            let why = format!("{what} {low} is greater than {other} {high}");
            // Upstream shows the bound for defaults.
            let value = if *field == "default" { high } else { low };
            let place = path.field(field);
            errors.push(FieldError::invalid(&place.key(name), value, why));
        }
    }
}

fn under_minimum(
    name: &str,
    (least, asked, default): (Option<&Value>, Option<&Value>, Option<&Value>),
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let rows = [
        ("defaultRequest", "default request value", asked),
        ("default", "default value", default),
    ];
    for (field, what, value) in rows {
        let (Some(least), Some(value)) = (least, value) else {
            continue;
        };
        if amount(least) > amount(value) {
            let why = format!(
                "min value {} is greater than {what} {}",
                shown(least),
                shown(value)
            );
            let place = path.field(field);
            errors.push(FieldError::invalid(&place.key(name), shown(value), why));
        }
    }
}

fn shown(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub(crate) fn limits_update(new: &Value, _old: &Value, errors: &mut Errors) {
    limits(new, errors);
}

/// What a quota may be about.
const QUOTA: [&str; 20] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];
/// What is counted in whole numbers.
const COUNTED: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];
const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];

pub(crate) fn quota(quota: &Value, errors: &mut Errors) {
    let (spec, path) = (&quota["spec"], Path::ROOT.field("spec"));
    let hard = path.field("hard");
    for (name, value) in entries(spec, "hard") {
        let place = hard.key(name);
        resource_name(name, &place, errors);
        let is_known = name.contains('/')
            || QUOTA.contains(&name)
            || name.starts_with("hugepages-")
            || name.starts_with("requests.hugepages-");
        if !is_known {
            let why = "must be a standard resource for quota";
            errors.push(FieldError::invalid(&place, name, why));
        }
        non_negative_amount(value, &place, errors);
        if COUNTED.contains(&name) && amount(value).as_integer().is_err() {
            errors.push(FieldError::invalid(
                &place,
                value.clone(),
                "must be an integer",
            ));
        }
    }
    let scopes = list(spec, "scopes");
    let told: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
    let place = path.field("scopes");
    let all = || Value::Array(scopes.to_vec());
    if told.iter().any(|scope| !SCOPES.contains(scope)) {
        errors.push(FieldError::invalid(&place, all(), "unsupported scope"));
    }
    let opposites = [
        ("BestEffort", "NotBestEffort"),
        ("Terminating", "NotTerminating"),
    ];
    for (one, other) in opposites {
        if told.contains(&one) && told.contains(&other) {
            errors.push(FieldError::invalid(&place, all(), "conflicting scopes"));
        }
    }
}

pub(crate) fn quota_update(new: &Value, old: &Value, errors: &mut Errors) {
    quota(new, errors);
    let sorted = |quota: &Value| {
        let scopes = list(&quota["spec"], "scopes").iter();
        scopes
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect::<BTreeSet<_>>()
    };
    if sorted(new) != sorted(old) {
        let path = Path::ROOT.field("spec");
        let value = new["spec"]["scopes"].clone();
        errors.push(FieldError::invalid(
            &path.field("scopes"),
            value,
            "field is immutable",
        ));
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
        errors.push(FieldError::forbidden(&metadata.field("name"), why));
    } else if value > PRIORITY_MAX && !is_system {
        let why = format!("maximum allowed value of a user defined priority is {PRIORITY_MAX}");
        errors.push(FieldError::forbidden(&Path::ROOT.field("value"), why));
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
        errors.push(FieldError::forbidden(&Path::ROOT.field("value"), why));
    }
    immutable_field(new, old, "preemptionPolicy", &Path::ROOT, errors);
}

pub(crate) fn runtime(class: &Value, errors: &mut Errors) {
    label(text(class, "handler"), &Path::ROOT.field("handler"), errors);
}

pub(crate) fn runtime_update(new: &Value, old: &Value, errors: &mut Errors) {
    immutable_field(new, old, "handler", &Path::ROOT, errors);
}

/// The shortest time that a certificate may be asked for.
const EXPIRATION_SECONDS_MIN: i64 = 600;

pub(crate) fn signing_request(request: &Value, errors: &mut Errors) {
    let (spec, path) = (&request["spec"], Path::ROOT.field("spec"));
    let asked = text(spec, "request");
    if !is_request(asked) {
        let why = "PEM block type must be CERTIFICATE REQUEST";
        errors.push(FieldError::invalid(&path.field("request"), asked, why));
    }
    if list(spec, "usages").is_empty() {
        errors.push(FieldError::required(&path.field("usages"), ""));
    }
    let signer = text(spec, "signerName");
    let place = path.field("signerName");
    match signer.split_once('/') {
        _ if signer.is_empty() => errors.push(FieldError::required(&place, "")),
        Some((domain, rest)) if !rest.is_empty() => {
            told(names::dns1123_subdomain(domain), domain, &place, errors);
        }
        _ => {
            let why =
                "must be a fully qualified domain and path of the form 'example.com/signer-name'";
            errors.push(FieldError::invalid(&place, signer, why));
        }
    }
    let seconds = number(spec, "expirationSeconds");
    if let Some(seconds) = seconds.filter(|seconds| *seconds < EXPIRATION_SECONDS_MIN) {
        let why = format!(
            "may not specify a duration less than {EXPIRATION_SECONDS_MIN} seconds (10 minutes)"
        );
        errors.push(FieldError::invalid(
            &path.field("expirationSeconds"),
            seconds,
            why,
        ));
    }
}

/// How a request for a certificate starts.
const REQUEST_START: &[u8] = b"-----BEGIN CERTIFICATE REQUEST-----";

/// Whether bytes, in base64, are a request for a certificate in PEM.
fn is_request(encoded: &str) -> bool {
    let decoded = STANDARD.decode(encoded).unwrap_or_default();
    decoded.trim_ascii_start().starts_with(REQUEST_START)
}

pub(crate) fn signing_request_update(new: &Value, old: &Value, errors: &mut Errors) {
    immutable_field(new, old, "spec", &Path::ROOT, errors);
    let of = |request: &Value, name: &str| {
        let conditions = list(&request["status"], "conditions").iter();
        conditions.filter(|told| text(told, "type") == name).count()
    };
    if of(new, "Approved") > 0 && of(new, "Denied") > 0 {
        let status = Path::ROOT.field("status");
        let why = "Approved and Denied conditions are mutually exclusive";
        let value = new["status"]["conditions"].clone();
        errors.push(FieldError::invalid(&status.field("conditions"), value, why));
    }
}
