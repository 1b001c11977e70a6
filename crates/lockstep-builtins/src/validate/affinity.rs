//! Validation of node and pod affinity.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names;
use lockstep_object::selector::validate_label_selector;

use super::{Errors, push_problems, subdomain};
use crate::look::{list, number, some, text};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const NO_OPERATOR: &str = "not a valid selector operator";

/// Handling of invalid label values: tolerated in preferred terms, as upstream does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Values {
    Checked,
    Any,
}

pub(super) fn check(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (affinity, path) = (&spec["affinity"], path.field("affinity"));
    if let Some(nodes) = some(affinity, "nodeAffinity") {
        node_affinity(nodes, &path.field("nodeAffinity"), errors);
    }
    for field in ["podAffinity", "podAntiAffinity"] {
        if let Some(pods) = some(affinity, field) {
            pod_affinity(pods, &path.field(field), errors);
        }
    }
}

fn node_affinity(nodes: &Value, path: &Path<'_>, errors: &mut Errors) {
    if let Some(selector) = some(nodes, REQUIRED) {
        node_selector(selector, &path.field(REQUIRED), errors);
    }
    let path = path.field(PREFERRED);
    for (index, wish) in list(nodes, PREFERRED).iter().enumerate() {
        let path = path.index(index);
        weight(wish, &path, errors);
        let place = path.field("preference");
        node_term(&wish["preference"], Values::Any, &place, errors);
    }
}

/// Validates a node selector.
pub(super) fn node_selector(selector: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("nodeSelectorTerms");
    let terms = list(selector, "nodeSelectorTerms");
    if terms.is_empty() {
        let why = "must have at least one node selector term";
        errors.push_with(|| FieldError::required(&path, why));
    }
    for (index, term) in terms.iter().enumerate() {
        node_term(term, Values::Checked, &path.index(index), errors);
    }
}

fn node_term(term: &Value, values: Values, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("matchExpressions");
    for (index, expression) in list(term, "matchExpressions").iter().enumerate() {
        label_requirement(expression, values, &place.index(index), errors);
    }
    let place = path.field("matchFields");
    for (index, expression) in list(term, "matchFields").iter().enumerate() {
        field_requirement(expression, &place.index(index), errors);
    }
}

fn label_requirement(rule: &Value, values: Values, path: &Path<'_>, errors: &mut Errors) {
    let given = list(rule, "values");
    let place = path.field("values");
    match text(rule, "operator") {
        "In" | "NotIn" if given.is_empty() => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push_with(|| FieldError::required(&place, why));
        }
        "Exists" | "DoesNotExist" if !given.is_empty() => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push_with(|| FieldError::forbidden(&place, why));
        }
        "Gt" | "Lt" if given.len() != 1 => {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push_with(|| FieldError::required(&place, why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            errors.push_with(|| FieldError::invalid(&path.field("operator"), other, NO_OPERATOR));
        }
    }
    let key = text(rule, "key");
    push_problems(names::qualified_name(key), key, &path.field("key"), errors);
    if values == Values::Checked {
        for (index, value) in given.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            push_problems(
                names::label_value(value),
                value,
                &place.index(index),
                errors,
            );
        }
    }
}

/// Validates a field requirement; `metadata.name` is the only supported field.
fn field_requirement(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let given = list(rule, "values");
    let place = path.field("values");
    match text(rule, "operator") {
        "In" | "NotIn" => {
            if given.len() != 1 {
                let why = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
                errors.push_with(|| FieldError::required(&place, why));
            }
        }
        other => {
            errors.push_with(|| FieldError::invalid(&path.field("operator"), other, NO_OPERATOR));
        }
    }
    let key = text(rule, "key");
    if key != "metadata.name" {
        let why = "not a valid field selector key";
        errors.push_with(|| FieldError::invalid(&path.field("key"), key, why));
        return;
    }
    for (index, value) in given.iter().enumerate() {
        let value = value.as_str().unwrap_or_default();
        subdomain(value, &place.index(index), errors);
    }
}

fn weight(wish: &Value, path: &Path<'_>, errors: &mut Errors) {
    let weight = number(wish, "weight").unwrap_or_default();
    if !(1..=100).contains(&weight) {
        let why = "must be in the range 1-100";
        errors.push_with(|| FieldError::invalid(&path.field("weight"), weight, why));
    }
}

fn pod_affinity(pods: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field(REQUIRED);
    for (index, term) in list(pods, REQUIRED).iter().enumerate() {
        pod_term(term, &place.index(index), errors);
    }
    let place = path.field(PREFERRED);
    for (index, wish) in list(pods, PREFERRED).iter().enumerate() {
        let path = place.index(index);
        weight(wish, &path, errors);
        let place = path.field("podAffinityTerm");
        pod_term(&wish["podAffinityTerm"], &place, errors);
    }
}

fn pod_term(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["labelSelector", "namespaceSelector"] {
        if let Some(selector) = some(term, field) {
            errors.append(validate_label_selector(selector, &path.field(field)));
        }
    }
    for name in list(term, "namespaces") {
        let name = name.as_str().unwrap_or_default();
        let problems = names::dns1123_label(name);
        push_problems(problems, name, &path.field("namespace"), errors);
    }
    label_keys(term, path, errors);
    let (key, path) = (text(term, "topologyKey"), path.field("topologyKey"));
    if key.is_empty() {
        errors.push_with(|| FieldError::required(&path, "can not be empty"));
    }
    push_problems(names::qualified_name(key), key, &path, errors);
}

/// Keys whose values of the pod itself become a part of the selector.
pub(super) fn label_keys(term: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["matchLabelKeys", "mismatchLabelKeys"] {
        let (keys, path) = (list(term, field), path.field(field));
        if !keys.is_empty() && some(term, "labelSelector").is_none() {
            let why = "must not be specified when labelSelector is not set";
            errors.push_with(|| FieldError::forbidden(&path, why));
            continue;
        }
        for (index, key) in keys.iter().enumerate() {
            let key = key.as_str().unwrap_or_default();
            push_problems(names::qualified_name(key), key, &path.index(index), errors);
        }
    }
    let place = path.field("matchLabelKeys");
    let mismatched = list(term, "mismatchLabelKeys").iter();
    let mismatched: BTreeSet<&str> = mismatched.filter_map(Value::as_str).collect();
    for (index, key) in list(term, "matchLabelKeys").iter().enumerate() {
        if key.as_str().is_some_and(|key| mismatched.contains(key)) {
            let why = "exists in both matchLabelKeys and mismatchLabelKeys";
            errors.push_with(|| FieldError::invalid(&place.index(index), key, why));
        }
    }
}
