//! Object types of mutating policies: `Object…`, one per path, and `JSONPatch`.

use crate::schema::{Fields, ObjectType, Property, Schema, Shape};
use crate::types::Type;
use crate::value::{Object, Value};
use serde_json::Value as Json;
use std::fmt;
use std::sync::Arc;

/// Type name of the mark around an element that is no object and is to be removed.
pub const REMOVAL: &str = "objects.remove";

/// Merges objects by the schema of the resource that a mutation runs on, for `objects.apply`.
pub trait Merger: fmt::Debug {
    /// Merges an object literal into a value. The type name of the literal tells its position in the resource.
    fn merge(&self, base: &Value<'_>, patch: &Object<'_>) -> Result<Json, String>;
}

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

/// The static type with a name: `Object`, `Object.spec.containers` or `JSONPatch`.
pub fn type_named(name: &str) -> Option<Type> {
    object_type(name)
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
/// are transparent. Below a list, `.item` may follow the name of the list.
pub fn check_type_names(value: &Value<'_>) -> Result<(), TypeNameError> {
    check_at(value, &mut vec![Step::field("Object")])
}

/// Variant of [`check_type_names`] for a value of a patch, which may start at any path: only what lies inside an
/// object literal is checked, against the path that the literal names.
pub fn check_type_names_within(value: &Value<'_>) -> Result<(), TypeNameError> {
    match value {
        _ if value.is_plain_data() => Ok(()),
        Value::Object(object) => {
            let names = object.type_name.split('.');
            let mut path: Vec<Step<'_>> = names.map(Step::field).collect();
            check_fields(object, &mut path)
        }
        Value::List(list) => list
            .values()
            .flatten()
            .try_for_each(|value| check_type_names_within(&value)),
        Value::Map(map) => map.entries().try_for_each(|(_, value)| {
            value.map_or(Ok(()), |value| check_type_names_within(&value))
        }),
        Value::Optional(Some(value)) => check_type_names_within(value),
        _ => Ok(()),
    }
}

/// A field on the way to a value.
struct Step<'a> {
    name: &'a str,
    is_list: bool,
}

impl<'a> Step<'a> {
    fn field(name: &'a str) -> Self {
        Self {
            name,
            is_list: false,
        }
    }
}

fn check_at<'v>(value: &Value<'v>, path: &mut Vec<Step<'v>>) -> Result<(), TypeNameError> {
    match value {
        _ if value.is_plain_data() => Ok(()),
        Value::Object(object) if object.type_name == REMOVAL => Ok(()),
        Value::Object(object) => {
            let segments: Vec<&str> = object.type_name.split('.').collect();
            // The last `.item` is already cut off, also from a field that is called so.
            let uncut: Vec<&str> = segments.iter().copied().chain(["item"]).collect();
            if !names(&segments, path) && !names(&uncut, path) {
                let expected: Vec<&str> = path.iter().map(|step| step.name).collect();
                return Err(TypeNameError {
                    found: object.type_name.to_owned(),
                    expected: expected.join("."),
                });
            }
            check_fields(object, path)
        }
        Value::List(list) => {
            let was_list = path
                .last_mut()
                .map(|step| std::mem::replace(&mut step.is_list, true));
            let checked = list
                .values()
                .flatten()
                .try_for_each(|value| check_at(&value, path));
            if let (Some(step), Some(was_list)) = (path.last_mut(), was_list) {
                step.is_list = was_list;
            }
            checked
        }
        Value::Map(map) => map
            .entries()
            .try_for_each(|(_, value)| value.map_or(Ok(()), |value| check_at(&value, path))),
        Value::Optional(Some(value)) => check_at(value, path),
        _ => Ok(()),
    }
}

fn check_fields<'v>(object: &Object<'v>, path: &mut Vec<Step<'v>>) -> Result<(), TypeNameError> {
    object.fields.iter().try_for_each(|(name, value)| {
        path.push(Step::field(name));
        let checked = check_at(value, path);
        path.pop();
        checked
    })
}

/// True if a type name consists of the names of a path, each list followed by `item` or not.
fn names(segments: &[&str], path: &[Step<'_>]) -> bool {
    let (Some((segment, segments)), Some((step, path))) =
        (segments.split_first(), path.split_first())
    else {
        return segments.is_empty() && path.is_empty();
    };
    let after_item = || match segments.split_first() {
        Some((&"item", rest)) if step.is_list => names(rest, path),
        _ => false,
    };
    *segment == step.name && (names(segments, path) || after_item())
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
