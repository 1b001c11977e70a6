//! OpenAPI 2.0: a single document.

use lockstep_kinds::schema::OpenApiVersion;
use serde_json::{Map, Value, json};

use crate::operation::{Operation, Parameter, Path, paths};
use crate::v3::reason;
use crate::{Resource, Source, schemas};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The document of all resources.
pub fn document(title: &str, version: &str, resources: Vec<Resource<'_>>) -> Value {
    let mut printed = Map::new();
    for resource in &resources {
        for (place, path) in paths(resource) {
            printed.insert(place, item(resource, &path));
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": title, "version": version},
        "paths": printed,
        "definitions": schemas::all(resources, OpenApiVersion::V2),
    })
}

fn item(resource: &Resource<'_>, path: &Path<'_>) -> Value {
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

fn print(resource: &Resource<'_>, operation: &Operation<'_>) -> Value {
    let mut answers = Map::new();
    let schema = reference(&operation.answer.name(resource));
    for code in operation.answers {
        let answer = json!({"description": reason(*code), "schema": schema});
        answers.insert(code.to_string(), answer);
    }
    answers.insert("401".into(), json!({"description": reason(401)}));
    let mut parameters: Vec<Value> = operation.parameters.iter().map(parameter).collect();
    let mut consumes: &[&str] = &["*/*"];
    if let Some(body) = &operation.body {
        let mut printed = json!({
            "name": "body",
            "in": "body",
            "schema": reference(&body.schema.name(resource)),
        });
        if body.is_required {
            printed["required"] = true.into();
        }
        parameters.insert(0, printed);
        if !body.media_types.is_empty() {
            consumes = body.media_types;
        }
    }
    let mut produces = vec!["application/json", "application/yaml"];
    if resource.source == Source::BuiltIn {
        produces.push(PROTOBUF);
    }
    json!({
        "tags": [operation.tag],
        "operationId": operation.id,
        "consumes": consumes,
        "produces": produces,
        "schemes": ["https"],
        "parameters": parameters,
        "responses": answers,
        "x-kubernetes-action": operation.action,
        "x-kubernetes-group-version-kind": operation.gvk,
    })
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{}{name}", OpenApiVersion::V2.prefix())})
}

fn parameter(parameter: &Parameter) -> Value {
    let mut printed = json!({
        "name": parameter.name,
        "in": parameter.place,
        "description": parameter.description,
        "type": parameter.kind,
        "uniqueItems": true,
    });
    if parameter.place == "path" {
        printed["required"] = true.into();
    }
    printed
}
