//! Published schemas of custom resources.

use lockstep_kinds::schema::OpenApiVersion;
use serde_json::{Map, Value, json};

use crate::Resource;
use crate::schemas::{LIST_META, OBJECT_META, published};

const API_VERSION: &str =
    "the version of the schema that this object is written in, as `group/version`";
const KIND: &str = "what this object is";
const METADATA: &str = "what every object has";

/// Keywords of version 3.0 that 2.0 does not have.
const UNSUPPORTED_KEYWORDS: [&str; 6] =
    ["anyOf", "default", "deprecated", "not", "nullable", "oneOf"];

/// The schema of the objects of a custom resource: that of its definition, with what every object has.
pub(crate) fn object(resource: &Resource<'_>, mut schema: Value, version: OpenApiVersion) -> Value {
    complete(&mut schema, version);
    let is_open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    if version == OpenApiVersion::V2 {
        drop_unsupported(&mut schema);
    }
    // Clients of version 2.0 refuse fields that are not among the properties, if there are any.
    if version == OpenApiVersion::V3 || !is_open {
        add_type(&mut schema, OBJECT_META, version);
    }
    schema["x-kubernetes-group-version-kind"] = kinds(resource, resource.kind);
    schema
}

/// The schema of its lists.
pub(crate) fn list(resource: &Resource<'_>, version: OpenApiVersion) -> Value {
    let target = format!("{}{}", version.prefix(), published(resource, resource.kind));
    let mut schema = json!({
        "type": "object",
        "required": ["items"],
        "properties": {"items": {"type": "array", "items": {"$ref": target}}},
        "x-kubernetes-group-version-kind": kinds(resource, resource.list_kind),
    });
    add_type(&mut schema, LIST_META, version);
    schema
}

fn kinds(resource: &Resource<'_>, kind: &str) -> Value {
    let (group, version) = (resource.group, resource.version);
    json!([{"group": group, "version": version, "kind": kind}])
}

/// Adds kind, version and metadata.
fn add_type(schema: &mut Value, metadata: &str, version: OpenApiVersion) {
    let target = format!("{}{metadata}", version.prefix());
    let reference = match version {
        OpenApiVersion::V2 => json!({"$ref": target, "description": METADATA}),
        OpenApiVersion::V3 => json!({"allOf": [{"$ref": target}], "description": METADATA}),
    };
    let properties = schema.as_object_mut().map(|entries| {
        let properties = entries.entry("properties");
        properties.or_insert_with(|| Value::Object(Map::new()))
    });
    if let Some(Value::Object(properties)) = properties {
        let text = |description: &str| json!({"type": "string", "description": description});
        properties.insert("apiVersion".into(), text(API_VERSION));
        properties.insert("kind".into(), text(KIND));
        properties.insert("metadata".into(), reference);
    }
}

/// Objects inside objects have kind, version and metadata too.
fn complete(schema: &mut Value, version: OpenApiVersion) {
    for inner in children(schema) {
        if inner["x-kubernetes-embedded-resource"] == true {
            add_type(inner, OBJECT_META, version);
        }
        complete(inner, version);
    }
}

/// Drops keywords that OpenAPI 2.0 lacks. Schemas that it cannot express (nullable, int-or-string, preserved unknown
/// fields) lose their type or members, as upstream does, so that kubectl does not reject valid values.
fn drop_unsupported(schema: &mut Value) {
    if let Value::Object(entries) = schema {
        let is_nullable = entries.get("nullable") == Some(&Value::Bool(true));
        let is_open =
            entries.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
        let is_either = entries.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
        for keyword in UNSUPPORTED_KEYWORDS {
            entries.remove(keyword);
        }
        if is_nullable || is_either {
            entries.remove("type");
        }
        if is_nullable || is_open {
            for keyword in ["items", "properties", "additionalProperties", "required"] {
                entries.remove(keyword);
            }
        }
    }
    children(schema).into_iter().for_each(drop_unsupported);
}

/// The schemas directly inside a schema.
fn children(schema: &mut Value) -> Vec<&mut Value> {
    let Value::Object(entries) = schema else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (keyword, value) in entries {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => found.extend(properties.values_mut()),
            ("allOf", Value::Array(items)) => found.extend(items),
            ("items" | "additionalProperties", value @ Value::Object(_)) => found.push(value),
            _ => {}
        }
    }
    found
}
