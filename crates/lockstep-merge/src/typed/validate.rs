//! Validation of a value against its type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::TypeErrors;
use crate::fields::Element;
use crate::types::{Fields, Form, List, Scalar, Type};

/// Handling of duplicate items in sets and associative lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// Accepted. Stored objects may contain duplicates.
    Allowed,
    /// Rejected. Applied configurations must be unambiguous.
    Refused,
}

impl Type<'_> {
    /// Validates a value. Null matches every type.
    pub fn validate(self, value: &Value, duplicates: Duplicates) -> Result<(), TypeErrors> {
        let mut errors = TypeErrors::default();
        self.check(value, duplicates, &mut String::new(), &mut errors);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    fn check(
        self,
        value: &Value,
        duplicates: Duplicates,
        path: &mut String,
        errors: &mut TypeErrors,
    ) {
        match (self.form(Some(value)), value) {
            (_, Value::Null) => {}
            (Form::Map(fields), Value::Object(entries)) => {
                self.check_map(fields, entries, duplicates, path, errors);
            }
            (Form::List(list), Value::Array(items)) => {
                self.check_list(list, items, duplicates, path, errors);
            }
            (Form::Scalar(scalar), value) => check_scalar(scalar, value, path, errors),
            (Form::Map(_), other) => expected("map", other, path, errors),
            (Form::List(_), other) => expected("list", other, path, errors),
        }
    }

    fn check_map(
        self,
        fields: &Fields,
        entries: &Map<String, Value>,
        duplicates: Duplicates,
        path: &mut String,
        errors: &mut TypeErrors,
    ) {
        for (name, value) in entries {
            let above = path.len();
            path.push('.');
            path.push_str(name);
            match self.field(fields, name) {
                Some(field) => field.check(value, duplicates, path, errors),
                None => errors.push(path, || "field not declared in schema".to_owned()),
            }
            path.truncate(above);
        }
    }

    fn check_list(
        self,
        list: &List,
        items: &[Value],
        duplicates: Duplicates,
        path: &mut String,
        errors: &mut TypeErrors,
    ) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = if list.is_atomic() {
                Element::Index(index.try_into().unwrap_or(i64::MAX))
            } else {
                match list.element(item) {
                    Ok(element) => element,
                    Err(problem) => {
                        errors.push(path, || format!("element {index}: {problem}"));
                        return;
                    }
                }
            };
            let step = element.to_string();
            if !seen.insert(element) && duplicates == Duplicates::Refused {
                errors.push(path, || format!("duplicate entries for key {step}"));
            }
            let above = path.len();
            path.push_str(&step);
            self.items(list).check(item, duplicates, path, errors);
            path.truncate(above);
        }
    }
}

// Apart from the functions that recurse, whose frames would be larger.
fn check_scalar(scalar: Scalar, value: &Value, path: &str, errors: &mut TypeErrors) {
    if let Some(wanted) = mismatch(scalar, value) {
        errors.push(path, || {
            let got = match scalar {
                Scalar::Number => go_type(value).to_owned(),
                Scalar::Text | Scalar::Boolean | Scalar::Any => value.to_string(),
            };
            format!("expected {wanted}, got {got}")
        });
    }
}

fn expected(wanted: &str, got: &Value, path: &str, errors: &mut TypeErrors) {
    errors.push(path, || format!("expected {wanted}, got {got}"));
}

/// The expected type in upstream's wording, if the value does not match.
fn mismatch(scalar: Scalar, value: &Value) -> Option<&'static str> {
    let (fits, wanted) = match scalar {
        Scalar::Text => (value.is_string(), "string"),
        Scalar::Number => (value.is_number(), "numeric (int or float)"),
        Scalar::Boolean => (value.is_boolean(), "boolean"),
        Scalar::Any => (!value.is_object() && !value.is_array(), "any scalar"),
    };
    (!fits).then_some(wanted)
}

/// Go's name of a decoded JSON type, as upstream prints it.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
