//! Conversion of structural CRD schemas.

use super::{Fields, ListKind, ObjectType, Property, Schema, Shape, escape};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Distinguishes the root resource from nested schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Adds `apiVersion`, `kind`, `metadata.name` and `metadata.generateName`.
    Root,
    /// Only what the schema declares.
    Part,
}

/// Maximum depth of converted schemas; deeper fields are not visible to expressions.
const DEPTH_MAX: u16 = 200;

pub(super) fn convert(schema: &Json, name: &str, resource: Resource) -> Option<Schema> {
    convert_at(schema, name, resource, DEPTH_MAX)
}

fn convert_at(schema: &Json, name: &str, resource: Resource, depth: u16) -> Option<Schema> {
    let shape = shape(schema, name, resource, depth.checked_sub(1)?)?;
    let limit = match &shape {
        Shape::List(..) => "maxItems",
        Shape::Map(_) => "maxProperties",
        _ => "maxLength",
    };
    Some(Schema {
        shape,
        max: schema.get(limit).and_then(Json::as_u64),
        nullable: is_set(schema, "nullable"),
        has_default: schema.get("default").is_some(),
    })
}

fn is_set(schema: &Json, key: &str) -> bool {
    schema.get(key).and_then(Json::as_bool).unwrap_or(false)
}

fn text<'a>(schema: &'a Json, key: &str) -> &'a str {
    schema.get(key).and_then(Json::as_str).unwrap_or("")
}

fn shape(schema: &Json, name: &str, resource: Resource, depth: u16) -> Option<Shape> {
    if is_set(schema, "x-kubernetes-int-or-string") {
        return Some(Shape::IntOrString);
    }
    match text(schema, "type") {
        "boolean" => Some(Shape::Bool),
        "integer" => Some(Shape::Int),
        "number" => Some(Shape::Double),
        "string" => Some(string(schema)),
        "array" => {
            let items = schema.get("items")?;
            let items = convert_at(items, &format!("{name}.@idx"), Resource::Part, depth)?;
            Some(Shape::List(Arc::new(items), list_kind(schema)))
        }
        "object" => object(schema, name, resource, depth),
        _ => None,
    }
}

fn string(schema: &Json) -> Shape {
    match text(schema, "format") {
        "byte" => Shape::Bytes,
        "duration" => Shape::Duration,
        "date" => Shape::Date,
        "date-time" => Shape::DateTime,
        _ => {
            let values = schema.get("enum").and_then(Json::as_array);
            let lengths = values
                .into_iter()
                .flatten()
                .filter_map(Json::as_str)
                .map(|value| value.len() as u64);
            Shape::String {
                longest: lengths.max(),
            }
        }
    }
}

fn list_kind(schema: &Json) -> ListKind {
    match text(schema, "x-kubernetes-list-type") {
        "set" => ListKind::Set,
        "map" => {
            let keys = schema
                .get("x-kubernetes-list-map-keys")
                .and_then(Json::as_array);
            ListKind::Map(
                keys.into_iter()
                    .flatten()
                    .filter_map(Json::as_str)
                    .map(Into::into)
                    .collect(),
            )
        }
        _ => ListKind::Atomic,
    }
}

fn object(schema: &Json, name: &str, resource: Resource, depth: u16) -> Option<Shape> {
    if let Some(values @ Json::Object(_)) = schema.get("additionalProperties") {
        let values = convert_at(values, &format!("{name}.@elem"), Resource::Part, depth)?;
        return Some(Shape::Map(Arc::new(values)));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let mut fields = BTreeMap::new();
    for (json_name, property) in schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        let Some(escaped) = escape::field_name(json_name) else {
            continue;
        };
        let name = format!("{name}.{escaped}");
        let Some(schema) = convert_at(property, &name, Resource::Part, depth) else {
            continue;
        };
        let required = required.contains(&json_name.as_str());
        let field = Property {
            json_name: json_name.as_str().into(),
            schema: Arc::new(schema),
            required,
        };
        if let Some(plain) = escape::plain_name(json_name) {
            fields.insert(plain, field.clone());
        }
        fields.insert(escaped, field);
    }
    if resource == Resource::Root || is_set(schema, "x-kubernetes-embedded-resource") {
        add_type_meta(&mut fields, name);
    }
    Some(Shape::Object(Arc::new(ObjectType {
        name: name.into(),
        fields: Fields::Declared(fields),
    })))
}

/// Adds `apiVersion`, `kind` and metadata, which every resource has regardless of its schema.
fn add_type_meta(fields: &mut BTreeMap<Box<str>, Property>, name: &str) {
    let mut metadata = BTreeMap::new();
    for field in ["name", "generateName"] {
        metadata.insert(field.into(), plain_string(field));
    }
    let metadata = ObjectType {
        name: format!("{name}.metadata").into(),
        fields: Fields::Declared(metadata),
    };
    let metadata = Schema::of(Shape::Object(Arc::new(metadata)));
    fields.insert("apiVersion".into(), plain_string("apiVersion"));
    fields.insert("kind".into(), plain_string("kind"));
    let property = Property {
        json_name: "metadata".into(),
        schema: Arc::new(metadata),
        required: false,
    };
    fields.insert("metadata".into(), property);
}

fn plain_string(name: &str) -> Property {
    let schema = Arc::new(Schema::of(Shape::String { longest: None }));
    Property {
        json_name: name.into(),
        schema,
        required: false,
    }
}
