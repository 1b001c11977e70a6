//! Validation of a value against its type.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{TypeError, TypeErrors};
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
        let mut errors = Vec::new();
        self.check(value, duplicates, &mut String::new(), &mut errors);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(TypeErrors(errors))
        }
    }

    fn check(
        self,
        value: &Value,
        duplicates: Duplicates,
        path: &mut String,
        errors: &mut Vec<TypeError>,
    ) {
        match (self.form(Some(value)), value) {
            (_, Value::Null) => {}
            (Form::Map(fields), Value::Object(entries)) => {
                self.check_map(fields, entries, duplicates, path, errors);
            }
            (Form::List(list), Value::Array(items)) => {
                self.check_list(list, items, duplicates, path, errors);
            }
            (Form::Scalar(scalar), value) => {
                if let Some(wanted) = mismatch(scalar, value) {
                    let got = match scalar {
                        Scalar::Number => go_type(value).to_owned(),
                        Scalar::Text | Scalar::Boolean | Scalar::Any => value.to_string(),
                    };
                    push_error(errors, path, format!("expected {wanted}, got {got}"));
                }
            }
            (Form::Map(_), other) => push_error(errors, path, format!("expected map, got {other}")),
            (Form::List(_), other) => {
                push_error(errors, path, format!("expected list, got {other}"));
            }
        }
    }

    fn check_map(
        self,
        fields: &Fields,
        entries: &Map<String, Value>,
        duplicates: Duplicates,
        path: &mut String,
        errors: &mut Vec<TypeError>,
    ) {
        for (name, value) in entries {
            let above = path.len();
            path.push('.');
            path.push_str(name);
            match self.field(fields, name) {
                Some(field) => field.check(value, duplicates, path, errors),
                None => push_error(errors, path, "field not declared in schema".to_owned()),
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
        errors: &mut Vec<TypeError>,
    ) {
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let element = if list.is_atomic() {
                Element::Index(index.try_into().unwrap_or(i64::MAX))
            } else {
                match list.element(item) {
                    Ok(element) => element,
                    Err(problem) => {
                        push_error(errors, path, format!("element {index}: {problem}"));
                        return;
                    }
                }
            };
            let step = element.to_string();
            if !seen.insert(element) && duplicates == Duplicates::Refused {
                push_error(errors, path, format!("duplicate entries for key {step}"));
            }
            let above = path.len();
            path.push_str(&step);
            self.items(list).check(item, duplicates, path, errors);
            path.truncate(above);
        }
    }
}

fn push_error(errors: &mut Vec<TypeError>, path: &str, problem: String) {
    let path = path.to_owned();
    errors.push(TypeError { path, problem });
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
