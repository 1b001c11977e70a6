//! OpenAPI 3.0: a document for each group and version.

use lockstep_kinds::schema::Flavour;
use serde_json::{Map, Value, json};

use crate::Resource;
use crate::operation::{Body, Operation, Parameter, Path, paths};
use crate::schemas;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The document of the resources of one group and version.
pub fn document(title: &str, version: &str, resources: &[Resource<'_>]) -> Value {
    let mut printed = Map::new();
    for resource in resources {
        for (place, path) in paths(resource) {
            printed.insert(place, item(resource, &path));
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": title, "version": version},
        "paths": printed,
        "components": {"schemas": schemas::all(resources, Flavour::V3)},
    })
}

fn item(resource: &Resource<'_>, path: &Path) -> Value {
    let mut item = Map::new();
    for operation in &path.operations {
        item.insert(operation.method.into(), print(resource, operation));
    }
    item.insert(
        "parameters".into(),
        path.parameters.iter().map(parameter).collect(),
    );
    item.into()
}

fn print(resource: &Resource<'_>, operation: &Operation) -> Value {
    let mut answers = Map::new();
    for code in operation.answers {
        let mut content = Map::new();
        for media_type in media_types(operation) {
            content.insert(media_type, reference(&operation.answer.name(resource)));
        }
        let answer = json!({"description": reason(*code), "content": content});
        answers.insert(code.to_string(), answer);
    }
    answers.insert("401".into(), json!({"description": reason(401)}));
    let mut printed = json!({
        "tags": [operation.tag],
        "operationId": operation.id,
        "responses": answers,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    });
    if !operation.parameters.is_empty() {
        printed["parameters"] = operation.parameters.iter().map(parameter).collect();
    }
    if let Some(body) = &operation.body {
        printed["requestBody"] = request_body(resource, body);
    }
    printed
}

fn request_body(resource: &Resource<'_>, body: &Body) -> Value {
    let schema = reference(&body.schema.name(resource));
    let mut content = Map::new();
    if body.media_types.is_empty() {
        content.insert("*/*".into(), schema);
    } else {
        for media_type in &body.media_types {
            content.insert(media_type.clone(), schema.clone());
        }
    }
    let mut printed = json!({"content": content});
    if body.is_required {
        printed["required"] = true.into();
    }
    printed
}

fn reference(name: &str) -> Value {
    json!({"schema": {"$ref": format!("{}{name}", Flavour::V3.prefix())}})
}

/// What an answer may be written in.
fn media_types(operation: &Operation) -> Vec<String> {
    let mut types = vec!["application/json".to_owned(), "application/yaml".to_owned()];
    types.extend(operation.has_protobuf.then(|| PROTOBUF.to_owned()));
    types.extend(
        operation
            .streams
            .then(|| "application/json;stream=watch".to_owned()),
    );
    types
}

fn parameter(parameter: &Parameter) -> Value {
    let mut printed = json!({
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "schema": {"type": parameter.kind, "uniqueItems": true},
    });
    if parameter.place == "path" {
        printed["required"] = true.into();
    }
    printed
}

/// What a code means.
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        201 => "Created",
        202 => "Accepted",
        401 => "Unauthorized",
        _ => "OK",
    }
}
