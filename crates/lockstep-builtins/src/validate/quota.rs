//! Validation of resource quotas.

use std::collections::BTreeSet;

use lockstep_object::field::{FieldError, Path, Shown};
use lockstep_object::{Value, names};
use serde_json::json;

use super::Errors;
use super::resources::{is_known_name, non_negative_amount, resource_name};
use crate::amounts::{PODS, amount};
use crate::look::{entries, list, text};

/// Resources counted in integers, apart from extended resources.
const COUNTED: [&str; 9] = [
    "configmaps",
    "persistentvolumeclaims",
    PODS,
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
/// Scopes that support only `Exists`.
const PLAIN_SCOPES: [&str; 5] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "Terminating",
];
const OPPOSITES: [(&str, &str); 2] = [
    ("BestEffort", "NotBestEffort"),
    ("Terminating", "NotTerminating"),
];
/// Compute resources, which scopes can select pods for.
const COMPUTE: [&str; 6] = [
    "cpu",
    "limits.cpu",
    "limits.memory",
    "memory",
    "requests.cpu",
    "requests.memory",
];

pub(crate) fn quota(quota: &Value, errors: &mut Errors) {
    let (spec, path) = (&quota["spec"], Path::ROOT.field("spec"));
    amounts(spec, "hard", &path, errors);
    scopes(spec, &path, errors);
    if spec["scopeSelector"].is_object() {
        selector(spec, &path, errors);
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
        errors.push_with(|| {
            FieldError::invalid(
                &path.field("scopes"),
                &new["spec"]["scopes"],
                "field is immutable",
            )
        });
    }
}

pub(crate) fn quota_status(quota: &Value, _old: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("status");
    amounts(&quota["status"], "hard", &path, errors);
    amounts(&quota["status"], "used", &path, errors);
}

fn is_standard(name: &str) -> bool {
    // `storage` is only valid with the prefix `requests.`.
    is_known_name(name) && name != "storage"
}

/// True for extended resources.
fn is_extended(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    let asked = format!("requests.{name}");
    !is_native && !name.starts_with("requests.") && names::qualified_name(&asked).is_empty()
}

fn amounts(parent: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field(field);
    for (name, value) in entries(parent, field) {
        let place = path.key(name);
        resource_name(name, &place, errors);
        if !name.contains('/') && !is_standard(name) {
            let why = "must be a standard resource for quota";
            errors.push_with(|| FieldError::invalid(&place, name, why));
        }
        non_negative_amount(value, &place, errors);
        let is_counted = COUNTED.contains(&name) || is_extended(name);
        if is_counted && amount(value).as_integer().is_err() {
            let why = "must be an integer";
            errors.push_with(|| FieldError::invalid(&place, value, why));
        }
    }
}

/// True if a scope applies to a quota resource.
fn is_scope_of(scope: &str, resource: &str) -> bool {
    match scope {
        "BestEffort" => resource == PODS,
        "VolumeAttributesClass" => {
            ["persistentvolumeclaims", "requests.storage"].contains(&resource)
        }
        _ if SCOPES.contains(&scope) => resource == PODS || COMPUTE.contains(&resource),
        _ => true,
    }
}

/// True if a quota has a resource that its scope does not fit.
fn is_unfit(spec: &Value, scope: &str) -> bool {
    let mut names = entries(spec, "hard").map(|(name, _)| name);
    names.any(|name| is_standard(name) && !is_scope_of(scope, name))
}

fn scopes(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("scopes");
    let all = list(spec, "scopes");
    let given = each_once(all.iter().filter_map(Value::as_str));
    // Upstream reports each scope and resource, always with all scopes: in one text, which is shown once.
    let mut told = BTreeSet::new();
    let mut wrong = |why| {
        if told.insert(why) {
            errors.push_with(|| FieldError::invalid(&place, all, why));
        }
    };
    for scope in &given {
        if !SCOPES.contains(scope) {
            wrong("unsupported scope");
        } else if is_unfit(spec, scope) {
            wrong("unsupported scope applied to resource");
        }
    }
    opposites(&given, &place, all, errors);
}

/// The texts without repetitions, in their order.
fn each_once<'v>(texts: impl Iterator<Item = &'v str>) -> Vec<&'v str> {
    let mut seen = BTreeSet::new();
    texts.filter(|text| seen.insert(*text)).collect()
}

fn opposites(given: &[&str], place: &Path<'_>, shown: impl Into<Shown>, errors: &mut Errors) {
    let shown = shown.into();
    for (one, other) in OPPOSITES {
        if given.contains(&one) && given.contains(&other) {
            errors.push_with(|| FieldError::invalid(place, shown.clone(), "conflicting scopes"));
        }
    }
}

fn selector(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let selector = &spec["scopeSelector"];
    let path = path.field("scopeSelector");
    let place = path.field("matchExpressions");
    let expressions = list(selector, "matchExpressions");
    let mut unfit = BTreeSet::new();
    for expression in expressions {
        let scope = text(expression, "scopeName");
        if !SCOPES.contains(&scope) {
            let place = place.field("scopeName");
            errors.push_with(|| FieldError::invalid(&place, scope, "unsupported scope"));
        }
        if SCOPES.contains(&scope) && unfit.insert(scope) && is_unfit(spec, scope) {
            let why = "unsupported scope applied to resource";
            errors.push_with(|| FieldError::invalid(&place, &shown(expressions), why));
        }
        operator(expression, scope, &place, errors);
    }
    let scopes = expressions.iter().map(|item| text(item, "scopeName"));
    let given: Vec<&str> = scopes.collect();
    opposites(&given, &place, &spec["scopes"], errors);
}

fn operator(expression: &Value, scope: &str, place: &Path<'_>, errors: &mut Errors) {
    let operator = text(expression, "operator");
    if PLAIN_SCOPES.contains(&scope) && operator != "Exists" {
        let why = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
        errors.push_with(|| FieldError::invalid(&place.field("operator"), operator, why));
    }
    let values = list(expression, "values");
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            let why =
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            errors.push_with(|| FieldError::required(&place.field("values"), why));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let why =
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            errors.push_with(|| FieldError::invalid(&place.field("values"), values, why));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        other => {
            let why = "not a valid selector operator";
            errors.push_with(|| FieldError::invalid(&place.field("operator"), other, why));
        }
    }
}

/// A scope selector with the field names of upstream's internal type, as messages print it.
fn shown(expressions: &[Value]) -> Value {
    let expressions = expressions.iter().map(|item| {
        json!({ "ScopeName": item["scopeName"], "Operator": item["operator"], "Values": item["values"] })
    });
    json!({ "MatchExpressions": expressions.collect::<Vec<_>>() })
}
