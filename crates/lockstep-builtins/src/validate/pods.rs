//! Validation of pods and pod updates.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Map, Value, json};

use super::network::IP;
use super::scalar::between;
use super::{Errors, pod_spec};
use crate::accounts::MIRROR;
use crate::look::{list, number, some, text};

fn spec_of(pod: &Value) -> &Value {
    pod.get("spec").unwrap_or(&Value::Null)
}

pub(crate) fn pod(pod: &Value, errors: &mut Errors) {
    let (spec, path) = (spec_of(pod), Path::ROOT.field("spec"));
    mirror(pod, spec, errors);
    pod_spec::check(spec, &path, errors);
    account_tokens(spec, &path, errors);
    images(spec, &path, errors);
    if !list(spec, "ephemeralContainers").is_empty() {
        let why = "cannot be set on create";
        errors.push_with(|| FieldError::forbidden(&path.field("ephemeralContainers"), why));
    }
}

/// A mirror pod stands for one that a node runs from a file.
fn mirror(pod: &Value, spec: &Value, errors: &mut Errors) {
    let Some(value) = some(&pod["metadata"]["annotations"], MIRROR).and_then(Value::as_str) else {
        return;
    };
    if text(spec, "nodeName").is_empty() {
        let path = Path::ROOT.field("metadata");
        let path = path.field("annotations");
        let why = "must set spec.nodeName if mirror pod annotation is set";
        errors.push_with(|| FieldError::invalid(&path.key(MIRROR), value, why));
    }
}

/// Tokens are of an account.
fn account_tokens(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !text(spec, "serviceAccountName").is_empty() {
        return;
    }
    let volumes_path = path.field("volumes");
    for (index, volume) in list(spec, "volumes").iter().enumerate() {
        let volume_path = volumes_path.index(index);
        let projected_path = volume_path.field("projected");
        let sources_path = projected_path.field("sources");
        for (at, source) in list(&volume["projected"], "sources").iter().enumerate() {
            if some(source, "serviceAccountToken").is_some() {
                let source_path = sources_path.index(at);
                let why = "must not be specified when serviceAccountName is not set";
                let place = source_path.field("serviceAccountToken");
                errors.push_with(|| FieldError::forbidden(&place, why));
            }
        }
    }
}

fn images(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["containers", "initContainers"] {
        let list_path = path.field(field);
        for (index, container) in list(spec, field).iter().enumerate() {
            let image = text(container, "image");
            if image.trim() != image {
                let path = list_path.index(index);
                let why = "must not have leading or trailing whitespace";
                errors.push_with(|| FieldError::invalid(&path.field("image"), image, why));
            }
        }
    }
}

/// Mutable fields of a pod, as upstream's message lists them.
const CHANGES: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

/// Validates the pod status: observed generation, pod and host IPs, and the immutable `QoS` class.
pub(crate) fn pod_status(new: &Value, old: &Value, errors: &mut Errors) {
    let (status, path) = (&new["status"], Path::ROOT.field("status"));
    let observed = number(status, "observedGeneration").unwrap_or_default();
    if observed < 0 {
        let path = path.field("observedGeneration");
        let why = "must be a non-negative integer";
        errors.push_with(|| FieldError::invalid(&path, observed, why));
    }
    let (class, was) = (text(status, "qosClass"), text(&old["status"], "qosClass"));
    if !class.is_empty() && class != was {
        let why = "field is immutable";
        errors.push_with(|| FieldError::invalid(&path.field("qosClass"), class, why));
    }
    let place = path.field("podIPs");
    let mut ips: Vec<&str> = list(status, "podIPs")
        .iter()
        .map(|it| text(it, "ip"))
        .collect();
    if ips.is_empty() {
        ips.extend(Some(text(status, "podIP")).filter(|ip| !ip.is_empty()));
    }
    for (index, ip) in ips.iter().enumerate() {
        if ip.parse::<IpAddr>().is_err() {
            errors.push_with(|| FieldError::invalid(&place.index(index), *ip, IP));
        }
    }
    let families: Vec<bool> = ips
        .iter()
        .filter_map(|ip| Some(ip.parse::<IpAddr>().ok()?.is_ipv4()))
        .collect();
    let of = |is_four: bool| families.iter().filter(|four| **four == is_four).count();
    if of(true) > 1 || of(false) > 1 {
        let why = "may specify no more than one IP for each IP family";
        errors.push_with(|| FieldError::invalid(&place, &status["podIPs"], why));
    }
}

pub(crate) fn pod_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    let (spec, old_spec) = (spec_of(new), spec_of(old));
    pod_spec::check(spec, &path, errors);
    images(spec, &path, errors);
    for field in ["containers", "initContainers"] {
        if list(spec, field).len() != list(old_spec, field).len() {
            let why = "pod updates may not add or remove containers";
            errors.push_with(|| FieldError::forbidden(&path.field(field), why));
            return;
        }
    }
    if !deadline(spec, old_spec, &path, errors) {
        return;
    }
    tolerations(spec, old_spec, &path, errors);
    let is_gated = !list(old_spec, "schedulingGates").is_empty();
    gates(spec, old_spec, &path, errors);
    if stripped(spec, is_gated) != stripped(old_spec, is_gated) {
        let why = format!("pod updates may not change fields other than {CHANGES}");
        errors.push_with(|| FieldError::forbidden(&path, why));
    }
}

/// `activeDeadlineSeconds` may only decrease. Returns true if the rest of the spec is to be compared.
fn deadline(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) -> bool {
    let path = path.field("activeDeadlineSeconds");
    let last = i64::from(i32::MAX);
    match (
        number(spec, "activeDeadlineSeconds"),
        number(old, "activeDeadlineSeconds"),
    ) {
        (Some(new), _) if !(0..=last).contains(&new) => {
            errors.push_with(|| FieldError::invalid(&path, new, between(0, last)));
            false
        }
        (Some(new), Some(old)) if old < new => {
            let why = "must be less than or equal to previous value";
            errors.push_with(|| FieldError::invalid(&path, new, why));
            false
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            errors.push_with(|| FieldError::invalid(&path, &Value::Null, why));
            true
        }
        _ => true,
    }
}

fn tolerations(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (new, old) = (list(spec, "tolerations"), list(old, "tolerations"));
    let seconds_aside = |toleration: &Value| {
        let mut toleration = toleration.clone();
        if let Some(fields) = toleration.as_object_mut() {
            fields.remove("tolerationSeconds");
        }
        json::encode(&toleration)
    };
    let now: BTreeSet<Vec<u8>> = new.iter().map(seconds_aside).collect();
    if !old.iter().all(|kept| now.contains(&seconds_aside(kept))) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        errors.push_with(|| FieldError::forbidden(&path.field("tolerations"), why));
    }
}

fn gates(spec: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    let old = list(old, "schedulingGates").iter();
    let old: BTreeSet<&str> = old.map(|gate| text(gate, "name")).collect();
    let path = path.field("schedulingGates");
    let gates = list(spec, "schedulingGates").iter();
    let names = gates.map(|gate| text(gate, "name")).enumerate();
    for (index, name) in names.filter(|(_, name)| !old.contains(name)) {
        let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        let path = path.index(index);
        errors.push_with(|| FieldError::forbidden(&path.field("name"), why));
    }
}

/// A spec without what may change.
fn stripped(spec: &Value, is_gated: bool) -> Map<String, Value> {
    let mut spec = spec.as_object().cloned().unwrap_or_default();
    for field in ["activeDeadlineSeconds", "tolerations", "schedulingGates"] {
        spec.remove(field);
    }
    if is_gated {
        spec.remove("nodeSelector");
        let affinity = spec.get_mut("affinity").and_then(Value::as_object_mut);
        if let Some(affinity) = affinity {
            affinity.remove("nodeAffinity");
        }
        if spec
            .get("affinity")
            .and_then(Value::as_object)
            .is_some_and(Map::is_empty)
        {
            spec.remove("affinity");
        }
    }
    let grace = spec
        .get("terminationGracePeriodSeconds")
        .and_then(Value::as_i64);
    if grace.is_some_and(|seconds| seconds <= 1) {
        spec.remove("terminationGracePeriodSeconds");
    }
    for field in ["containers", "initContainers"] {
        let containers = spec.get_mut(field).and_then(Value::as_array_mut);
        for container in containers
            .into_iter()
            .flatten()
            .filter_map(Value::as_object_mut)
        {
            container.remove("image");
        }
    }
    spec
}

/// Validates an update through the resize subresource.
pub(crate) fn resized(pod: &Value, errors: &mut Errors) {
    pod_spec::check(spec_of(pod), &Path::ROOT.field("spec"), errors);
}

/// Ephemeral containers can be added, but not removed or changed.
pub(crate) fn ephemeral_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("spec");
    pod_spec::check(spec_of(new), &path, errors);
    let place = path.field("ephemeralContainers");
    let (now, before) = (
        list(spec_of(new), "ephemeralContainers"),
        list(spec_of(old), "ephemeralContainers"),
    );
    // Of containers with one name the first counts.
    let named = now.iter().rev();
    let now: BTreeMap<&str, &Value> = named.map(|it| (text(it, "name"), it)).collect();
    for known in before {
        let name = text(known, "name");
        match now.get(name) {
            None => {
                let why = format!("existing ephemeral containers {name:?} may not be removed\n");
                errors.push_with(|| FieldError::forbidden(&place, why));
            }
            Some(container) if *container != known => {
                let why = format!("existing ephemeral containers {name:?} may not be changed\n");
                errors.push_with(|| FieldError::forbidden(&place, why));
            }
            Some(_) => {}
        }
    }
}
