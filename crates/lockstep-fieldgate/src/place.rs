//! Resolution of gated field paths in a schema.

use lockstep_object::Value;
use lockstep_object::metadata::is_type_or_metadata;
use lockstep_schema::is_storage_version;

use crate::path::{FieldPath, Segment};

/// Meaning of a path segment in the schema.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    /// A declared property.
    Property,
    /// A map key.
    Key,
    /// Every map value.
    EachKey,
    /// Every element of an associative list with these key fields.
    EachElement(Vec<Box<str>>),
}

/// Errors of resolving a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PlaceError {
    #[error("must not point to apiVersion, kind or metadata")]
    TypeOrMetadata,
    #[error("does not refer to a field of the schema of storage version {0}")]
    NotInSchema(String),
    #[error("[*] needs x-kubernetes-list-type: map on {0}")]
    NotListMap(String),
    #[error("[*] is only allowed on lists and maps")]
    NoContainer,
    #[error("must not end with [*]")]
    EndsWithEach,
    #[error("must not point to list map key {0:?}")]
    ListKey(String),
}

/// Resolves a path in a schema.
pub(crate) fn steps(
    schema: &Value,
    path: &FieldPath,
    version: &str,
) -> Result<Vec<Step>, PlaceError> {
    let mut steps = Vec::with_capacity(path.segments().len());
    let mut node = schema;
    let mut way = String::new();
    for (at, segment) in path.segments().iter().enumerate() {
        let is_resource = at == 0 || node["x-kubernetes-embedded-resource"] == true;
        let (step, below) = match segment {
            Segment::Name(name) if is_resource && is_type_or_metadata(name) => {
                return Err(PlaceError::TypeOrMetadata);
            }
            Segment::Name(name) => {
                if let Some(Step::EachElement(keys)) = steps.last()
                    && keys.contains(name)
                {
                    return Err(PlaceError::ListKey(name.to_string()));
                }
                named(node, name).ok_or_else(|| PlaceError::NotInSchema(version.to_owned()))?
            }
            Segment::Each => each(node, &way)?,
        };
        steps.push(step);
        node = below;
        way.push_str(&match segment {
            Segment::Each => "[*]".to_owned(),
            Segment::Name(name) if crate::path::is_plain(name) => format!(".{name}"),
            Segment::Name(name) => crate::path::quoted(name),
        });
    }
    match path.segments().last() {
        Some(Segment::Each) => Err(PlaceError::EndsWithEach),
        _ => Ok(steps),
    }
}

/// The schema of a property or map key.
pub(crate) fn named<'s>(node: &'s Value, name: &str) -> Option<(Step, &'s Value)> {
    if let Some(property) = node.get("properties").and_then(|all| all.get(name)) {
        return Some((Step::Property, property));
    }
    Some((Step::Key, values(node)?))
}

fn values(node: &Value) -> Option<&Value> {
    node.get("additionalProperties")
        .filter(|schema| schema.is_object())
}

fn each<'s>(node: &'s Value, way: &str) -> Result<(Step, &'s Value), PlaceError> {
    if let Some(items) = node.get("items").filter(|items| items.is_object()) {
        if node["x-kubernetes-list-type"] != "map" {
            return Err(PlaceError::NotListMap(way.to_owned()));
        }
        return Ok((Step::EachElement(list_keys(node)), items));
    }
    match values(node) {
        Some(values) => Ok((Step::EachKey, values)),
        None => Err(PlaceError::NoContainer),
    }
}

/// The key fields of an associative list.
pub(crate) fn list_keys(node: &Value) -> Vec<Box<str>> {
    let keys = node.get("x-kubernetes-list-map-keys");
    let keys = keys.and_then(Value::as_array).into_iter().flatten();
    keys.filter_map(Value::as_str).map(Into::into).collect()
}

/// True if a schema, or an `allOf` branch of it, requires the last segment of a path.
pub(crate) fn is_required(schema: &Value, segments: &[Segment]) -> bool {
    let Some((first, rest)) = segments.split_first() else {
        return false;
    };
    let together = schema.get("allOf").and_then(Value::as_array);
    let here = match first {
        Segment::Name(name) if rest.is_empty() => {
            let required = schema.get("required").and_then(Value::as_array);
            required.is_some_and(|required| required.iter().any(|other| **name == *other))
        }
        Segment::Name(name) => {
            named(schema, name).is_some_and(|(_, below)| is_required(below, rest))
        }
        Segment::Each => {
            let below = schema.get("items").or_else(|| values(schema));
            below.is_some_and(|below| is_required(below, rest))
        }
    };
    here || together
        .into_iter()
        .flatten()
        .any(|part| is_required(part, segments))
}

/// Name and schema of the storage version.
pub(crate) fn storage(definition: &lockstep_object::Object) -> Option<(&str, &Value)> {
    let versions = definition.at(&["spec", "versions"])?.as_array()?;
    let storage = versions
        .iter()
        .find(|version| is_storage_version(version))?;
    let schema = storage.pointer("/schema/openAPIV3Schema")?;
    let name = storage["name"].as_str().unwrap_or_default();
    schema.is_object().then_some((name, schema))
}
