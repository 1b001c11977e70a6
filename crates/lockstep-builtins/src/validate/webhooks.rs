//! Validation of webhook configurations.

use std::collections::BTreeSet;

use lockstep_gotext::url::parse_request_uri;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::selector::validate_label_selector;
use lockstep_object::{Value, names};

use super::{Errors, at_most, one_of_or_none, push_problems, required};
use crate::look::{list, number, some, text};

/// Allowed range of a webhook timeout.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<i64> = 1..=30;
/// Maximum number of match conditions per webhook.
const CONDITIONS_MAX: usize = 64;
/// Versions of reviews that are sent.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

pub(crate) fn configuration(configuration: &Value, errors: &mut Errors) {
    let path = Path::ROOT.field("webhooks");
    let mut seen = BTreeSet::new();
    for (index, webhook) in list(configuration, "webhooks").iter().enumerate() {
        let path = path.index(index);
        check(webhook, &path, errors);
        let name = text(webhook, "name");
        if !name.is_empty() && !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path.field("name"), name));
        }
    }
}

pub(crate) fn configuration_update(new: &Value, _old: &Value, errors: &mut Errors) {
    configuration(new, errors);
}

fn check(webhook: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (name, place) = (text(webhook, "name"), path.field("name"));
    let problems = names::dns1123_subdomain(name);
    if name.is_empty() {
        errors.push_with(|| FieldError::required(&place, ""));
    } else if !problems.is_empty() {
        push_problems(problems, name, &place, errors);
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push_with(|| FieldError::invalid(&place, name, why));
    }
    let rules_path = path.field("rules");
    for (index, rule) in list(webhook, "rules").iter().enumerate() {
        check_rule(rule, &rules_path.index(index), errors);
    }
    let of = |field| text(webhook, field);
    one_of_or_none(
        of("failurePolicy"),
        &["Fail", "Ignore"],
        &path.field("failurePolicy"),
        errors,
    );
    one_of_or_none(
        of("matchPolicy"),
        &["Equivalent", "Exact"],
        &path.field("matchPolicy"),
        errors,
    );
    let place = path.field("sideEffects");
    let effects = of("sideEffects");
    if effects.is_empty() {
        let why = "must specify one of None, NoneOnDryRun";
        errors.push_with(|| FieldError::required(&place, why));
    }
    one_of_or_none(effects, &["None", "NoneOnDryRun"], &place, errors);
    let timeout = number(webhook, "timeoutSeconds");
    if let Some(seconds) = timeout.filter(|seconds| !TIMEOUT_SECONDS.contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push_with(|| FieldError::invalid(&path.field("timeoutSeconds"), seconds, why));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = some(webhook, field) {
            errors.append(validate_label_selector(selector, &path.field(field)));
        }
    }
    client(
        &webhook["clientConfig"],
        &path.field("clientConfig"),
        errors,
    );
    reviews(webhook, path, errors);
    let policy = of("reinvocationPolicy");
    let place = path.field("reinvocationPolicy");
    one_of_or_none(policy, &["IfNeeded", "Never"], &place, errors);
    check_conditions(
        list(webhook, "matchConditions"),
        &path.field("matchConditions"),
        errors,
    );
}

/// Validates names and presence of match conditions. The CEL expressions are compiled by the API server.
pub fn check_conditions(all: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let all = at_most(all, CONDITIONS_MAX, path, errors);
    let mut seen = BTreeSet::new();
    for (index, condition) in all.iter().enumerate() {
        let path = path.index(index);
        if text(condition, "expression").trim().is_empty() {
            errors.push_with(|| FieldError::required(&path.field("expression"), ""));
        }
        let (name, place) = (text(condition, "name"), path.field("name"));
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&place, ""));
            continue;
        }
        push_problems(names::qualified_name(name), name, &place, errors);
        if !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&place, name));
        }
    }
}

fn reviews(webhook: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("admissionReviewVersions");
    let versions = list(webhook, "admissionReviewVersions");
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEWS.join(", "));
        errors.push_with(|| FieldError::required(&place, why));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, version) in versions.iter().enumerate() {
        let version = version.as_str().unwrap_or_default();
        let place = place.index(index);
        if !seen.insert(version) {
            errors.push_with(|| FieldError::invalid(&place, version, "duplicate version"));
            continue;
        }
        push_problems(names::dns1035_label(version), version, &place, errors);
    }
    let known = |version: &Value| version.as_str().is_some_and(|name| REVIEWS.contains(&name));
    if !versions.iter().any(known) {
        let value = &webhook["admissionReviewVersions"];
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push_with(|| FieldError::invalid(&place, value, why));
    }
}

/// Validates a rule of a webhook or policy.
pub fn check_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let lists = [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ];
    for (field, words) in lists {
        let (all, place) = (list(rule, field), path.field(field));
        if all.is_empty() {
            errors.push_with(|| FieldError::required(&place, ""));
        }
        if all.len() > 1 && all.iter().any(|item| item == "*") {
            let why = format!("if '*' is present, must not specify other {words}");
            errors.push_with(|| FieldError::invalid(&place, &rule[field], why));
        }
        if field == "apiVersions" {
            empty_items(all, &place, errors);
        }
        if field == "operations" {
            for (index, operation) in all.iter().enumerate() {
                let operation = operation.as_str().unwrap_or_default();
                one_of_or_none(operation, &OPERATIONS, &place.index(index), errors);
            }
        }
    }
    resources(rule, &path.field("resources"), errors);
    let scope = text(rule, "scope");
    one_of_or_none(
        scope,
        &["*", "Cluster", "Namespaced"],
        &path.field("scope"),
        errors,
    );
}

fn empty_items(items: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, item) in items.iter().enumerate() {
        if item == "" {
            errors.push_with(|| FieldError::required(&path.index(index), ""));
        }
    }
}

/// Validates resources and subresources of a rule, without duplicates.
fn resources(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let all = list(rule, "resources");
    if all.is_empty() {
        errors.push_with(|| FieldError::required(path, ""));
    }
    empty_items(all, path, errors);
    let (mut with_all_parts, mut parts_of_all) = (BTreeSet::new(), BTreeSet::new());
    for (index, named) in all.iter().enumerate() {
        let named = named.as_str().unwrap_or_default();
        let Some((resource, part)) = named.split_once('/') else {
            continue;
        };
        let place = path.index(index);
        let mut covered = |by: String| {
            let why = format!("if '{by}' is present, must not specify {named}");
            errors.push_with(|| FieldError::invalid(&place, named, why));
        };
        if with_all_parts.contains(resource) {
            covered(format!("{resource}/*"));
        }
        if parts_of_all.contains(part) {
            covered(format!("*/{part}"));
        }
        if part == "*" {
            with_all_parts.insert(resource);
        }
        if resource == "*" {
            parts_of_all.insert(part);
        }
    }
    let has = |text: &str| all.iter().any(|item| item == text);
    let is_plain = |item: &Value| {
        let text = item.as_str().unwrap_or_default();
        !text.is_empty() && !text.contains('/') && text != "*"
    };
    if all.len() > 1 && has("*/*") {
        let why = "if '*/*' is present, must not specify other resources";
        errors.push_with(|| FieldError::invalid(path, &rule["resources"], why));
    }
    if has("*") && all.iter().any(is_plain) {
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push_with(|| FieldError::invalid(path, &rule["resources"], why));
    }
}

fn client(config: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (url, service) = (
        some(config, "url").and_then(Value::as_str),
        some(config, "service"),
    );
    match (url, service) {
        (Some(url), None) => check_url(url, &path.field("url"), errors),
        (None, Some(service)) => check_service(service, &path.field("service"), errors),
        _ => {
            let why = "exactly one of url or service is required";
            errors.push_with(|| FieldError::required(path, why));
        }
    }
}

fn check_url(url: &str, path: &Path<'_>, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let address = url.split('#').next().unwrap_or_default();
    if let (true, Err(error)) = (url.contains("://"), parse_request_uri(address)) {
        let why = format!("url must be a valid URL: {error}{FORM}");
        errors.push_with(|| FieldError::required(path, why));
        return;
    }
    // A URL without a scheme has no host either.
    let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = place.split(['/', '#']).next().unwrap_or_default();
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push_with(|| FieldError::invalid(path, scheme, why));
    }
    if host.is_empty() {
        let why = format!("host must be specified{FORM}");
        errors.push_with(|| FieldError::invalid(path, host, why));
    }
    if let Some((user, _)) = host.split_once('@') {
        let why = "user information is not permitted in the URL";
        errors.push_with(|| FieldError::invalid(path, user, why));
    }
    if let Some((_, fragment)) = url.split_once('#') {
        let why = "fragments are not permitted in the URL";
        errors.push_with(|| FieldError::invalid(path, fragment, why));
    }
    if !query.is_empty() {
        let why = "query parameters are not permitted in the URL";
        errors.push_with(|| FieldError::invalid(path, query, why));
    }
}

fn check_service(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    required(service, "name", path, errors);
    required(service, "namespace", path, errors);
    let port = number(service, "port").unwrap_or_default();
    if !super::scalar::is_port(port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push_with(|| FieldError::invalid(&path.field("port"), port, why));
    }
    let Some(own) = some(service, "path").and_then(Value::as_str) else {
        return;
    };
    let place = path.field("path");
    if own == "/" || own.is_empty() {
        return;
    }
    if !own.starts_with('/') {
        let why = "must start with a '/'";
        errors.push_with(|| FieldError::invalid(&place, own, why));
    }
    let steps = own.get(1..).unwrap_or_default();
    let steps = steps.strip_suffix('/').unwrap_or(steps);
    for (index, step) in steps.split('/').enumerate() {
        let problems = match step {
            "" => vec![format!("segment[{index}] may not be empty")],
            step => names::dns1123_subdomain(step)
                .into_iter()
                .map(|problem| format!("segment[{index}]: {problem}"))
                .collect(),
        };
        push_problems(problems, own, &place, errors);
    }
}
