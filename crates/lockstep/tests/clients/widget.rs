//! A custom resource for the tests.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::PostParams;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;

/// Makes the CRD; its objects are served when this returns.
pub(crate) async fn define(client: &Client) -> CustomResourceDefinition {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &crd()).await.unwrap()
}

/// The CRD.
fn crd() -> CustomResourceDefinition {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "size": {"type": "integer", "maximum": 5, "default": 1},
            "replicas": {"type": "integer"},
        }},
        "status": {"type": "object", "properties": {
            "phase": {"type": "string"},
            "replicas": {"type": "integer"},
            "selector": {"type": "string"},
        }},
    }});
    serde_json::from_value(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.ex.io"},
        "spec": {
            "group": "ex.io",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                }},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    }))
    .unwrap()
}

/// Group, version, kind and plural of widgets.
pub(crate) fn kind() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("ex.io", "v1", "Widget"))
}

/// The widgets of a namespace.
pub(crate) fn widgets(client: &Client, namespace: &str) -> Api<DynamicObject> {
    Api::namespaced_with(client.clone(), namespace, &kind())
}

/// A widget that is not stored yet.
pub(crate) fn widget(name: &str, spec: &serde_json::Value) -> DynamicObject {
    DynamicObject::new(name, &kind()).data(json!({ "spec": spec }))
}
