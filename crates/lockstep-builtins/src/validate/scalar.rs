//! Validation of ports, percentages, paths and other scalars.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::{Errors, push_problems};

/// The longest name of a port.
const PORT_NAME_BYTES_MAX: usize = 15;

/// Error messages for a port name.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > PORT_NAME_BYTES_MAX {
        problems.push(format!(
            "must be no more than {PORT_NAME_BYTES_MAX} characters"
        ));
    }
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !name.bytes().all(fits) || name.is_empty() {
        let why = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
        problems.push(why.to_owned());
    }
    if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

pub(super) fn is_port(number: i64) -> bool {
    (1..=65_535).contains(&number)
}

pub(super) fn port_number(number: i64, path: &Path<'_>, errors: &mut Errors) {
    if !is_port(number) {
        errors.push_with(|| FieldError::invalid(path, number, between(1, 65_535)));
    }
}

pub(super) fn between(first: i64, last: i64) -> String {
    format!("must be between {first} and {last}, inclusive")
}

/// A port by number or by name.
pub(super) fn port_or_name(port: &Value, path: &Path<'_>, errors: &mut Errors) {
    match port {
        Value::String(name) => push_problems(port_name(name), name, path, errors),
        port => port_number(port.as_i64().unwrap_or_default(), path, errors),
    }
}

/// A number that is not negative, or a percentage.
pub(super) fn amount_or_percent(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    match value {
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
                errors.push_with(|| FieldError::invalid(path, text.as_str(), why));
            }
        }
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            let why = "must be greater than or equal to 0";
            errors.push_with(|| FieldError::invalid(path, value, why));
        }
        _ => {}
    }
}

/// A percentage of no more than everything.
pub(super) fn not_more_than_all(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if percent(value).is_some_and(|percent| percent > 100) {
        let why = "must not be greater than 100%";
        errors.push_with(|| FieldError::invalid(path, value, why));
    }
}

fn percent(value: &Value) -> Option<u64> {
    value.as_str()?.strip_suffix('%')?.parse().ok()
}

/// True if a number or percentage is zero.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::String(_) => percent(value).is_none_or(|percent| percent == 0),
        value => value.as_i64().unwrap_or_default() == 0,
    }
}

/// A path below some place.
pub(super) fn path_below(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.starts_with('/') {
        errors.push_with(|| FieldError::invalid(path, text, "must be a relative path"));
    }
    path_without_way_up(text, path, errors);
}

/// A path that does not leave its place.
pub(super) fn path_without_way_up(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if text.split('/').any(|part| part == "..") {
        errors.push_with(|| FieldError::invalid(path, text, "must not contain '..'"));
    }
}
