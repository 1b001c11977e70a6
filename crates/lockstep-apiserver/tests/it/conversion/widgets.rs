//! Widgets: a CRD with two versions, and the webhook that converts between them.

use base64::Engine as _;
use lockstep_testkit::certificates::{Pair, own_authority};
use lockstep_testkit::webhook::{Hook, Say};
use serde_json::{Value, json};

use crate::server::Setup;
use crate::world::{CRDS, World};

pub(super) const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io";
pub(super) const V1: &str = "/apis/ex.io/v1/widgets";
pub(super) const V2: &str = "/apis/ex.io/v2/widgets";

/// Widgets have a `size` in v1 and a `width` in v2, where a label says it too.
pub(super) fn crd(hook: &Hook, review: &str) -> Value {
    let version = |name: &str, field: &str, default: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "subresources": {
                "status": {},
                "scale": {
                    "specReplicasPath": format!(".spec.{field}"),
                    "statusReplicasPath": ".status.replicas",
                },
            },
            "selectableFields": [{ "jsonPath": format!(".spec.{field}") }],
            "additionalPrinterColumns": [
                { "name": field, "type": "integer", "jsonPath": format!(".spec.{field}") },
            ],
            "schema": { "openAPIV3Schema": { "type": "object", "properties": {
                "spec": { "type": "object", "properties": {
                    field: { "type": "integer", "maximum": 100 },
                    default: { "type": "string", "default": default },
                }},
                "status": { "type": "object", "properties": { "replicas": { "type": "integer" } } },
            }}},
        })
    };
    let bundle = base64::engine::general_purpose::STANDARD.encode(&hook.authority);
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Cluster",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [version("v1", "size", "one"), version("v2", "width", "two")],
            "conversion": { "strategy": "Webhook", "webhook": {
                "conversionReviewVersions": [review],
                "clientConfig": { "url": hook.url, "caBundle": bundle },
            }},
        },
    })
}

/// An honest webhook. It adds a field that no schema has.
pub(super) fn convert(review: &Value) -> Value {
    let request = &review["request"];
    let converted = request["objects"].as_array().unwrap().iter().map(|object| {
        let mut object = object.clone();
        let desired = request["desiredAPIVersion"].as_str().unwrap();
        object["apiVersion"] = desired.into();
        let (from, to) = match desired {
            "ex.io/v2" => ("size", "width"),
            _ => ("width", "size"),
        };
        let spec = object["spec"].as_object_mut().unwrap();
        let number = spec.remove(from).unwrap_or_default();
        spec.insert(to.to_owned(), number.clone());
        spec.insert("unknown".to_owned(), true.into());
        spec.remove("one");
        spec.remove("two");
        match to {
            "width" => object["metadata"]["labels"]["width"] = number.to_string().into(),
            _ => object["metadata"]["labels"] = Value::Null,
        }
        object
    });
    let converted: Vec<Value> = converted.collect();
    json!({
        "apiVersion": review["apiVersion"], "kind": "ConversionReview",
        "response": {
            "uid": request["uid"],
            "result": { "status": "Success" },
            "convertedObjects": converted,
        },
    })
}

pub(super) fn honest() -> Say {
    Box::new(|review| Some(convert(&review).into()))
}

/// A webhook whose answers are changed before they are sent.
pub(super) fn liar(lie: impl Fn(&mut Value) + Send + Sync + 'static) -> Say {
    Box::new(move |review| {
        let mut answer = convert(&review);
        lie(&mut answer["response"]);
        Some(answer.into())
    })
}

/// Starts a server with the CRD. The webhook has this certificate and this version of `ConversionReview`.
pub(super) async fn begin(pair: &Pair, review: &str) -> World {
    let hook = Hook::start(pair, honest()).await;
    let crd = crd(&hook, review);
    let mut world = World::beside(Setup::own(), hook).await;
    world.make(CRDS, &crd).await;
    world
}

pub(super) async fn usual() -> World {
    begin(&own_authority(), "v1").await
}

impl World {
    /// Makes a widget of v1.
    pub(super) async fn widget(&mut self, name: &str, size: u64) -> Value {
        self.make(V1, &widget("v1", name, "size", size)).await
    }

    /// Number of objects in each `ConversionReview` since the last call.
    pub(super) fn calls(&self) -> Vec<usize> {
        let calls = self.hook.asked().into_iter();
        let count =
            |(_, review): (_, Value)| review["request"]["objects"].as_array().unwrap().len();
        calls.map(count).collect()
    }
}

pub(super) fn widget(version: &str, name: &str, field: &str, value: u64) -> Value {
    json!({
        "apiVersion": format!("ex.io/{version}"), "kind": "Widget",
        "metadata": { "name": name }, "spec": { field: value },
    })
}

/// Fields of an object that tests compare.
pub(super) fn brief(object: &Value) -> Value {
    json!([
        object["apiVersion"],
        object["metadata"]["name"],
        object["metadata"]["labels"],
        object["spec"],
    ])
}

/// Stored in v1, with its default.
pub(super) fn in_v1(name: &str, size: u64) -> Value {
    json!(["ex.io/v1", name, null, { "size": size, "one": "one" }])
}

/// Made of v1 by the webhook, which knows nothing of the default of v2.
pub(super) fn in_v2(name: &str, width: u64) -> Value {
    json!(["ex.io/v2", name, { "width": width.to_string() }, { "width": width }])
}
