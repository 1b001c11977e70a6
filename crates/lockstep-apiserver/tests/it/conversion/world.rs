//! A server, a CRD with two versions, and the webhook that makes the one of the other.

use base64::Engine as _;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::hook::{Hook, Pair, Say, own_authority};
use crate::server::{Setup, TestServer};

pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(super) const CRD: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io";
pub(super) const V1: &str = "/apis/ex.io/v1/widgets";
pub(super) const V2: &str = "/apis/ex.io/v2/widgets";

/// Widgets have a `size` in v1 and a `width` in v2, where a label says it too.
pub(super) fn crd(hook: &Hook, pair: &Pair, review: &str) -> Value {
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
    let bundle = base64::engine::general_purpose::STANDARD.encode(&pair.authority);
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

pub(super) struct World {
    _server: TestServer,
    pub(super) client: Client,
    pub(super) hook: Hook,
}

impl World {
    pub(super) async fn begin(pair: &Pair, review: &str) -> Self {
        let hook = Hook::start(pair, honest()).await;
        let server = TestServer::with(Setup::own()).await;
        server.ready().await;
        let mut client = server.client(Some(server.admin())).await;
        let crd = crd(&hook, pair, review);
        let made = client.write("POST", CRDS, &crd).await;
        assert_eq!(made.status, 201, "{}", made.body);
        Self {
            _server: server,
            client,
            hook,
        }
    }

    pub(super) async fn usual() -> Self {
        Self::begin(&own_authority(), "v1").await
    }

    /// Makes a widget of v1.
    pub(super) async fn widget(&mut self, name: &str, size: u64) -> Value {
        let object = widget("v1", name, "size", size);
        let made = self.client.write("POST", V1, &object).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()
    }

    pub(super) async fn get(&mut self, path: &str) -> Value {
        let answer = self.client.get(path).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    pub(super) async fn patch(&mut self, path: &str, merged: &Value) -> Answer {
        let merge = [("content-type", "application/merge-patch+json")];
        let merged = merged.to_string();
        self.client.send("PATCH", path, &merge, merged).await
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
