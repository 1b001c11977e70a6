//! Validation of built-in kinds, with upstream's messages.
//!
//! Each function takes a value, its path, and the error list, to which errors are added in upstream's order.

mod affinity;
pub(crate) mod apps;
pub(crate) mod autoscaling;
pub(crate) mod batch;
pub(crate) mod certificates;
pub(crate) mod cluster;
mod containers;
mod cron;
pub(crate) mod endpoints;
mod env;
pub(crate) mod flowcontrol;
mod hosts;
mod job_policies;
pub(crate) mod job_status;
pub(crate) mod limits;
mod metrics;
pub(crate) mod network;
mod pod_claims;
mod pod_spec;
pub(crate) mod pods;
mod probes;
pub(crate) mod quota;
pub(crate) mod ranges;
mod resources;
mod restarts;
mod scalar;
mod security;
pub(crate) mod services;
pub(crate) mod statuses;
pub(crate) mod storage;
mod templates;
mod volume_sources;
mod volumes;
pub(crate) mod webhooks;

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::{Value, names};

use crate::look::{number, text};

/// Faults, in the order in which they were found.
type Errors = FieldErrors;

/// A text that has to be there.
fn required(value: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    let is_there = !text(value, field).is_empty();
    if !is_there {
        errors.push_with(|| FieldError::required(&path.field(field), ""));
    }
    is_there
}

/// A text that has to be one of these.
fn one_of(value: &str, supported: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if value.is_empty() {
        errors.push_with(|| FieldError::required(path, ""));
    } else {
        one_of_or_none(value, supported, path, errors);
    }
}

/// Variant of [`one_of`] for an optional text.
fn one_of_or_none(value: &str, supported: &[&str], path: &Path<'_>, errors: &mut Errors) {
    if !value.is_empty() && !supported.contains(&value) {
        let supported = supported.iter().copied();
        errors.push_with(|| FieldError::not_supported(path, value, supported));
    }
}

/// Reports a list that is too long. Returns the elements to look at: those behind the limit are not.
fn at_most<'v>(
    items: &'v [Value],
    max: usize,
    path: &Path<'_>,
    errors: &mut Errors,
) -> &'v [Value] {
    if items.len() > max {
        errors.push_with(|| FieldError::too_many(path, items.len(), max));
    }
    &items[..items.len().min(max)]
}

/// Variant of [`at_most`] for lists of which nothing is looked at if they are too long.
fn unless_too_many<'v>(
    items: &'v [Value],
    max: usize,
    path: &Path<'_>,
    errors: &mut Errors,
) -> &'v [Value] {
    let first = at_most(items, max, path, errors);
    if first.len() < items.len() {
        &[]
    } else {
        first
    }
}

/// A number that is zero or more, if it is there.
fn non_negative(value: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    if let Some(number) = number(value, field).filter(|number| *number < 0) {
        let why = "must be greater than or equal to 0";
        errors.push_with(|| FieldError::invalid(&path.field(field), number, why));
    }
}

/// Converts messages to field errors of a value.
fn push_problems(problems: Vec<String>, value: &str, path: &Path<'_>, errors: &mut Errors) {
    let errors_of = problems.into_iter();
    errors.extend(errors_of.map(|problem| FieldError::invalid(path, value, problem)));
}

/// A label of RFC 1123.
fn label(value: &str, path: &Path<'_>, errors: &mut Errors) {
    push_problems(names::dns1123_label(value), value, path, errors);
}

/// Labels of RFC 1123 with dots between.
fn subdomain(value: &str, path: &Path<'_>, errors: &mut Errors) {
    push_problems(names::dns1123_subdomain(value), value, path, errors);
}

/// Labels of an object, or what selects them.
fn labels(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let entries = value.as_object().into_iter().flatten();
    for (key, value) in entries {
        push_problems(names::qualified_name(key), key, path, errors);
        let value = value.as_str().unwrap_or_default();
        push_problems(names::label_value(value), value, path, errors);
    }
}

/// Keys of annotations.
fn annotations(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    for (key, _) in value.as_object().into_iter().flatten() {
        let problems = names::qualified_name(&key.to_lowercase());
        push_problems(problems, key, path, errors);
    }
}

/// Rejects changes of an immutable field.
pub(crate) fn immutable(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    if new != old {
        errors.push_with(|| FieldError::invalid(path, new, "field is immutable"));
    }
}

/// Variant of [`immutable`] for a field of a map.
pub(crate) fn immutable_field(
    new: &Value,
    old: &Value,
    field: &str,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    immutable(&new[field], &old[field], &path.field(field), errors);
}
