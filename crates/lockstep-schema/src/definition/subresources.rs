//! Paths of the scale subresource.

use crate::keywords::{schema as subschema, text};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::Value;

/// Each path of `scale`, its allowed prefixes, and the error message.
const PATHS: [(&str, &[&str], &str); 3] = [
    (
        "specReplicasPath",
        &[".spec."],
        "should be a json path under .spec",
    ),
    (
        "statusReplicasPath",
        &[".status."],
        "should be a json path under .status",
    ),
    (
        "labelSelectorPath",
        &[".spec.", ".status."],
        "should be a json path under either .spec or .status",
    ),
];

pub(super) fn check(subresources: Option<&Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    let Some(scale) = subresources.and_then(|subresources| subschema(subresources, "scale")) else {
        return;
    };
    let path = path.field("scale");
    for (field, roots, problem) in PATHS {
        let place = path.field(field);
        let value = text(scale, field);
        if value.is_empty() {
            if field != "labelSelectorPath" {
                errors.push(FieldError::required(&place, ""));
            }
            continue;
        }
        match simple_path(value, &place) {
            Some(error) => errors.push(error),
            None if roots.iter().any(|root| value.starts_with(root)) => {}
            None => errors.push(FieldError::invalid(&place, value, problem)),
        }
    }
}

/// Validates a simple dotted path.
pub(super) fn simple_path(text: &str, path: &Path<'_>) -> Option<FieldError> {
    let starts = text.starts_with('.');
    (!starts).then(|| FieldError::invalid(path, text, "must be a simple json path starting with ."))
}
