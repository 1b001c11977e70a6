//! Configurations of webhooks: who is asked, about what.

use std::collections::BTreeSet;

use lockstep_object::field::{FieldError, Path};
use lockstep_object::selector::validate_label_selector;
use lockstep_object::{Value, names};

use super::{Errors, one_of_or_none, required, told};
use crate::look::{list, number, some, text};

/// How long a webhook may take.
const TIMEOUT_SECONDS: std::ops::RangeInclusive<i64> = 1..=30;
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
            errors.push(FieldError::duplicate(&path.field("name"), name));
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
        errors.push(FieldError::required(&place, ""));
    } else if !problems.is_empty() {
        told(problems, name, &place, errors);
    } else if name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(&place, name, why));
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
        errors.push(FieldError::required(&place, why));
    }
    one_of_or_none(effects, &["None", "NoneOnDryRun"], &place, errors);
    let timeout = number(webhook, "timeoutSeconds");
    if let Some(seconds) = timeout.filter(|seconds| !TIMEOUT_SECONDS.contains(seconds)) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(
            &path.field("timeoutSeconds"),
            seconds,
            why,
        ));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        if let Some(selector) = some(webhook, field) {
            errors.extend(validate_label_selector(selector, &path.field(field)));
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
    let path = path.field("matchConditions");
    for (index, condition) in list(webhook, "matchConditions").iter().enumerate() {
        let path = path.index(index);
        required(condition, "expression", &path, errors);
        required(condition, "name", &path, errors);
    }
}

fn reviews(webhook: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("admissionReviewVersions");
    let versions = list(webhook, "admissionReviewVersions");
    if versions.is_empty() {
        let why = format!("must specify one of {}", REVIEWS.join(", "));
        errors.push(FieldError::required(&place, why));
        return;
    }
    let known = |version: &Value| version.as_str().is_some_and(|name| REVIEWS.contains(&name));
    if !versions.iter().any(known) {
        let value = webhook["admissionReviewVersions"].clone();
        let why = format!("must include at least one of {}", REVIEWS.join(", "));
        errors.push(FieldError::invalid(&place, value, why));
    }
}

fn check_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
    let lists = [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
        ("resources", "resources without subresources"),
    ];
    for (field, words) in lists {
        let (all, place) = (list(rule, field), path.field(field));
        if all.is_empty() {
            errors.push(FieldError::required(&place, ""));
        }
        let plain = all.iter().filter(|item| {
            let text = item.as_str().unwrap_or_default();
            field != "resources" || !text.contains('/')
        });
        if plain.count() > 1 && all.iter().any(|item| item == "*") {
            let why = format!("if '*' is present, must not specify other {words}");
            errors.push(FieldError::invalid(&place, rule[field].clone(), why));
        }
        if field == "operations" {
            for (index, operation) in all.iter().enumerate() {
                let operation = operation.as_str().unwrap_or_default();
                one_of_or_none(operation, &OPERATIONS, &place.index(index), errors);
            }
        }
    }
    let scope = text(rule, "scope");
    one_of_or_none(
        scope,
        &["*", "Cluster", "Namespaced"],
        &path.field("scope"),
        errors,
    );
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
            errors.push(FieldError::required(path, why));
        }
    }
}

fn check_url(url: &str, path: &Path<'_>, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let Some((scheme, rest)) = url.split_once("://") else {
        let why = format!("url must be a valid URL{FORM}");
        errors.push(FieldError::invalid(path, url, why));
        return;
    };
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let host = place.split(['/', '#']).next().unwrap_or_default();
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{FORM}");
        errors.push(FieldError::invalid(path, scheme, why));
    }
    if host.is_empty() {
        let why = format!("host must be specified{FORM}");
        errors.push(FieldError::invalid(path, host, why));
    }
    if let Some((user, _)) = host.split_once('@') {
        let why = "user information is not permitted in the URL";
        errors.push(FieldError::invalid(path, user, why));
    }
    if let Some((_, fragment)) = url.split_once('#') {
        let why = "fragments are not permitted in the URL";
        errors.push(FieldError::invalid(path, fragment, why));
    }
    if !query.is_empty() {
        let why = "query parameters are not permitted in the URL";
        errors.push(FieldError::invalid(path, query, why));
    }
}

fn check_service(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    required(service, "name", path, errors);
    required(service, "namespace", path, errors);
    let port = number(service, "port").unwrap_or_default();
    if !super::scalar::is_port(port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(&path.field("port"), port, why));
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
        errors.push(FieldError::invalid(&place, own, why));
    }
    for (index, part) in own.trim_matches('/').split('/').enumerate() {
        if part.is_empty() {
            let why = format!("segment[{index}] may not be empty");
            errors.push(FieldError::invalid(&place, own, why));
        }
    }
}
