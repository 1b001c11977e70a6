//! OpenAPI 3.0: one document per group version.
//!
//! Documents are serialized directly, with keys in sorted order, so that no JSON tree is built in memory.

use std::collections::BTreeMap;

use lockstep_kinds::schema::{GroupVersionKind, OpenApiVersion};
use serde::{Serialize, Serializer};

use crate::Resource;
use crate::operation::{Body, Operation, Parameter, Path, paths};
use crate::schemas;

/// Media type of request bodies that accept any encoding.
const ANY: &[&str] = &["*/*"];
/// Media types of responses, in order.
const JSON: &str = "application/json";
const STREAM: &str = "application/json;stream=watch";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const YAML: &str = "application/yaml";

/// A document, to be printed.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    components: Components,
    info: Info<'a>,
    openapi: &'static str,
    paths: BTreeMap<String, Item<'a>>,
}

#[derive(Debug, Serialize)]
struct Components {
    schemas: BTreeMap<String, schemas::Printed>,
}

#[derive(Debug, Serialize)]
struct Info<'a> {
    title: &'a str,
    version: &'a str,
}

/// Path item: the operations of a path.
#[derive(Debug, Default, Serialize)]
struct Item<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    delete: Option<Printed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    get: Option<Printed<'a>>,
    parameters: Vec<PrintedParameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<Printed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    post: Option<Printed<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    put: Option<Printed<'a>>,
}

/// An operation.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Printed<'a> {
    operation_id: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parameters: Vec<PrintedParameter>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_body: Option<RequestBody<'a>>,
    responses: Responses,
    tags: [String; 1],
    #[serde(rename = "x-kubernetes-action")]
    action: &'static str,
    #[serde(rename = "x-kubernetes-group-version-kind")]
    gvk: GroupVersionKind<'a>,
}

#[derive(Debug, Serialize)]
struct PrintedParameter {
    description: &'static str,
    #[serde(rename = "in")]
    place: &'static str,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
    schema: ParameterSchema,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ParameterSchema {
    #[serde(rename = "type")]
    kind: &'static str,
    unique_items: bool,
}

#[derive(Debug, Serialize)]
struct RequestBody<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    required: Option<bool>,
}

/// One schema under several media types.
#[derive(Debug)]
struct Content<'a> {
    /// Sorted.
    media_types: Vec<&'a str>,
    schema: OfSchema,
}

#[derive(Debug, Serialize)]
struct OfSchema {
    schema: Reference,
}

#[derive(Debug, Serialize)]
struct Reference {
    #[serde(rename = "$ref")]
    target: String,
}

/// Codes with what comes with them, and that of those who are not known.
#[derive(Debug)]
struct Responses {
    /// Ascending, all below 401.
    codes: &'static [u16],
    content: Content<'static>,
}

#[derive(Debug, Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a Content<'static>>,
    description: &'static str,
}

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.media_types.iter().map(|name| (name, &self.schema)))
    }
}

impl Serialize for Responses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let response = |code: u16, content| {
            let description = reason(code);
            (
                code,
                Response {
                    content,
                    description,
                },
            )
        };
        let told = self
            .codes
            .iter()
            .map(|code| response(*code, Some(&self.content)));
        serializer.collect_map(told.chain([response(401, None)]))
    }
}

/// The document of the resources of one group and version.
pub fn document<'a>(
    title: &'a str,
    version: &'a str,
    resources: Vec<Resource<'a>>,
) -> Document<'a> {
    let mut printed = BTreeMap::new();
    for resource in &resources {
        for (place, path) in paths(resource) {
            printed.insert(place, item(resource, path));
        }
    }
    Document {
        components: Components {
            schemas: schemas::all(resources, OpenApiVersion::V3),
        },
        info: Info { title, version },
        openapi: "3.0.0",
        paths: printed,
    }
}

fn item<'a>(resource: &Resource<'a>, path: Path<'a>) -> Item<'a> {
    let mut item = Item {
        parameters: path.parameters.iter().map(parameter).collect(),
        ..Item::default()
    };
    for operation in path.operations {
        let place = match operation.method {
            "delete" => &mut item.delete,
            "get" => &mut item.get,
            "patch" => &mut item.patch,
            "post" => &mut item.post,
            _ => &mut item.put,
        };
        *place = Some(print(resource, operation));
    }
    item
}

fn print<'a>(resource: &Resource<'a>, operation: Operation<'a>) -> Printed<'a> {
    let content = Content {
        media_types: media_types(&operation),
        schema: reference(&operation.answer.name(resource)),
    };
    Printed {
        operation_id: operation.id,
        parameters: operation.parameters.iter().map(parameter).collect(),
        request_body: operation.body.map(|body| request_body(resource, &body)),
        responses: Responses {
            codes: operation.answers,
            content,
        },
        tags: [operation.tag],
        action: operation.action,
        gvk: operation.gvk,
    }
}

fn request_body<'a>(resource: &Resource<'a>, body: &Body<'a>) -> RequestBody<'a> {
    let mut media_types = match body.media_types {
        [] => ANY.to_vec(),
        named => named.to_vec(),
    };
    media_types.sort_unstable();
    RequestBody {
        content: Content {
            media_types,
            schema: reference(&body.schema.name(resource)),
        },
        required: body.is_required.then_some(true),
    }
}

fn reference(name: &str) -> OfSchema {
    let target = format!("{}{name}", OpenApiVersion::V3.prefix());
    OfSchema {
        schema: Reference { target },
    }
}

/// Media types of a response.
fn media_types(operation: &Operation<'_>) -> Vec<&'static str> {
    let types = [
        Some(JSON),
        operation.streams.then_some(STREAM),
        operation.has_protobuf.then_some(PROTOBUF),
        Some(YAML),
    ];
    types.into_iter().flatten().collect()
}

fn parameter(parameter: &Parameter) -> PrintedParameter {
    PrintedParameter {
        description: parameter.description,
        place: parameter.place,
        name: parameter.name,
        required: (parameter.place == "path").then_some(true),
        schema: ParameterSchema {
            kind: parameter.kind,
            unique_items: true,
        },
    }
}

/// Description of a status code.
pub(crate) fn reason(code: u16) -> &'static str {
    match code {
        201 => "Created",
        202 => "Accepted",
        401 => "Unauthorized",
        _ => "OK",
    }
}
