//! Messages that the witness was given field by field, so that names and tags belong together.

use k8s_pb::api::apps::v1::{Deployment, DeploymentSpec};
use k8s_pb::api::core::v1::{
    Container, ContainerPort, EmptyDirVolumeSource, HttpGetAction, PodSpec, PodTemplateSpec, Probe,
    ProbeHandler, ResourceRequirements, Secret, Volume, VolumeSource,
};
use k8s_pb::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceValidation, Json, JsonSchemaProps, JsonSchemaPropsOrArray, JsonSchemaPropsOrBool,
};
use k8s_pb::apimachinery::pkg::api::resource::Quantity;
use k8s_pb::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions, Time};
use k8s_pb::apimachinery::pkg::util::intstr::IntOrString;
use lockstep_kinds::{Table, TypeId, proto, typed};
use prost::Message;
use serde_json::{Value, json};

/// api-machinery.md §3.2/traps
fn check(id: TypeId, message: &impl Message, expected: &Value) {
    let table = Table::builtin();
    let mut read = proto::decode(table, id, &message.encode_to_vec()).unwrap();
    let mut unknown = Vec::new();
    typed::read(table, id, &mut read, &mut unknown).unwrap();
    assert_eq!(Value::Object(read), *expected);
    assert_eq!(unknown, [""; 0]);
}

fn kind(group: &str, kind: &str) -> TypeId {
    Table::builtin().kind(group, "v1", kind).unwrap()
}

#[test]
fn pointers_keep_zero_and_other_fields_lose_it() {
    let message = Deployment {
        metadata: Some(ObjectMeta {
            name: Some("d".into()),
            namespace: Some(String::new()),
            generation: Some(0),
            creation_timestamp: Some(Time::default()),
            ..ObjectMeta::default()
        }),
        spec: Some(DeploymentSpec {
            replicas: Some(0),
            paused: Some(false),
            min_ready_seconds: Some(0),
            template: Some(PodTemplateSpec {
                spec: Some(PodSpec {
                    automount_service_account_token: Some(false),
                    host_network: Some(false),
                    node_name: Some(String::new()),
                    ..PodSpec::default()
                }),
                ..PodTemplateSpec::default()
            }),
            ..DeploymentSpec::default()
        }),
        status: None,
    };
    let expected = json!({
        "metadata": {"name": "d"},
        "spec": {
            "replicas": 0,
            "selector": null,
            "strategy": {},
            "template": {
                "metadata": {},
                "spec": {"automountServiceAccountToken": false, "containers": null}
            }
        },
        "status": {}
    });
    check(kind("apps", "Deployment"), &message, &expected);
}

#[test]
fn inlined_structs_and_special_types_have_their_json_form() {
    let port = |number, text: &str| IntOrString {
        r#type: Some(i64::from(!text.is_empty())),
        int_val: Some(number),
        str_val: Some(text.to_owned()),
    };
    let probe = |port| Probe {
        handler: Some(ProbeHandler {
            http_get: Some(HttpGetAction {
                port: Some(port),
                ..HttpGetAction::default()
            }),
            ..ProbeHandler::default()
        }),
        ..Probe::default()
    };
    let message = PodSpec {
        volumes: vec![Volume {
            name: Some("v".into()),
            volume_source: Some(VolumeSource {
                empty_dir: Some(EmptyDirVolumeSource {
                    size_limit: Some(Quantity {
                        string: Some("0.5".into()),
                    }),
                    ..EmptyDirVolumeSource::default()
                }),
                ..VolumeSource::default()
            }),
        }],
        containers: vec![Container {
            name: Some("c".into()),
            ports: vec![ContainerPort {
                container_port: Some(80),
                ..ContainerPort::default()
            }],
            resources: Some(ResourceRequirements {
                limits: [(
                    "cpu".to_owned(),
                    Quantity {
                        string: Some("1000m".into()),
                    },
                )]
                .into(),
                ..ResourceRequirements::default()
            }),
            liveness_probe: Some(probe(port(8080, ""))),
            readiness_probe: Some(probe(port(0, "http"))),
            ..Container::default()
        }],
        ..PodSpec::default()
    };
    let expected = json!({
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "500m"}}],
        "containers": [{
            "name": "c",
            "ports": [{"containerPort": 80}],
            "resources": {"limits": {"cpu": "1"}},
            "livenessProbe": {"httpGet": {"port": 8080}},
            "readinessProbe": {"httpGet": {"port": "http"}}
        }]
    });
    let spec = Table::builtin()
        .published("io.k8s.api.core.v1.PodSpec")
        .unwrap();
    check(spec, &message, &expected);
}

#[test]
fn bytes_are_base64_and_times_are_texts() {
    let message = Secret {
        metadata: Some(ObjectMeta {
            deletion_timestamp: Some(Time {
                seconds: Some(1_794_000_000),
                nanos: Some(5),
            }),
            ..ObjectMeta::default()
        }),
        data: [("k".to_owned(), vec![0, 255])].into(),
        r#type: Some("Opaque".into()),
        ..Secret::default()
    };
    let expected = json!({
        "metadata": {"deletionTimestamp": "2026-11-06T21:20:00Z"},
        "data": {"k": "AP8="},
        "type": "Opaque"
    });
    check(kind("", "Secret"), &message, &expected);
}

#[test]
fn schemas_of_schemas_are_what_json_says() {
    let inner = JsonSchemaProps {
        r#type: Some("string".into()),
        ..JsonSchemaProps::default()
    };
    let message = CustomResourceValidation {
        open_apiv3_schema: Some(JsonSchemaProps {
            r#type: Some("array".into()),
            default: Some(Json {
                raw: Some(b"[1.0]".to_vec()),
            }),
            maximum: Some(5.0),
            minimum: Some(0.25),
            items: Some(Box::new(JsonSchemaPropsOrArray {
                schema: Some(Box::new(inner.clone())),
                j_son_schemas: Vec::new(),
            })),
            additional_properties: Some(Box::new(JsonSchemaPropsOrBool {
                allows: Some(false),
                schema: None,
            })),
            additional_items: Some(Box::new(JsonSchemaPropsOrBool {
                allows: Some(true),
                schema: Some(Box::new(inner)),
            })),
            ..JsonSchemaProps::default()
        }),
    };
    let expected = json!({"openAPIV3Schema": {
        "type": "array",
        "default": [1],
        "maximum": 5,
        "minimum": 0.25,
        "items": {"type": "string"},
        "additionalProperties": false,
        "additionalItems": {"type": "string"}
    }});
    let name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceValidation";
    check(
        Table::builtin().published(name).unwrap(),
        &message,
        &expected,
    );
}

#[test]
fn options_of_a_delete_are_a_kind_like_others() {
    let message = DeleteOptions {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions {
            uid: Some("u".into()),
            resource_version: None,
        }),
        propagation_policy: Some("Orphan".into()),
        dry_run: vec!["All".into()],
        ..DeleteOptions::default()
    };
    let expected = json!({
        "gracePeriodSeconds": 0,
        "preconditions": {"uid": "u"},
        "propagationPolicy": "Orphan",
        "dryRun": ["All"]
    });
    check(kind("", "DeleteOptions"), &message, &expected);
}
