//! Validation of autoscaler metrics and scaling behavior.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names::{NameRule, Part};

use super::{Errors, apps, label, push_problems};
use crate::amounts::amount;
use crate::look::{list, number, some, text};

/// Metric source types with their fields, in upstream's order.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("External", "external"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
];
const TYPES: [&str; 5] = [
    "ContainerResource",
    "External",
    "Object",
    "Pods",
    "Resource",
];
const WINDOW_SECONDS_MAX: i64 = 3600;
const PERIOD_SECONDS_MAX: i64 = 1800;

/// One metric: exactly the source that its type names.
pub(super) fn metric(metric: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kind = text(metric, "type");
    let place = path.field("type");
    let source = SOURCES.iter().find(|(known, _)| *known == kind);
    if kind.is_empty() {
        let why = "must specify a metric source type";
        errors.push_with(|| FieldError::required(&place, why));
    }
    if source.is_none() {
        errors.push_with(|| FieldError::not_supported(&place, kind, TYPES));
    }
    let given = SOURCES.iter().map(|(_, field)| *field);
    let given: Vec<&str> = given
        .filter(|field| some(metric, field).is_some())
        .collect();
    if let Some(first) = given.first() {
        one_source(&metric[*first], first, &path.field(first), errors);
    }
    let wanted = source.map_or("", |(_, field)| *field);
    if source.is_none() {
        errors.push_with(|| FieldError::not_supported(&place, kind, TYPES));
    } else if !given.contains(&wanted) {
        let why = "must populate information for the given metric source";
        errors.push_with(|| FieldError::required(&path.field(wanted), why));
    }
    if given.len() != 1 {
        for other in given.into_iter().filter(|field| *field != wanted) {
            let why = "must populate the given metric source only";
            errors.push_with(|| FieldError::forbidden(&path.field(other), why));
        }
    }
}

fn one_source(source: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    if field == "object" {
        let place = path.field("describedObject");
        apps::named_kind(&source["describedObject"], &place, errors);
    }
    if matches!(field, "resource" | "containerResource") {
        if text(source, "name").is_empty() {
            let why = "must specify a resource name";
            errors.push_with(|| FieldError::required(&path.field("name"), why));
        }
    } else {
        identifier(&source["metric"], &path.field("metric"), errors);
    }
    if field == "containerResource" {
        let (container, place) = (text(source, "container"), path.field("container"));
        if container.is_empty() {
            errors.push_with(|| FieldError::required(&place, "must specify a container"));
        } else {
            label(container, &place, errors);
        }
    }
    let (goal, path) = (&source["target"], path.field("target"));
    target(goal, &path, errors);
    targets(goal, field, &path, errors);
}

fn identifier(metric: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (name, path) = (text(metric, "name"), path.field("name"));
    if name.is_empty() {
        errors.push_with(|| FieldError::required(&path, "must specify a metric name"));
    } else {
        push_problems(
            NameRule::PathSegment.check(name, Part::Whole),
            name,
            &path,
            errors,
        );
    }
}

fn target(target: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (kind, place) = (text(target, "type"), path.field("type"));
    if kind.is_empty() {
        let why = "must specify a metric target type";
        errors.push_with(|| FieldError::required(&place, why));
    }
    if !matches!(kind, "Utilization" | "Value" | "AverageValue") {
        let why = "must be either Utilization, Value, or AverageValue";
        errors.push_with(|| FieldError::invalid(&place, kind, why));
    }
    for field in ["value", "averageValue"] {
        if let Some(given) = some(target, field).filter(|given| amount(given).sign() <= 0) {
            let path = path.field(field);
            errors.push_with(|| FieldError::invalid(&path, given, "must be positive"));
        }
    }
    let used = number(target, "averageUtilization");
    if let Some(used) = used.filter(|used| *used < 1) {
        let path = path.field("averageUtilization");
        errors.push_with(|| FieldError::invalid(&path, used, "must be greater than 0"));
    }
}

/// Validates the target values of a metric.
fn targets(target: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let has = |field: &str| some(target, field).is_some();
    let (value, average) = (has("value"), has("averageValue"));
    let used = has("averageUtilization");
    match field {
        "object" if !value && !average => {
            let why = "must set either a target value or averageValue";
            errors.push_with(|| FieldError::required(&path.field("averageValue"), why));
        }
        "external" if !value && !average => {
            let why = "must set either a target value for metric or a per-pod target";
            errors.push_with(|| FieldError::required(&path.field("averageValue"), why));
        }
        "external" if value && average => {
            let why = "may not set both a target value for metric and a per-pod target";
            errors.push_with(|| FieldError::forbidden(&path.field("value"), why));
        }
        "pods" if !average => {
            let why = "must specify a positive target averageValue";
            errors.push_with(|| FieldError::required(&path.field("averageValue"), why));
        }
        "resource" | "containerResource" if !used && !average => {
            let why = "must set either a target raw value or a target utilization";
            errors.push_with(|| FieldError::required(&path.field("averageUtilization"), why));
        }
        "resource" | "containerResource" if used && average => {
            let why = "may not set both a target raw value and a target utilization";
            errors.push_with(|| FieldError::forbidden(&path.field("averageValue"), why));
        }
        _ => {}
    }
}

/// Validates the scaling behavior.
pub(super) fn behavior(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("behavior");
    for field in ["scaleUp", "scaleDown"] {
        if let Some(rules) = some(&spec["behavior"], field) {
            scaling_rules(rules, &path.field(field), errors);
        }
    }
}

fn scaling_rules(rules: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("stabilizationWindowSeconds");
    match number(rules, "stabilizationWindowSeconds") {
        Some(seconds) if seconds < 0 => {
            let why = "must be greater than or equal to zero";
            errors.push_with(|| FieldError::invalid(&place, seconds, why));
        }
        Some(seconds) if seconds > WINDOW_SECONDS_MAX => {
            let why = format!("must be less than or equal to {WINDOW_SECONDS_MAX}");
            errors.push_with(|| FieldError::invalid(&place, seconds, why));
        }
        _ => {}
    }
    let known = ["Disabled", "Max", "Min"];
    let policy = some(rules, "selectPolicy").and_then(Value::as_str);
    if let Some(policy) = policy.filter(|policy| !known.contains(policy)) {
        let path = path.field("selectPolicy");
        errors.push_with(|| FieldError::not_supported(&path, policy, known));
    }
    let (policies, path) = (list(rules, "policies"), path.field("policies"));
    if policies.is_empty() {
        let why = "must specify at least one Policy";
        errors.push_with(|| FieldError::required(&path, why));
    }
    for (index, policy) in policies.iter().enumerate() {
        scaling_policy(policy, &path.index(index), errors);
    }
}

fn scaling_policy(policy: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (kind, known) = (text(policy, "type"), ["Percent", "Pods"]);
    if !known.contains(&kind) {
        let path = path.field("type");
        errors.push_with(|| FieldError::not_supported(&path, kind, known));
    }
    for field in ["value", "periodSeconds"] {
        let given = number(policy, field).unwrap_or_default();
        if given <= 0 {
            let why = "must be greater than zero";
            errors.push_with(|| FieldError::invalid(&path.field(field), given, why));
        }
    }
    let seconds = number(policy, "periodSeconds").unwrap_or_default();
    if seconds > PERIOD_SECONDS_MAX {
        let why = format!("must be less than or equal to {PERIOD_SECONDS_MAX}");
        let path = path.field("periodSeconds");
        errors.push_with(|| FieldError::invalid(&path, seconds, why));
    }
}
