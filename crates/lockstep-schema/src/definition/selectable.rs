//! `selectableFields`.

use crate::keywords::text;
use crate::rules::selectable_path;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::Value;

/// Most fields of a version.
const FIELDS_MAX: usize = 8;

/// Validates `selectableFields`; a stored list that exceeds the limit may keep its length.
pub(super) fn check(
    fields: &[Value],
    schema: &Value,
    unchanged: bool,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in fields.iter().enumerate() {
        let place = path.index(index);
        let place = place.field("jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(&place, ""));
            continue;
        }
        let (shown, found) = match selectable_path(json_path, schema) {
            Ok(found) => found,
            Err(problem) => {
                let problem = format!("is an invalid path: {problem}");
                errors.push(FieldError::invalid(&place, json_path, problem));
                continue;
            }
        };
        if shown == "metadata" || shown.starts_with("metadata.") {
            errors.push(FieldError::invalid(
                &place,
                json_path,
                "must not point to fields in metadata",
            ));
        }
        if !found
            .is_some_and(|schema| matches!(text(schema, "type"), "string" | "boolean" | "integer"))
        {
            let problem = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                           with formats are allowed.";
            errors.push(FieldError::invalid(&place, json_path, problem));
        }
        if seen.contains(&shown) {
            errors.push(FieldError::duplicate(&place, json_path));
        } else {
            seen.push(shown);
        }
    }
    if seen.len() > FIELDS_MAX && !unchanged {
        errors.push(FieldError::too_many(path, seen.len(), FIELDS_MAX));
    }
}
