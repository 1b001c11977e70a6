//! Object types of mutating policies: `Object…`, one per path, and `JSONPatch`.

use crate::schema::{Fields, ObjectType, Property, Schema, Shape};
use crate::types::Type;
use crate::value::{Object, Value};
use std::sync::Arc;

/// The name of the patch type.
pub(crate) const JSON_PATCH: &str = "JSONPatch";

/// The type of an object literal, if it is one of the mutation types.
pub(crate) fn object_type(name: &str) -> Option<Type> {
    let fields = if name == JSON_PATCH {
        let text = |name: &str| Property {
            json_name: name.into(),
            schema: Arc::new(Schema::of(Shape::String { longest: None })),
            required: false,
        };
        let value = Property {
            json_name: "value".into(),
            schema: Arc::new(Schema::of(Shape::Any)),
            required: false,
        };
        let names = ["op", "path", "from"].map(|name| (name.into(), text(name)));
        Fields::Declared(names.into_iter().chain([("value".into(), value)]).collect())
    } else if name == "Object" || name.starts_with("Object.") {
        Fields::Open
    } else {
        return None;
    };
    Some(Type::Object(Arc::new(ObjectType {
        name: (*canonical_name(name)).into(),
        fields,
    })))
}

/// Items of lists carry the name of the list; `….item` is another spelling of it.
pub(crate) fn canonical_name(name: &str) -> Box<str> {
    name.strip_suffix(".item").unwrap_or(name).into()
}

/// Value of an unset field: `JSONPatch` always has all its fields.
pub(crate) fn absent_field<'a>(object: &Object<'a>, name: &str) -> Option<Value<'a>> {
    match (object.type_name, name) {
        (JSON_PATCH, "op" | "path" | "from") => Some(Value::String("")),
        (JSON_PATCH, "value") => Some(Value::Null),
        _ => None,
    }
}

/// An object type that does not match its position in the result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "unexpected type name \"{found}\", expected \"{expected}\", which matches field name path from root Object type"
)]
pub struct TypeNameError {
    /// The name the expression used.
    pub found: String,
    /// The type name required at this position.
    pub expected: String,
}

/// Checks that each object inside a mutation's result carries the name of its path; maps and lists in between
/// are transparent.
pub fn check_type_names(value: &Value<'_>) -> Result<(), TypeNameError> {
    check_at(value, "Object")
}

fn check_at(value: &Value<'_>, expected: &str) -> Result<(), TypeNameError> {
    match value {
        _ if value.is_plain_data() => Ok(()),
        Value::Object(object) => {
            if object.type_name != expected {
                let found = object.type_name.to_owned();
                return Err(TypeNameError {
                    found,
                    expected: expected.to_owned(),
                });
            }
            object
                .fields
                .iter()
                .try_for_each(|(name, value)| check_at(value, &format!("{expected}.{name}")))
        }
        Value::List(list) => list
            .values()
            .flatten()
            .try_for_each(|value| check_at(&value, expected)),
        Value::Map(map) => map
            .entries()
            .try_for_each(|(_, value)| value.map_or(Ok(()), |value| check_at(&value, expected))),
        Value::Optional(Some(value)) => check_at(value, expected),
        _ => Ok(()),
    }
}

/// Paths of fields and map keys that were written as `?f` and left out, such as `spec.replicas`; each is a list of
/// names from the root, list positions in decimal.
pub fn omitted_paths(value: &Value<'_>) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    collect_omitted(value, &mut Vec::new(), &mut paths);
    paths
}

fn collect_omitted(value: &Value<'_>, at: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let mut leave_out = |at: &[String], name: &str| {
        paths.push(at.iter().cloned().chain([name.to_owned()]).collect());
    };
    match value {
        _ if value.is_plain_data() => {}
        Value::Object(object) => {
            object.omitted.iter().for_each(|name| leave_out(at, name));
            for (name, value) in object.fields {
                within(at, (*name).to_owned(), |at| {
                    collect_omitted(value, at, paths);
                });
            }
        }
        Value::Map(map) => {
            for key in map.omitted() {
                if let Value::String(key) = key {
                    leave_out(at, key);
                }
            }
            for (key, value) in map.entries() {
                if let (Value::String(key), Ok(value)) = (key, value) {
                    within(at, key.to_owned(), |at| collect_omitted(&value, at, paths));
                }
            }
        }
        Value::List(list) => {
            for (index, value) in list.values().enumerate() {
                if let Ok(value) = value {
                    within(at, index.to_string(), |at| {
                        collect_omitted(&value, at, paths);
                    });
                }
            }
        }
        Value::Optional(Some(value)) => collect_omitted(value, at, paths),
        _ => {}
    }
}

fn within(at: &mut Vec<String>, name: String, run: impl FnOnce(&mut Vec<String>)) {
    at.push(name);
    run(at);
    at.pop();
}
