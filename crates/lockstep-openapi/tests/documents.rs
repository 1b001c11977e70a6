//! Documents of a custom resource and of built-in kinds: api-machinery.md §2/openapi-v3, §2/openapi-v2, §0/T3, §0/T4.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

use std::path::Path;

use lockstep_kinds::Table;
use lockstep_object::json::{encode_ordered, encode_to_string};
use lockstep_openapi::{Part, Resource, Source, gnostic, v2, v3};
use prost::Message;
use serde_json::{Value, json};

const ALL: [&str; 8] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const PATCHES: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
];

fn widget() -> Resource<'static> {
    let schema = json!({
        "type": "object",
        "description": "A widget",
        "required": ["spec"],
        "properties": {"spec": {
            "type": "object",
            "properties": {
                "size": {"type": "integer", "maximum": 5, "default": 1},
                "either": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "maybe": {"type": "object", "nullable": true, "properties": {"a": {"type": "string"}}},
                "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true,
                    "properties": {"a": {"type": "string"}}},
                "inner": {"type": "array", "items": {"type": "object", "x-kubernetes-embedded-resource": true}},
                "map": {"type": "object", "additionalProperties": {"type": "string", "default": "x"}}
            }
        }}
    });
    Resource {
        group: "ex.io",
        version: "v1",
        plural: "widgets",
        kind: "Widget",
        list_kind: "WidgetList",
        is_namespaced: true,
        verbs: ALL.to_vec(),
        parts: vec![
            Part {
                name: "status",
                verbs: vec!["get", "patch", "update"],
                kind: None,
            },
            Part {
                name: "scale",
                verbs: vec!["get"],
                kind: Some(["autoscaling", "v1", "Scale"]),
            },
        ],
        patch_types: PATCHES,
        source: Source::Custom(schema),
    }
}

fn built_in(
    group: &'static str,
    plural: &'static str,
    kind: &'static str,
    list_kind: &'static str,
) -> Resource<'static> {
    Resource {
        group,
        plural,
        kind,
        list_kind,
        parts: Vec::new(),
        source: Source::BuiltIn,
        ..widget()
    }
}

fn v3_of(resources: Vec<Resource<'_>>) -> Value {
    serde_json::to_value(v3::document("Kubernetes", "v1.36.0", resources)).unwrap()
}

/// Compares with a file; `LOCKSTEP_UPDATE=1` writes it.
fn matches(file: &str, document: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/snapshots")
        .join(file);
    let printed = format!("{document:#}\n");
    if std::env::var_os("LOCKSTEP_UPDATE").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    assert_eq!(
        printed,
        std::fs::read_to_string(&path).unwrap_or_default(),
        "{file}"
    );
}

/// Paths, and the schemas that are the kind's own.
fn own(document: &Value, schemas: &str) -> Value {
    let all = document.pointer(schemas).unwrap().as_object().unwrap();
    let own = all.iter().filter(|(name, _)| name.starts_with("io.ex."));
    let own: serde_json::Map<String, Value> = own
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    json!({"paths": document["paths"], "schemas": own})
}

#[test]
fn a_custom_resource_has_paths_with_parameters_and_its_schema() {
    let document = v3_of(vec![widget()]);
    assert_eq!(document["openapi"], "3.0.0");
    matches("widget.v3.json", &own(&document, "/components/schemas"));
}

#[test]
fn version_2_loses_what_it_cannot_say() {
    let document = v2::document("Kubernetes", "v1.36.0", vec![widget()]);
    assert_eq!(document["swagger"], "2.0");
    matches("widget.v2.json", &own(&document, "/definitions"));
}

#[test]
fn an_open_kind_has_no_properties_in_version_2() {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let resource = Resource {
        source: Source::Custom(open),
        ..widget()
    };
    let document = v2::document("Kubernetes", "v1.36.0", vec![resource]);
    let expected = json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "x-kubernetes-group-version-kind": [{"group": "ex.io", "version": "v1", "kind": "Widget"}]
    });
    assert_eq!(document["definitions"]["io.ex.v1.Widget"], expected);
}

/// A document that is written without a tree equals the encoded tree, for every kind of the table.
#[test]
fn documents_of_version_3_tell_their_keys_in_order() {
    let table = Table::builtin();
    let kinds = table.types().filter(|(_, found)| found.is_kind);
    let kinds = kinds.filter_map(|(id, found)| Some((table.package(id).served?, found.name)));
    let built_in = kinds.map(|((group, version), kind)| Resource {
        version,
        ..built_in(group, "things", kind, "NoList")
    });
    let resources: Vec<Resource<'_>> = [widget()].into_iter().chain(built_in).collect();
    assert!(resources.len() > 100, "{}", resources.len());
    let document = v3::document("Kubernetes", "v1.36.0", resources.clone());
    let printed = String::from_utf8(encode_ordered(&document)).unwrap();
    assert_eq!(printed, encode_to_string(&v3_of(resources)));
}

/// Every reference leads somewhere.
fn check_references(document: &Value) {
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(entries) => {
                if let Some(Value::String(target)) = entries.get("$ref") {
                    let pointer = target.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{target}");
                }
                open.extend(entries.values());
            }
            _ => {}
        }
    }
}

#[test]
fn documents_are_whole_and_kinds_are_found_by_group_version_and_kind() {
    let resources = vec![
        widget(),
        built_in("", "configmaps", "ConfigMap", "ConfigMapList"),
        built_in("apps", "deployments", "Deployment", "DeploymentList"),
        built_in(
            "apiextensions.k8s.io",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            "CustomResourceDefinitionList",
        ),
    ];
    let v3 = v3_of(resources.clone());
    check_references(&v3);
    let v2 = v2::document("Kubernetes", "v1.36.0", resources);
    check_references(&v2);
    let name = "io.k8s.api.apps.v1.Deployment";
    let expected = json!([{"group": "apps", "version": "v1", "kind": "Deployment"}]);
    assert_eq!(
        v3["components"]["schemas"][name]["x-kubernetes-group-version-kind"],
        expected
    );
    assert_eq!(
        v2["definitions"][name]["x-kubernetes-group-version-kind"],
        expected
    );
    let patch = &v3["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"], expected[0]);
    let parameters: Vec<&Value> = patch["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(
        parameters,
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
}

/// The message as an independent reader sees it; the same tags, told again.
mod reader {
    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Document {
        #[prost(string, tag = "1")]
        pub(crate) swagger: String,
        #[prost(message, optional, tag = "8")]
        pub(crate) paths: Option<Paths>,
        #[prost(message, optional, tag = "9")]
        pub(crate) definitions: Option<Schemas>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Paths {
        #[prost(message, repeated, tag = "2")]
        pub(crate) path: Vec<NamedPath>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct NamedPath {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Schemas {
        #[prost(message, repeated, tag = "1")]
        pub(crate) named: Vec<NamedSchema>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct NamedSchema {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
        #[prost(message, optional, tag = "2")]
        pub(crate) value: Option<Schema>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Schema {
        #[prost(string, tag = "1")]
        pub(crate) reference: String,
        #[prost(string, repeated, tag = "19")]
        pub(crate) required: Vec<String>,
        #[prost(message, optional, tag = "22")]
        pub(crate) kind: Option<Texts>,
        #[prost(message, optional, tag = "25")]
        pub(crate) properties: Option<Schemas>,
        #[prost(message, repeated, tag = "31")]
        pub(crate) extensions: Vec<NamedAny>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Texts {
        #[prost(string, repeated, tag = "1")]
        pub(crate) value: Vec<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct NamedAny {
        #[prost(string, tag = "1")]
        pub(crate) name: String,
        #[prost(message, optional, tag = "2")]
        pub(crate) value: Option<Any>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub(crate) struct Any {
        #[prost(string, tag = "2")]
        pub(crate) yaml: String,
    }
}

#[test]
fn the_message_of_version_2_says_what_its_json_says() {
    let document = v2::document("Kubernetes", "v1.36.0", vec![widget()]);
    let read = reader::Document::decode(&*gnostic::encode(&document)).unwrap();
    assert_eq!(read.swagger, "2.0");
    let paths: Vec<String> = read
        .paths
        .unwrap()
        .path
        .into_iter()
        .map(|path| path.name)
        .collect();
    let expected: Vec<String> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    assert_eq!(paths, expected);
    let definitions = read.definitions.unwrap().named;
    assert_eq!(
        definitions.len(),
        document["definitions"].as_object().unwrap().len()
    );
    let widget = definitions
        .into_iter()
        .find(|row| row.name == "io.ex.v1.Widget");
    let widget = widget.and_then(|row| row.value).unwrap();
    assert_eq!(widget.kind.unwrap().value, ["object"]);
    assert_eq!(widget.required, ["spec"]);
    let properties: Vec<String> = widget
        .properties
        .unwrap()
        .named
        .into_iter()
        .map(|row| row.name)
        .collect();
    assert_eq!(properties, ["apiVersion", "kind", "metadata", "spec"]);
    let extensions: Vec<(String, String)> = widget
        .extensions
        .into_iter()
        .map(|row| (row.name, row.value.unwrap().yaml))
        .collect();
    let kinds = "[{\"group\":\"ex.io\",\"kind\":\"Widget\",\"version\":\"v1\"}]\n";
    assert_eq!(
        extensions,
        [(
            "x-kubernetes-group-version-kind".to_owned(),
            kinds.to_owned()
        )]
    );
}
