//! Leases: defaulting and validation.

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::qualified_name;
use lockstep_object::{Object, Value};

/// The only strategy of coordinated leader election.
const STRATEGY: &str = "OldestEmulationVersion";

/// Removes the fields of coordinated leader election, which is not served, unless the stored lease has them.
pub(super) fn normalize(lease: &mut Object, old: Option<&Object>) {
    for field in ["strategy", "preferredHolder"] {
        let is_used = old.is_some_and(|old| old.at(&["spec", field]).is_some());
        let spec = lease.fields_mut().get_mut("spec");
        if let Some(spec) = spec.and_then(Value::as_object_mut).filter(|_| !is_used) {
            spec.remove(field);
        }
    }
}

pub(super) fn validate(lease: &Object) -> FieldErrors {
    let spec = Path::ROOT.field("spec");
    let mut errors = FieldErrors::new();
    for (field, least, problem) in [
        ("leaseDurationSeconds", 1, "must be greater than 0"),
        ("leaseTransitions", 0, "must be greater than or equal to 0"),
    ] {
        let number = lease.at(&["spec", field]).and_then(Value::as_i64);
        if let Some(number) = number.filter(|number| *number < least) {
            errors.push(FieldError::invalid(&spec.field(field), number, problem));
        }
    }
    let text = |field| lease.at(&["spec", field]).and_then(Value::as_str);
    let strategy = text("strategy");
    let path = spec.field("strategy");
    match strategy {
        None | Some(STRATEGY) => {}
        Some(own) if own.contains('/') => {
            let problems = qualified_name(own).into_iter();
            errors.extend(problems.map(|problem| FieldError::invalid(&path, own, problem)));
        }
        Some(other) => errors.push(FieldError::not_supported(&path, other, [STRATEGY])),
    }
    let is_preferred = text("preferredHolder").is_some_and(|holder| !holder.is_empty());
    if is_preferred && strategy.is_none_or(str::is_empty) {
        let problem = "may only be specified if `strategy` is defined";
        errors.push(FieldError::forbidden(
            &spec.field("preferredHolder"),
            problem,
        ));
    }
    errors
}
