//! Validation of bindings.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::{self, NameRule, Part};
use lockstep_object::selector::validate_label_selector;

use super::{matches, one_of_or_none};
use crate::look::{list, some, text};
use crate::policy::PolicyKind;

pub(super) fn check(kind: PolicyKind, spec: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let (policy, place) = (text(spec, "policyName"), path.field("policyName"));
    if policy.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else {
        let problems = names::dns1123_subdomain(policy).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&place, policy, problem)));
    }
    if let Some(param_ref) = some(spec, "paramRef") {
        check_param_ref(param_ref, &path.field("paramRef"), errors);
    }
    let place = path.field("matchResources");
    if let Some(resources) = some(spec, "matchResources") {
        matches::check(resources, &place, errors);
    }
    match kind {
        PolicyKind::Mutating => {
            matches::check_mutable_operations(&spec["matchResources"], &place, errors);
            let (enforcement, place) = (&spec["enforcement"], path.field("enforcement"));
            one_of_or_none(enforcement, &["Apply", "DryRun"], &place, errors);
        }
        PolicyKind::Validating => check_actions(spec, &path.field("validationActions"), errors),
    }
}

fn check_param_ref(param_ref: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    const EXCLUSIVE: &str = "name and selector are mutually exclusive";
    let (name, selector) = (text(param_ref, "name"), some(param_ref, "selector"));
    let place = path.field("name");
    if !name.is_empty() {
        for problem in NameRule::PathSegment.check(name, Part::Whole) {
            errors.push(FieldError::invalid(&place, name, problem));
        }
    }
    if let Some(selector) = selector {
        errors.append(validate_label_selector(selector, &path.field("selector")));
    }
    match (name.is_empty(), selector) {
        (false, Some(_)) => {
            errors.push(FieldError::forbidden(&place, EXCLUSIVE));
            errors.push(FieldError::forbidden(&path.field("selector"), EXCLUSIVE));
        }
        (true, None) => {
            let why = "one of name or selector must be specified";
            errors.push(FieldError::required(path, why));
        }
        _ => {}
    }
    super::one_of(
        text(param_ref, "parameterNotFoundAction"),
        &["Allow", "Deny"],
        &path.field("parameterNotFoundAction"),
        errors,
    );
}

fn check_actions(spec: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    const ACTIONS: [&str; 3] = ["Audit", "Deny", "Warn"];
    let actions = list(spec, "validationActions");
    let mut seen = BTreeSet::new();
    for (index, action) in actions.iter().enumerate() {
        let (action, path) = (action.as_str().unwrap_or_default(), path.index(index));
        if !ACTIONS.contains(&action) {
            errors.push(FieldError::not_supported(&path, action, ACTIONS));
        }
        if !seen.insert(action) {
            errors.push(FieldError::duplicate(&path, action));
        }
    }
    if seen.contains("Deny") && seen.contains("Warn") {
        let why = "must not contain both Deny and Warn (repeating the same validation failure information in the API \
                   response and headers serves no purpose)";
        errors.push(FieldError::invalid(path, actions, why));
    }
    if actions.is_empty() {
        let why = "at least one validation action is required";
        errors.push(FieldError::required(path, why));
    }
}
