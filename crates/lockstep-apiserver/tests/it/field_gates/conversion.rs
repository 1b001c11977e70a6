//! Gates of a CRD whose versions a webhook makes of each other: gates count in the version that is stored.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_testkit::client::Answer;
use lockstep_testkit::webhook::{Hook, Say};
use serde_json::{Value, json};

use super::gated::{gated, of_gates, owners};
use crate::world::{Sent, World};

pub(super) const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];
const V1: &str = "/apis/ex.io/v1/namespaces/default/widgets";
const V2: &str = "/apis/ex.io/v2/namespaces/default/widgets";
const KEY: &str = "ex.io/widgets/default/w";
pub(super) const KEPT: &str =
    "spec.replicas: not updated: feature gate R (alpha) is disabled, the stored value was kept";
const NOT_REMOVED: &str =
    "spec.replicas: not removed: feature gate R (alpha) is disabled, the stored value was kept";
const DROPPED: &str = "spec.replicas: dropped: feature gate R (alpha) is disabled";

/// Conversion of the number that v1 calls `replicas`, v2 `count` and v3 `total`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Webhook {
    /// No webhook (strategy `None`): it is called `replicas` in all versions.
    Absent,
    /// It gets its other name.
    Renames,
    /// v2 cannot say it.
    Loses,
    /// It gets its other name, or 1 where there is none.
    FillsIn,
    /// It gets its other name; objects without it are refused.
    Insists,
    /// It gets its other name. A label says the version, and objects of v2 have an annotation.
    Labels,
}

impl Webhook {
    fn says(self) -> Say {
        Box::new(move |review| {
            let request = &review["request"];
            let desired = request["desiredAPIVersion"].as_str().unwrap();
            let objects = request["objects"].as_array().unwrap().iter();
            let converted = objects.map(|object| self.convert(object, desired));
            let response = match converted.collect::<Option<Vec<_>>>() {
                Some(converted) => json!({
                    "uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted,
                }),
                None => json!({
                    "uid": request["uid"], "result": {"status": "Failure", "message": "no number"},
                }),
            };
            let review = json!({
                "apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response,
            });
            Some(review.into())
        })
    }

    /// Name of the number in a version.
    pub(super) fn number(self, version: &str) -> &'static str {
        match version {
            _ if self == Self::Absent => "replicas",
            "v1" | "ex.io/v1" => "replicas",
            "v2" | "ex.io/v2" => "count",
            _ => "total",
        }
    }

    fn convert(self, object: &Value, desired: &str) -> Option<Value> {
        let mut object = object.clone();
        let from = self.number(object["apiVersion"].as_str().unwrap());
        object["apiVersion"] = desired.into();
        if self == Self::Labels {
            let version = desired.rsplit('/').next();
            object["metadata"]["labels"] = json!({"version": version});
            object["metadata"]["annotations"] = json!({"second": "yes"});
            if desired == "ex.io/v1" {
                object["metadata"].as_object_mut()?.remove("annotations");
            }
        }
        let Some(spec) = object["spec"].as_object_mut() else {
            return (self != Self::Insists).then_some(object);
        };
        let number = match (spec.remove(from), self) {
            (_, Self::Loses) => None,
            (None, Self::FillsIn) => Some(json!(1)),
            (None, Self::Insists) => return None,
            (number, _) => number,
        };
        if let Some(number) = number {
            spec.insert(self.number(desired).to_owned(), number);
        }
        Some(object)
    }
}

/// A server with the CRD and its webhook.
pub(super) struct Converting {
    pub(super) world: World,
    pub(super) hook: Hook,
    crd: Value,
}

impl Converting {
    pub(super) async fn begin(webhook: Webhook) -> Self {
        let hook = Hook::new(webhook.says()).await;
        let version = |name: &str| {
            let whole = json!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {
                "baz": {"type": "integer"}, "qux": {"type": "integer"},
            }});
            let spec = json!({"type": "object", "properties": {
                webhook.number(name): {"type": "integer"}, "image": {"type": "string"}, "foo": whole,
            }});
            json!({
                "name": name, "served": true, "storage": name == "v1",
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
            })
        };
        let config = json!({"url": hook.url, "caBundle": STANDARD.encode(&hook.authority)});
        let conversion = match webhook {
            Webhook::Absent => json!({"strategy": "None"}),
            _ => json!({"strategy": "Webhook", "webhook": {
                "conversionReviewVersions": ["v1"], "clientConfig": config,
            }}),
        };
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.ex.io"},
            "spec": {
                "group": "ex.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                "versions": VERSIONS.map(version), "conversion": conversion,
            },
        });
        let world = gated().await;
        Self { world, hook, crd }
    }

    /// Opens or closes the gates of the number, and of a part of a map that is one value.
    pub(super) async fn gate(&mut self, is_open: bool) {
        self.crd["spec"]["customFeatureGates"] = json!({"featureGates": [
            {"name": "R", "preRelease": "alpha", "enabled": is_open, "fieldPaths": [".spec.replicas"]},
            {"name": "Q", "preRelease": "alpha", "enabled": is_open, "fieldPaths": [".spec.foo.qux"]},
        ]});
        let answer = self.world.define(&self.crd).await;
        assert!(answer.status.is_success(), "{}", answer.body);
    }

    /// Whether the gates are open.
    pub(super) fn is_open(&self) -> bool {
        self.crd["spec"]["customFeatureGates"]["featureGates"][0]["enabled"] == true
    }

    /// Stores an object with the field while its gate is open, and closes the gate.
    async fn with_frozen_field(webhook: Webhook) -> Self {
        let mut converting = Self::begin(webhook).await;
        converting.gate(true).await;
        let made = widget("v1", &json!({"image": "a", "replicas": 3}));
        let answer = converting.world.client.write("POST", V1, &made).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        converting.gate(false).await;
        converting
    }

    async fn put(&mut self, spec: &Value) -> Answer {
        let path = format!("{V2}/w");
        let mut next = widget("v2", spec);
        let present = self.world.client.get(&path).await.json();
        next["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
        self.world.client.write("PUT", &path, &next).await
    }

    /// The stored version, spec and generation.
    async fn stored(&self) -> (Value, Value, Value) {
        let (stored, _) = self.world.stored(KEY).await.unwrap();
        let generation = stored["metadata"]["generation"].clone();
        (
            stored["apiVersion"].clone(),
            stored["spec"].clone(),
            generation,
        )
    }
}

pub(super) fn widget(version: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("ex.io/{version}"), "kind": "Widget", "metadata": {"name": "w"}, "spec": spec,
    })
}

fn in_v1(spec: Value, generation: u64) -> (Value, Value, Value) {
    ("ex.io/v1".into(), spec, generation.into())
}

/// field-gates.md §9/conversion, field-gates.md §0/T1: the path is one of v1, and the request of v2.
#[tokio::test]
async fn a_create_in_another_version_loses_what_the_stored_one_gates() {
    let mut converting = Converting::begin(Webhook::Renames).await;
    converting.gate(false).await;
    let made = widget("v2", &json!({"image": "a", "count": 3}));
    let answer = converting.world.client.write("POST", V2, &made).await;
    assert_eq!(
        (
            answer.status.as_u16(),
            of_gates(&answer),
            &answer.json()["spec"]
        ),
        (201, vec![DROPPED.to_owned()], &json!({"image": "a"}))
    );
    assert_eq!(converting.stored().await, in_v1(json!({"image": "a"}), 1));
}

/// field-gates.md §9/conversion: puts, patches and applies of v2 against a value that is frozen in v1.
#[tokio::test]
async fn a_frozen_value_survives_writes_of_another_version() {
    let mut converting = Converting::with_frozen_field(Webhook::Renames).await;
    let (_, revision) = converting.world.stored(KEY).await.unwrap();
    let answer = converting.put(&json!({"image": "a", "count": 5})).await;
    assert_eq!(
        (of_gates(&answer), &answer.json()["spec"]),
        (vec![KEPT.to_owned()], &json!({"image": "a", "count": 3}))
    );
    let answer = converting.put(&json!({"image": "a"})).await;
    assert_eq!(of_gates(&answer), [NOT_REMOVED]);
    let (_, after) = converting.world.stored(KEY).await.unwrap();
    assert_eq!(after, revision, "nothing was written");

    let answer = converting.put(&json!({"image": "b", "count": 5})).await;
    assert_eq!(of_gates(&answer), [KEPT]);
    assert_eq!(
        converting.stored().await,
        in_v1(json!({"image": "b", "replicas": 3}), 2)
    );
    for (media_type, body) in [
        (
            "application/merge-patch+json",
            json!({"spec": {"count": null, "image": "c"}}),
        ),
        (
            "application/json-patch+json",
            json!([
                {"op": "remove", "path": "/spec/count"}, {"op": "replace", "path": "/spec/image", "value": "d"},
            ]),
        ),
    ] {
        let path = format!("{V2}/w");
        let answer = converting
            .world
            .send(
                Sent {
                    method: "PATCH",
                    path,
                    media_type,
                },
                &body,
            )
            .await;
        assert_eq!(
            (answer.status.as_u16(), of_gates(&answer)),
            (200, vec![NOT_REMOVED.to_owned()])
        );
    }
    assert_eq!(
        converting.stored().await,
        in_v1(json!({"image": "d", "replicas": 3}), 4)
    );

    // Once the gate is open, the field still has its earlier owner.
    converting.gate(true).await;
    let answer = converting.put(&json!({"image": "d", "count": 6})).await;
    assert_eq!(of_gates(&answer), [""; 0]);
    assert_eq!(
        converting.stored().await,
        in_v1(json!({"image": "d", "replicas": 6}), 5)
    );
}

/// field-gates.md §5/D12: applying another value in v2, by force or not, changes no owner of a frozen field.
#[tokio::test]
async fn an_apply_in_another_version_gains_nothing_that_is_frozen() {
    let mut converting = Converting::begin(Webhook::Renames).await;
    converting.gate(true).await;
    let apply = |version: &str, manager: &str, query: &str| Sent {
        method: "PATCH",
        path: format!(
            "/apis/ex.io/{version}/namespaces/default/widgets/w?fieldManager={manager}{query}"
        ),
        media_type: "application/apply-patch+yaml",
    };
    let wish = widget("v1", &json!({"replicas": 3}));
    let answer = converting.world.send(apply("v1", "alice", ""), &wish).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    converting.gate(false).await;
    let (before, _) = converting.world.stored(KEY).await.unwrap();
    for query in ["", "&force=true"] {
        let wish = widget("v2", &json!({"count": 5}));
        let answer = converting
            .world
            .send(apply("v2", "bob", query), &wish)
            .await;
        assert_eq!(
            (answer.status.as_u16(), of_gates(&answer)),
            (200, vec![KEPT.to_owned()]),
            "{}",
            answer.body
        );
        assert_eq!(converting.world.stored(KEY).await.unwrap().0, before);
    }
    // Other fields get owners as usual.
    let wish = widget("v2", &json!({"image": "b", "count": 5}));
    let answer = converting.world.send(apply("v2", "bob", ""), &wish).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let (after, _) = converting.world.stored(KEY).await.unwrap();
    assert_eq!(
        (owners(&after), &after["spec"]),
        (
            json!({"alice": ["replicas"], "bob": ["image"]}),
            &json!({"image": "b", "replicas": 3})
        )
    );
}

/// field-gates.md §5/D16: a frozen field that the version of a request does not have is kept without a warning.
#[tokio::test]
async fn what_a_version_cannot_say_is_kept_in_silence() {
    let mut converting = Converting::with_frozen_field(Webhook::Loses).await;
    let answer = converting.put(&json!({"image": "b"})).await;
    assert_eq!(
        (answer.status.as_u16(), of_gates(&answer)),
        (200, Vec::new())
    );
    assert_eq!(
        converting.stored().await.1,
        json!({"image": "b", "replicas": 3})
    );
}

/// field-gates.md §9/conversion: a gated field that a conversion webhook adds is dropped, with a warning.
#[tokio::test]
async fn what_a_webhook_adds_of_its_own_is_dropped() {
    let mut converting = Converting::begin(Webhook::FillsIn).await;
    converting.gate(false).await;
    let made = widget("v2", &json!({"image": "a"}));
    let answer = converting.world.client.write("POST", V2, &made).await;
    assert_eq!(
        (answer.status.as_u16(), of_gates(&answer)),
        (201, vec![DROPPED.to_owned()])
    );
    assert_eq!(converting.stored().await, in_v1(json!({"image": "a"}), 1));
}

/// field-gates.md §9/conversion: labels and annotations are stored as the webhook made them for the stored version, also if a
/// gate changed the object.
#[tokio::test]
async fn labels_that_a_webhook_converts_are_stored_with_a_gated_object() {
    let mut converting = Converting::begin(Webhook::Labels).await;
    for (is_open, spec) in [
        (true, json!({"image": "a", "replicas": 3})),
        (false, json!({"image": "a"})),
    ] {
        converting.gate(is_open).await;
        let mut made = widget("v2", &json!({"image": "a", "count": 3}));
        made["metadata"]["labels"] = json!({"version": "v2"});
        made["metadata"]["annotations"] = json!({"second": "yes"});
        let made = converting.world.make(V2, &made).await;
        let of = |object: &Value| {
            let metadata = &object["metadata"];
            (metadata["labels"].clone(), metadata["annotations"].clone())
        };
        let in_v2 = (json!({"version": "v2"}), json!({"second": "yes"}));
        assert_eq!(of(&made), in_v2, "open: {is_open}");
        let (stored, _) = converting.world.stored(KEY).await.unwrap();
        let in_v1 = (json!({"version": "v1"}), Value::Null);
        assert_eq!(
            (of(&stored), &stored["spec"]),
            (in_v1, &spec),
            "open: {is_open}"
        );
        let gone = converting
            .world
            .client
            .send("DELETE", &format!("{V2}/w"), &[], "")
            .await;
        assert_eq!(gone.status, 200, "{}", gone.body);
    }
}

/// field-gates.md §9/conversion: a webhook that fails refuses the write, and what is stored stays.
#[tokio::test]
async fn a_webhook_that_fails_stores_nothing() {
    let mut converting = Converting::with_frozen_field(Webhook::Renames).await;
    let before = converting.world.stored(KEY).await;
    let present = converting.world.client.get(&format!("{V2}/w")).await.json();
    converting.hook.now_says(Box::new(|review| {
        let response = json!({
            "uid": review["request"]["uid"], "result": {"status": "Failure", "message": "no"},
        });
        let review = json!({
            "apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response,
        });
        Some(review.into())
    }));
    let answer = converting
        .world
        .client
        .write("PUT", &format!("{V2}/w"), &present)
        .await;
    assert_eq!(answer.status, 500, "{}", answer.body);
    assert_eq!(converting.world.stored(KEY).await, before);
}
