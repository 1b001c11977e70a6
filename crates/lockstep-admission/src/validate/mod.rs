//! Validation of policies and bindings, with upstream's causes. Every fault is reported.

mod binding;
mod matches;
mod mutating;
mod validating;

use lockstep_cel::Version;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Object, Value};

use crate::api::ApiKind;
use crate::look::{list, some, text};
use crate::policy::{PolicyKind, StoredExpressions, expression_errors};

/// Validates a policy or binding that has its defaults. `old` is the stored object of an update; its expressions keep
/// compiling. New ones may use the CEL features of `version`.
pub fn validate(
    kind: ApiKind,
    object: &Object,
    old: Option<&Object>,
    version: Version,
) -> FieldErrors {
    let null = Value::Null;
    let spec = object.at(&["spec"]).unwrap_or(&null);
    let path = Path::ROOT.field("spec");
    let mut errors = FieldErrors::new();
    let policy = match kind {
        ApiKind::Binding(kind) => {
            binding::check(kind, spec, &path, &mut errors);
            return errors;
        }
        ApiKind::Policy(policy) => policy,
    };
    check_common(spec, &path, &mut errors);
    match policy {
        PolicyKind::Mutating => mutating::check(spec, &path, &mut errors),
        PolicyKind::Validating => validating::check(object, spec, &path, &mut errors),
    }
    let stored = old.map(StoredExpressions::of).unwrap_or_default();
    let has_same_conditions = old.is_some_and(|old| {
        let old = old.at(&["spec"]).unwrap_or(&null);
        ["matchConditions", "paramKind"]
            .iter()
            .all(|field| old.get(field) == spec.get(field))
    });
    if !has_same_conditions {
        matches::check_conditions(object, spec, &stored, version, &path, &mut errors);
    }
    errors.append(expression_errors(object, &stored, version, policy));
    errors
}

fn check_common(spec: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    one_of(
        text(spec, "failurePolicy"),
        &["Fail", "Ignore"],
        &path.field("failurePolicy"),
        errors,
    );
    if let Some(kind) = some(spec, "paramKind") {
        matches::check_param_kind(kind, &path.field("paramKind"), errors);
    }
    let path = path.field("matchConstraints");
    match some(spec, "matchConstraints") {
        None => errors.push(FieldError::required(&path, "")),
        Some(constraints) => {
            matches::check(constraints, &path, errors);
            if list(constraints, "resourceRules").is_empty() {
                errors.push(FieldError::required(&path.field("resourceRules"), ""));
            }
        }
    }
}

/// A word that must be one of these.
fn one_of(word: &str, known: &[&str], path: &Path<'_>, errors: &mut FieldErrors) {
    if word.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !known.contains(&word) {
        errors.push(FieldError::not_supported(path, word, known.iter().copied()));
    }
}

/// A word that must be one of these if there is one.
fn one_of_or_none(word: &Value, known: &[&str], path: &Path<'_>, errors: &mut FieldErrors) {
    if !word.is_null() {
        one_of(word.as_str().unwrap_or_default(), known, path, errors);
    }
}
