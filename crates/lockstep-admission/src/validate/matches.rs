//! Validation of constraints, parameters and match conditions.

use std::collections::BTreeSet;

use lockstep_builtins::admission::{check_conditions as check_condition_names, check_rule};
use lockstep_cel::{Type, Version};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::{self, NameRule, Part};
use lockstep_object::selector::validate_label_selector;
use lockstep_object::{Object, Value};

use super::one_of;
use crate::envs::Use;
use crate::look::{list, some, text};
use crate::policy::{Compiler, ExpressionKind, StoredExpressions};

/// Validates `matchConstraints` or `matchResources`.
pub(super) fn check(resources: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    one_of(
        text(resources, "matchPolicy"),
        &["Equivalent", "Exact"],
        &path.field("matchPolicy"),
        errors,
    );
    for field in ["namespaceSelector", "objectSelector"] {
        let path = path.field(field);
        match some(resources, field) {
            None => errors.push(FieldError::required(&path, "")),
            Some(selector) => errors.append(validate_label_selector(selector, &path)),
        }
    }
    for field in ["resourceRules", "excludeResourceRules"] {
        let path = path.field(field);
        for (index, rule) in list(resources, field).iter().enumerate() {
            let path = path.index(index);
            check_names(rule, &path.field("resourceNames"), errors);
            check_rule(rule, &path, errors);
        }
    }
}

fn check_names(rule: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let mut seen = BTreeSet::new();
    for (index, name) in list(rule, "resourceNames").iter().enumerate() {
        let (name, path) = (name.as_str().unwrap_or_default(), path.index(index));
        for problem in NameRule::PathSegment.check(name, Part::Whole) {
            errors.push(FieldError::invalid(&path, name, problem));
        }
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&path, name));
        }
    }
}

/// Mutating policies never see deletions.
pub(super) fn check_mutable_operations(
    resources: &Value,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    const OPERATIONS: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
    let path = path.field("resourceRules");
    let path = path.field("operations");
    for rule in list(resources, "resourceRules") {
        for operation in list(rule, "operations").iter().filter_map(Value::as_str) {
            if !OPERATIONS.contains(&operation) {
                errors.push(FieldError::not_supported(&path, operation, OPERATIONS));
            }
        }
    }
}

/// Validates `paramKind`.
pub(super) fn check_param_kind(kind: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let (api_version, place) = (text(kind, "apiVersion"), path.field("apiVersion"));
    let invalid =
        |value: &str, problems: Vec<String>| FieldError::invalid(&place, value, problems.join(","));
    if api_version.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else if api_version.matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {api_version}");
        errors.push(FieldError::invalid(&place, api_version, why));
    } else {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let problems = names::dns1123_subdomain(group);
        if !group.is_empty() && !problems.is_empty() {
            errors.push(invalid(group, problems));
        }
        let problems = names::dns1035_label(version);
        if version.is_empty() {
            let why = "version must be specified";
            errors.push(FieldError::invalid(&place, api_version, why));
        } else if !problems.is_empty() {
            errors.push(invalid(version, problems));
        }
    }
    let (kind, place) = (text(kind, "kind"), path.field("kind"));
    let problems = names::dns1035_label(&kind.to_lowercase());
    if kind.is_empty() {
        errors.push(FieldError::required(&place, ""));
    } else if !problems.is_empty() {
        let problems = problems.join(",");
        let why = format!("may have mixed case, but should otherwise match: {problems}");
        errors.push(FieldError::invalid(&place, kind, why));
    }
}

/// Validates and compiles `matchConditions`.
pub(super) fn check_conditions(
    policy: &Object,
    spec: &Value,
    stored: &StoredExpressions,
    version: Version,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let conditions = list(spec, "matchConditions");
    let path = path.field("matchConditions");
    check_condition_names(conditions, &path, errors);
    let mut compiler = Compiler::new(policy, stored, version);
    for (index, condition) in conditions.iter().enumerate() {
        let expression = text(condition, "expression");
        if expression.trim().is_empty() {
            continue;
        }
        let env = compiler.env(ExpressionKind::Condition, Use::Conditions, expression);
        let path = path.index(index);
        // The error is collected by the compiler.
        drop(compiler.compile(&env, expression, &[Type::Bool], &path.field("expression")));
    }
    errors.append(compiler.into_errors());
}
