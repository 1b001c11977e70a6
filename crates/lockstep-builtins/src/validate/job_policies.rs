//! Validation of job success and failure policies.

use std::collections::BTreeSet;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Value, names};

use super::{Errors, at_most, non_negative, push_problems};
use crate::look::{list, number, some, text};

const ACTIONS: [&str; 4] = ["Count", "FailIndex", "FailJob", "Ignore"];
const STATUSES: [&str; 3] = ["False", "True", "Unknown"];
const OPERATORS: [&str; 2] = ["In", "NotIn"];
const RULES_MAX: usize = 20;
const VALUES_MAX: usize = 255;

/// Validates `managedBy`: a domain and a path.
pub(super) fn managed_by(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    const BYTES_MAX: usize = 63;
    let Some(name) = some(spec, "managedBy").and_then(Value::as_str) else {
        return;
    };
    let path = path.field("managedBy");
    match name.split_once('/') {
        _ if name.is_empty() => errors.push_with(|| FieldError::required(&path, "")),
        Some((domain, rest)) if !domain.is_empty() && !rest.is_empty() => {
            push_problems(names::dns1123_subdomain(domain), domain, &path, errors);
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push_with(|| FieldError::invalid(&path, name, why));
        }
    }
    if name.len() > BYTES_MAX {
        errors.push_with(|| FieldError::too_long(&path, BYTES_MAX));
    }
}

/// Validates `podFailurePolicy`.
pub(super) fn failure(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(policy) = some(spec, "podFailurePolicy") else {
        return;
    };
    let of_pod = &spec["template"]["spec"];
    let containers = ["containers", "initContainers"].into_iter();
    let containers = containers.flat_map(|field| list(of_pod, field));
    let containers: BTreeSet<&str> = containers
        .map(|container| text(container, "name"))
        .collect();
    let path = path.field("podFailurePolicy");
    let path = path.field("rules");
    let rules = at_most(list(policy, "rules"), RULES_MAX, &path, errors);
    for (index, rule) in rules.iter().enumerate() {
        failure_rule(rule, spec, &containers, &path.index(index), errors);
    }
}

/// Validates an enumerated value; the error lists the supported ones.
fn known(given: &str, known: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if given.is_empty() {
        let quoted: Vec<String> = known.iter().map(|name| format!("{name:?}")).collect();
        let why = format!("valid values: [{}]", quoted.join(" "));
        errors.push_with(|| FieldError::required(path, why));
    } else {
        super::one_of_or_none(given, known, path, errors);
    }
}

fn failure_rule(
    rule: &Value,
    spec: &Value,
    containers: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let action = text(rule, "action");
    known(action, &ACTIONS, &path.field("action"), errors);
    if action == "FailIndex" && some(spec, "backoffLimitPerIndex").is_none() {
        let why = "requires the backoffLimitPerIndex to be set";
        errors.push_with(|| FieldError::invalid(&path.field("action"), action, why));
    }
    let codes = some(rule, "onExitCodes");
    if let Some(codes) = codes {
        exit_codes(codes, containers, &path.field("onExitCodes"), errors);
    }
    let place = path.field("onPodConditions");
    let conditions = at_most(list(rule, "onPodConditions"), RULES_MAX, &place, errors);
    for (index, condition) in conditions.iter().enumerate() {
        let (name, path) = (text(condition, "type"), place.index(index));
        let problems = names::qualified_name(name);
        push_problems(problems, name, &path.field("type"), errors);
        let status = text(condition, "status");
        known(status, &STATUSES, &path.field("status"), errors);
    }
    let why = match (codes.is_some(), !conditions.is_empty()) {
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        _ => return,
    };
    errors.push_with(|| FieldError::invalid_whole(path, why));
}

fn exit_codes(codes: &Value, containers: &BTreeSet<&str>, path: &Path<'_>, errors: &mut Errors) {
    let operator = text(codes, "operator");
    known(operator, &OPERATORS, &path.field("operator"), errors);
    let container = some(codes, "containerName").and_then(Value::as_str);
    if let Some(container) = container.filter(|name| !containers.contains(name)) {
        let why = "must be one of the container or initContainer names in the pod template";
        let path = path.field("containerName");
        errors.push_with(|| FieldError::invalid(&path, container, why));
    }
    let (values, path) = (list(codes, "values"), path.field("values"));
    if values.is_empty() {
        let why = "at least one value is required";
        errors.push_with(|| FieldError::invalid(&path, &codes["values"], why));
    }
    let values = at_most(values, VALUES_MAX, &path, errors);
    let mut seen = BTreeSet::new();
    let numbers: Vec<i64> = values.iter().filter_map(Value::as_i64).collect();
    for (index, value) in numbers.iter().enumerate() {
        let path = path.index(index);
        if operator == "In" && *value == 0 {
            let why = "must not be 0 for the In operator";
            errors.push_with(|| FieldError::invalid(&path, *value, why));
        }
        if !seen.insert(*value) {
            errors.push_with(|| FieldError::duplicate(&path, *value));
        }
    }
    if !numbers.is_sorted() {
        let why = "must be ordered";
        errors.push_with(|| FieldError::invalid(&path, &codes["values"], why));
    }
}

/// Validates `successPolicy`.
pub(super) fn success(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(policy) = some(spec, "successPolicy") else {
        return;
    };
    let path = path.field("successPolicy");
    if text(spec, "completionMode") != "Indexed" {
        let why = "requires indexed completion mode";
        errors.push_with(|| FieldError::invalid(&path, policy, why));
        return;
    }
    let (rules, path) = (list(policy, "rules"), path.field("rules"));
    if rules.is_empty() {
        let why = "at least one rules must be specified when the successPolicy is specified";
        errors.push_with(|| FieldError::required(&path, why));
    }
    let rules = at_most(rules, RULES_MAX, &path, errors);
    let completions = number(spec, "completions").unwrap_or_default();
    for (index, rule) in rules.iter().enumerate() {
        success_rule(rule, completions, &path.index(index), errors);
    }
}

fn success_rule(rule: &Value, completions: i64, path: &Path<'_>, errors: &mut Errors) {
    let indexes = some(rule, "succeededIndexes").and_then(Value::as_str);
    let count = number(rule, "succeededCount");
    if indexes.is_none() && count.is_none() {
        let why = "at least one of succeededCount or succeededIndexes must be specified";
        errors.push_with(|| FieldError::required(path, why));
    }
    let named = indexes.map(|indexes| {
        count_indexes(indexes, completions).unwrap_or_else(|why| {
            let why = format!("error parsing succeededIndexes: {why}");
            let path = path.field("succeededIndexes");
            errors.push_with(|| FieldError::invalid(&path, indexes, why));
            0
        })
    });
    let Some(count) = count else {
        return;
    };
    non_negative(rule, "succeededCount", path, errors);
    let path = path.field("succeededCount");
    let mut at_most = |most: i64, of: &str| {
        if count > most {
            let why = format!("must be less than or equal to {most} (the number of {of})");
            errors.push_with(|| FieldError::invalid(&path, count, why));
        }
    };
    at_most(completions, "specified completions");
    if let Some(named) = named {
        at_most(named, "indexes in the specified succeededIndexes field");
    }
}

/// Number of indexes in a text like `1,3-5`.
pub(super) fn count_indexes(text: &str, completions: i64) -> Result<i64, String> {
    let mut total = 0;
    let mut last: Option<i64> = None;
    let in_order = |before: i64, next: i64| {
        if before < next {
            return Ok(());
        }
        Err(format!(
            "non-increasing order, previous: {before}, current: {next}"
        ))
    };
    let index = |text: &str| {
        let index: i64 = text
            .parse()
            .map_err(|_| format!("cannot convert string to integer for index: {text:?}"))?;
        if index >= completions {
            return Err(format!("too large index: {text:?}"));
        }
        Ok(index)
    };
    for part in text.split(',').filter(|_| !text.is_empty()) {
        let ends: Vec<&str> = part.split('-').collect();
        let (first, end) = match ends[..] {
            [one] => {
                let one = index(one)?;
                (one, one)
            }
            [first, end] => {
                let (first, end) = (index(first)?, index(end)?);
                in_order(first, end)?;
                (first, end)
            }
            _ => {
                return Err(format!(
                    "the fragment {part:?} violates the requirement that an index interval can have at most two parts separated by '-'"
                ));
            }
        };
        if let Some(last) = last {
            in_order(last, first)?;
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}
