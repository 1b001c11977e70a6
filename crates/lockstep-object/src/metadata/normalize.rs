//! Types of metadata fields. Client input is normalized once, on arrival.

use super::time::Seconds;
use crate::field::{Path, report_unknown};
use crate::incoming::type_name;
use serde_json::{Map, Value};

/// The type of a field. Everything here prints without its empty values, as upstream's does.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Integer,
    Flag,
    Time,
    Texts,
    TextMap,
    /// A map that only its writer understands.
    Any,
    Items(&'static [(&'static str, Shape)]),
}

const METADATA: &[(&str, Shape)] = &[
    ("annotations", Shape::TextMap),
    ("creationTimestamp", Shape::Time),
    ("deletionGracePeriodSeconds", Shape::Integer),
    ("deletionTimestamp", Shape::Time),
    ("finalizers", Shape::Texts),
    ("generateName", Shape::Text),
    ("generation", Shape::Integer),
    ("labels", Shape::TextMap),
    ("managedFields", Shape::Items(MANAGED_FIELDS)),
    ("name", Shape::Text),
    ("namespace", Shape::Text),
    ("ownerReferences", Shape::Items(OWNER_REFERENCE)),
    ("resourceVersion", Shape::Text),
    ("selfLink", Shape::Text),
    ("uid", Shape::Text),
];

const OWNER_REFERENCE: &[(&str, Shape)] = &[
    ("apiVersion", Shape::Text),
    ("blockOwnerDeletion", Shape::Flag),
    ("controller", Shape::Flag),
    ("kind", Shape::Text),
    ("name", Shape::Text),
    ("uid", Shape::Text),
];

const MANAGED_FIELDS: &[(&str, Shape)] = &[
    ("apiVersion", Shape::Text),
    ("fieldsType", Shape::Text),
    ("fieldsV1", Shape::Any),
    ("manager", Shape::Text),
    ("operation", Shape::Text),
    ("subresource", Shape::Text),
    ("time", Shape::Time),
];

/// Handling of metadata fields with a wrong type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// Refuse it: the object comes from a client.
    Refuse,
    /// Drop the field: the object comes from the store, and reads must not fail.
    Drop,
}

/// A field of the wrong type, in the wording of Go's decoder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TypeMismatch {
    /// Another JSON type.
    #[error(
        "json: cannot unmarshal {found} into Go struct field ObjectMeta.{field} of type {wanted}"
    )]
    Type {
        /// `labels`, `ownerReferences.uid`.
        field: String,
        /// `number`, `object`, …
        found: &'static str,
        /// `string`, `map[string]string`, …
        wanted: &'static str,
    },
    /// An invalid timestamp.
    #[error("{0}")]
    Time(super::time::TimeError),
}

/// True for the top-level fields of every kind.
pub fn is_type_or_metadata(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

/// Normalizes metadata: removes nulls, empty values and unknown fields, and converts times to UTC. Unknown fields are
/// reported in `unknown`, below `path`.
pub fn normalize_metadata(
    metadata: &mut Value,
    path: &Path<'_>,
    malformed: Malformed,
    unknown: &mut Vec<String>,
) -> Result<(), TypeMismatch> {
    let mut normalizer = Normalizer {
        malformed,
        unknown,
        field: String::new(),
    };
    match metadata {
        Value::Object(entries) => normalizer.fields(entries, METADATA, path),
        Value::Null => {
            *metadata = Value::Object(Map::new());
            Ok(())
        }
        other if malformed == Malformed::Refuse => Err(normalizer.mismatch(other, "v1.ObjectMeta")),
        other => {
            *other = Value::Object(Map::new());
            Ok(())
        }
    }
}

struct Normalizer<'u> {
    malformed: Malformed,
    unknown: &'u mut Vec<String>,
    /// The field in Go's spelling, for error messages.
    field: String,
}

impl Normalizer<'_> {
    fn fields(
        &mut self,
        entries: &mut Map<String, Value>,
        shapes: &[(&str, Shape)],
        path: &Path<'_>,
    ) -> Result<(), TypeMismatch> {
        let mut fault = None;
        entries.retain(|name, value| {
            let Ok(at) = shapes.binary_search_by(|(known, _)| (*known).cmp(name)) else {
                report_unknown(&path.field(name), self.unknown);
                return false;
            };
            let length = self.field.len();
            if length > 0 {
                self.field.push('.');
            }
            self.field.push_str(name);
            let kept = self.value(value, shapes[at].1, &path.field(name));
            self.field.truncate(length);
            kept.unwrap_or_else(|error| {
                if self.malformed == Malformed::Refuse {
                    fault.get_or_insert(error);
                }
                false
            })
        });
        fault.map_or(Ok(()), Err)
    }

    /// Normalizes a value; returns false if it should be removed.
    fn value(
        &mut self,
        value: &mut Value,
        shape: Shape,
        path: &Path<'_>,
    ) -> Result<bool, TypeMismatch> {
        Ok(match (shape, value) {
            (_, Value::Null) => false,
            (Shape::Text, Value::String(text)) => !text.is_empty(),
            (Shape::Integer, Value::Number(number)) if number.is_i64() => {
                number.as_i64() != Some(0) || self.is_pointer()
            }
            (Shape::Flag, Value::Bool(_)) | (Shape::Any, _) => true,
            (Shape::Time, Value::String(text)) => {
                let at: Seconds = text.parse().map_err(TypeMismatch::Time)?;
                *text = at.to_string();
                true
            }
            (Shape::Texts, Value::Array(elements)) => {
                self.texts(elements.iter_mut())?;
                !elements.is_empty()
            }
            (Shape::TextMap, Value::Object(entries)) => {
                self.texts(entries.values_mut())?;
                !entries.is_empty()
            }
            (Shape::Items(shapes), Value::Array(elements)) => {
                for (index, element) in elements.iter_mut().enumerate() {
                    match element {
                        Value::Object(entries) => {
                            self.fields(entries, shapes, &path.index(index))?;
                        }
                        Value::Null => *element = Value::Object(Map::new()),
                        other => return Err(self.mismatch(other, item_type(&self.field))),
                    }
                }
                // An empty list of managed fields is a wish to forget them.
                !elements.is_empty() || self.field == "managedFields"
            }
            (shape, other) => return Err(self.mismatch(other, shape.go_type(&self.field))),
        })
    }

    /// `deletionGracePeriodSeconds` is a pointer in Go: zero is kept, unlike a `generation` of zero.
    fn is_pointer(&self) -> bool {
        self.field == "deletionGracePeriodSeconds"
    }

    /// Null is the empty text.
    fn texts<'v>(&self, values: impl Iterator<Item = &'v mut Value>) -> Result<(), TypeMismatch> {
        for value in values {
            match value {
                Value::String(_) => {}
                Value::Null => *value = Value::from(""),
                other => return Err(self.mismatch(other, "string")),
            }
        }
        Ok(())
    }

    fn mismatch(&self, found: &Value, wanted: &'static str) -> TypeMismatch {
        TypeMismatch::Type {
            field: self.field.clone(),
            found: type_name(found),
            wanted,
        }
    }
}

fn item_type(field: &str) -> &'static str {
    match field {
        "ownerReferences" => "v1.OwnerReference",
        _ => "v1.ManagedFieldsEntry",
    }
}

impl Shape {
    fn go_type(self, field: &str) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Integer => "int64",
            Self::Flag => "bool",
            Self::Time => "v1.Time",
            Self::Texts => "[]string",
            Self::TextMap => "map[string]string",
            Self::Any => "v1.FieldsV1",
            Self::Items(_) if field == "ownerReferences" => "[]v1.OwnerReference",
            Self::Items(_) => "[]v1.ManagedFieldsEntry",
        }
    }
}
