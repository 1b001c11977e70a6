//! `additionalPrinterColumns`.

use super::subresources::simple_path;
use crate::keywords::text;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::Value;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = [
    "byte",
    "date",
    "date-time",
    "double",
    "float",
    "int32",
    "int64",
    "password",
];

pub(super) fn check(columns: &[Value], path: &Path<'_>, errors: &mut FieldErrors) {
    for (index, column) in columns.iter().enumerate() {
        check_one(column, &path.index(index), errors);
    }
}

fn check_one(column: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    if text(column, "name").is_empty() {
        errors.push(FieldError::required(&path.field("name"), ""));
    }
    let one_of = |words: &[&str]| format!("must be one of {}", words.join(","));
    let type_path = path.field("type");
    match text(column, "type") {
        "" => errors.push(FieldError::required(&type_path, one_of(&TYPES))),
        ty if !TYPES.contains(&ty) => {
            errors.push(FieldError::invalid(&type_path, ty, one_of(&TYPES)));
        }
        _ => {}
    }
    let format = text(column, "format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        errors.push(FieldError::invalid(
            &path.field("format"),
            format,
            one_of(&FORMATS),
        ));
    }
    let path = path.field("JSONPath");
    match text(column, "jsonPath") {
        "" => errors.push(FieldError::required(&path, "")),
        json_path => errors.extend(simple_path(json_path, &path)),
    }
}
