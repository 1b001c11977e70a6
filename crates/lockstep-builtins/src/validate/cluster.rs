//! Validation of nodes and priority classes.

use std::collections::BTreeSet;

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
