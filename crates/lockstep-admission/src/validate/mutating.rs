//! Validation of `MutatingAdmissionPolicy`.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names;

use super::matches::check_mutable_operations;
use super::{one_of, one_of_or_none};
use crate::look::{list, some, text};

/// Range of `reinvocationLimit`.
const REINVOCATIONS: std::ops::RangeInclusive<i64> = 1..=4;
/// Most conditions of one `safety`.
const SAFETY_CONDITIONS_MAX: usize = 8;

pub(super) fn check(spec: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    if let Some(constraints) = some(spec, "matchConstraints") {
        check_mutable_operations(constraints, &path.field("matchConstraints"), errors);
    }
    let mutations = list(spec, "mutations");
    let place = path.field("mutations");
    if mutations.is_empty() {
        let why = "mutations must contain at least one item";
        errors.push(FieldError::required(&place, why));
    }
    let mut seen = BTreeSet::new();
    for (index, mutation) in mutations.iter().enumerate() {
        check_mutation(mutation, &place.index(index), &mut seen, errors);
    }
    let policy = text(spec, "reinvocationPolicy");
    let known = ["IfAffected", "IfNeeded", "Never"];
    one_of(policy, &known, &path.field("reinvocationPolicy"), errors);
    if let Some(limit) = some(spec, "reinvocationLimit") {
        let place = path.field("reinvocationLimit");
        if policy != "IfAffected" {
            let why = "may only be set when reinvocationPolicy is IfAffected";
            errors.push(FieldError::forbidden(&place, why));
        } else if !limit
            .as_i64()
            .is_some_and(|limit| REINVOCATIONS.contains(&limit))
        {
            let why = "must be between 1 and 4";
            errors.push(FieldError::invalid(&place, limit, why));
        }
    }
    let words = [
        ("convergencePolicy", ["Deny", "Report", "Warn"]),
        ("mutationValidationPolicy", ["Fail", "Skip", "Warn"]),
    ];
    for (field, known) in words {
        one_of_or_none(&spec[field], &known, &path.field(field), errors);
    }
}

fn check_mutation<'v>(
    mutation: &'v Value,
    path: &Path<'_>,
    seen: &mut BTreeSet<&'v str>,
    errors: &mut FieldErrors,
) {
    if let Some(name) = some(mutation, "name").and_then(Value::as_str) {
        let place = path.field("name");
        let problems = names::qualified_name(name).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&place, name, problem)));
        if !seen.insert(name) {
            errors.push(FieldError::duplicate(&place, name));
        }
    }
    check_form(mutation, path, errors);
    if let Some(configuration) = some(mutation, "applyConfiguration") {
        let path = path.field("applyConfiguration");
        let words = [
            ("unset", ["Ignore", "Remove"]),
            ("atomics", ["Reject", "Replace"]),
        ];
        for (field, known) in words {
            one_of_or_none(&configuration[field], &known, &path.field(field), errors);
        }
    }
    if let Some(safety) = some(mutation, "safety") {
        check_safety(safety, &path.field("safety"), errors);
    }
}

/// Exactly one form of expression, and its `patchType`.
fn check_form(mutation: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    const FORMS: [(&str, &str); 2] = [
        ("ApplyConfiguration", "applyConfiguration"),
        ("JSONPatch", "jsonPatch"),
    ];
    let patch_type = text(mutation, "patchType");
    let place = path.field("patchType");
    if some(mutation, "apply").is_some() {
        for field in ["patchType", "applyConfiguration", "jsonPatch"] {
            if some(mutation, field).is_some() {
                let why = "may not be set together with apply";
                errors.push(FieldError::forbidden(&path.field(field), why));
            }
        }
        if text(mutation, "apply").trim().is_empty() {
            errors.push(FieldError::required(&path.field("apply"), ""));
        }
        return;
    }
    if patch_type.is_empty() {
        errors.push(FieldError::required(&place, ""));
        return;
    }
    if !FORMS.iter().any(|(form, _)| *form == patch_type) {
        let known = FORMS.map(|(form, _)| form);
        errors.push(FieldError::not_supported(&place, patch_type, known));
        return;
    }
    for (form, field) in FORMS {
        let place = path.field(field);
        match some(mutation, field) {
            None if form == patch_type => {
                let why = format!("must be specified when patchType is {patch_type}");
                errors.push(FieldError::required(&place, why));
            }
            Some(_) if form != patch_type => {
                let why = format!("must not be specified when patchType is {patch_type}");
                errors.push(FieldError::invalid(&place, format!("{{{field}}}"), why));
            }
            Some(expression) if text(expression, "expression").trim().is_empty() => {
                errors.push(FieldError::required(&place.field("expression"), ""));
            }
            _ => {}
        }
    }
}

fn check_safety(safety: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let mode = text(safety, "mode");
    let known = ["Conditional", "Exact", "Overwritable"];
    one_of_or_none(&safety["mode"], &known, &path.field("mode"), errors);
    one_of_or_none(
        &safety["action"],
        &["Fail", "Warn"],
        &path.field("action"),
        errors,
    );
    let conditions = list(safety, "conditions");
    let path = path.field("conditions");
    match (mode, conditions.len()) {
        ("Conditional", 0) => errors.push(FieldError::required(&path, "")),
        ("Conditional", count) if count > SAFETY_CONDITIONS_MAX => {
            errors.push(FieldError::too_many(&path, count, SAFETY_CONDITIONS_MAX));
        }
        ("Conditional", _) | (_, 0) => {}
        _ => {
            let why = "may only be set when mode is Conditional";
            errors.push(FieldError::forbidden(&path, why));
        }
    }
    for (index, condition) in conditions.iter().enumerate() {
        if text(condition, "expression").trim().is_empty() {
            let path = path.index(index);
            errors.push(FieldError::required(&path.field("expression"), ""));
        }
    }
}
