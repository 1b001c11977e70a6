//! Validation of probes and lifecycle hooks.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::scalar::port_or_name;
use super::{Errors, non_negative, one_of_or_none};
use crate::look::{list, number, some, text};

const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

/// Validates a handler: exactly one action.
pub(super) fn handler(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let given = HANDLERS
        .into_iter()
        .filter(|name| some(value, name).is_some());
    let given: Vec<&str> = given.collect();
    for (at, name) in given.iter().enumerate() {
        let (action, path) = (&value[*name], path.field(name));
        if at > 0 {
            let why = "may not specify more than 1 handler type";
            errors.push_with(|| FieldError::forbidden(&path, why));
            continue;
        }
        match *name {
            "exec" if list(action, "command").is_empty() => {
                errors.push_with(|| FieldError::required(&path.field("command"), ""));
            }
            "httpGet" => {
                if text(action, "path").is_empty() {
                    errors.push_with(|| FieldError::required(&path.field("path"), ""));
                }
                port_or_name(&action["port"], &path.field("port"), errors);
                let scheme = text(action, "scheme");
                one_of_or_none(scheme, &["HTTP", "HTTPS"], &path.field("scheme"), errors);
            }
            "tcpSocket" | "grpc" => port_or_name(&action["port"], &path.field("port"), errors),
            _ => {}
        }
    }
    if given.is_empty() {
        errors.push_with(|| FieldError::required(path, "must specify a handler type"));
    }
}

/// Restriction of `successThreshold` to 1, for liveness and startup probes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Successes {
    /// Exactly one success.
    One,
    /// Any number of successes.
    Any,
}

/// The probes of a container.
pub(super) fn probes(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    probe(container, "livenessProbe", Successes::One, path, errors);
    probe(container, "readinessProbe", Successes::Any, path, errors);
    probe(container, "startupProbe", Successes::One, path, errors);
}

fn probe(
    container: &Value,
    name: &str,
    successes: Successes,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let Some(probe) = some(container, name) else {
        return;
    };
    let path = path.field(name);
    handler(probe, &path, errors);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        non_negative(probe, field, &path, errors);
    }
    let grace = number(probe, "terminationGracePeriodSeconds");
    let place = path.field("terminationGracePeriodSeconds");
    if let Some(seconds) = grace.filter(|seconds| *seconds <= 0) {
        errors.push_with(|| FieldError::invalid(&place, seconds, "must be greater than 0"));
    }
    if successes == Successes::Any {
        if let Some(grace) = grace {
            let why = "must not be set for readinessProbes";
            errors.push_with(|| FieldError::invalid(&place, grace, why));
        }
        return;
    }
    let threshold = number(probe, "successThreshold");
    if let Some(threshold) = threshold.filter(|threshold| *threshold != 1) {
        let place = path.field("successThreshold");
        errors.push_with(|| FieldError::invalid(&place, threshold, "must be 1"));
    }
}

/// Validates `postStart` and `preStop`.
pub(super) fn lifecycle(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(lifecycle) = some(container, "lifecycle") else {
        return;
    };
    let path = path.field("lifecycle");
    for name in ["postStart", "preStop"] {
        if let Some(action) = some(lifecycle, name) {
            handler(action, &path.field(name), errors);
        }
    }
}
