//! Validation of `ValidatingAdmissionPolicy`.

use std::collections::BTreeSet;

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names;
use lockstep_object::{Object, Value};

use super::one_of_or_none;
use crate::look::{list, text};

/// Most audit annotations of one policy.
const AUDIT_ANNOTATIONS_MAX: usize = 20;
/// Longest `valueExpression`, in bytes.
const VALUE_EXPRESSION_BYTES_MAX: usize = 5 * 1024;

pub(super) fn check(policy: &Object, spec: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let validations = list(spec, "validations");
    let annotations = list(spec, "auditAnnotations");
    if validations.is_empty() && annotations.is_empty() {
        let why = "validations or auditAnnotations must contain at least one item";
        for field in ["validations", "auditAnnotations"] {
            errors.push(FieldError::required(&path.field(field), why));
        }
        return;
    }
    let place = path.field("validations");
    for (index, validation) in validations.iter().enumerate() {
        check_validation(validation, &place.index(index), errors);
    }
    let place = path.field("auditAnnotations");
    if annotations.len() > AUDIT_ANNOTATIONS_MAX {
        let why = format!("must not have more than {AUDIT_ANNOTATIONS_MAX} auditAnnotations");
        errors.push(FieldError::invalid(&place, annotations, why));
    }
    let mut seen = BTreeSet::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let path = place.index(index);
        check_annotation(policy.name(), annotation, &path, errors);
        let key = text(annotation, "key");
        if !seen.insert(key) {
            errors.push(FieldError::duplicate(&path.field("key"), key));
        }
    }
}

fn check_validation(validation: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
    if text(validation, "expression").trim().is_empty() {
        let why = "expression is not specified";
        errors.push(FieldError::required(&path.field("expression"), why));
    }
    for field in ["messageExpression", "message"] {
        let value = text(validation, field);
        if !value.is_empty() && value.trim().is_empty() {
            let why = "must be non-empty if specified";
            errors.push(FieldError::invalid(&path.field(field), value, why));
        }
    }
    let message = text(validation, "message");
    if message.trim().contains(['\n', '\r']) {
        let why = "must not contain line breaks";
        errors.push(FieldError::invalid(&path.field("message"), message, why));
    }
    let reason = &validation["reason"];
    one_of_or_none(reason, &REASONS, &path.field("reason"), errors);
}

fn check_annotation(policy: &str, annotation: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let (key, place) = (text(annotation, "key"), path.field("key"));
    if policy.is_empty() {
        let why = "requires metadata.name be non-empty";
        errors.push(FieldError::invalid(&place, key, why));
    } else {
        let full = format!("{policy}/{key}");
        let problems = names::qualified_name(&full).into_iter();
        errors.extend(problems.map(|problem| FieldError::invalid(&place, full.as_str(), problem)));
    }
    let expression = text(annotation, "valueExpression").trim();
    let place = path.field("valueExpression");
    if expression.is_empty() {
        let why = "valueExpression is not specified";
        errors.push(FieldError::required(&place, why));
    } else if expression.len() > VALUE_EXPRESSION_BYTES_MAX {
        let why = format!("must not exceed {VALUE_EXPRESSION_BYTES_MAX} bytes in length");
        errors.push(FieldError::required(&place, why));
    }
}
