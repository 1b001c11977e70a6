//! Validation of the replica counts of custom resources with a `scale`, in addition to their schema.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::{Object, Value};

use crate::{ScalePaths, Subresource};

/// Validates the replica counts that a write to this endpoint can change, by the paths of the definition.
pub(super) fn problems(
    scale: &ScalePaths,
    object: &Object,
    subresource: Option<Subresource>,
) -> Vec<FieldError> {
    let wanted = (subresource != Some(Subresource::Status)).then_some(&*scale.spec_replicas);
    let paths = wanted.into_iter().chain([&*scale.status_replicas]);
    paths.filter_map(|path| problem(object, path)).collect()
}

fn problem(object: &Object, path: &str) -> Option<FieldError> {
    let place = Path::ROOT.field(path);
    match number(object.as_value(), path) {
        Ok(Some(number)) if number < 0 => {
            let why = "should be a non-negative integer";
            Some(FieldError::invalid(&place, number, why))
        }
        Ok(Some(number)) if number > i64::from(i32::MAX) => {
            let why = format!("should be less than or equal to {}", i32::MAX);
            Some(FieldError::invalid(&place, number, why))
        }
        Ok(_) => None,
        Err(why) => {
            let why = format!("{path} accessor error: {why}");
            Some(FieldError::invalid(&place, 0_i64, why))
        }
    }
}

fn number(object: &Value, path: &str) -> Result<Option<i64>, String> {
    let mut value = object;
    for name in path.trim_start_matches('.').split('.') {
        let Some(map) = value.as_object() else {
            return Err(foreign(value, "map[string]interface{}"));
        };
        match map.get(name) {
            None => return Ok(None),
            Some(inside) => value = inside,
        }
    }
    match value.as_i64() {
        Some(number) => Ok(Some(number)),
        None => Err(foreign(value, "int64")),
    }
}

fn foreign(value: &Value, expected: &str) -> String {
    let (shown, found) = match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(_) => (value.to_string(), "bool"),
        Value::Number(number) if number.is_i64() => (value.to_string(), "int64"),
        Value::Number(_) => (value.to_string(), "float64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(_) => (value.to_string(), "[]interface {}"),
        Value::Object(_) => (value.to_string(), "map[string]interface {}"),
    };
    format!("{shown} is of the type {found}, expected {expected}")
}
