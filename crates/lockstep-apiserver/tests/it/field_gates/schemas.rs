//! Schemas with closed gates: required fields, and gates in embedded resources.

use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::gated::{causes, gated, of_gates};
use crate::world::World;

const OBJECTS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";
const KEY: &str = "stable.example.com/crontabs/default/c";

/// The CRD of the edge rows with a gate, and more in the schema of its spec.
fn crd(gates: &[&str], more: &Value) -> Value {
    let mut crd = definition(&json!({"gates": gates}), Moment::Now);
    let schema = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    lockstep_merge::merge_patch(&mut schema["properties"]["spec"], more);
    crd
}

async fn make(world: &mut World, spec: &Value) -> Answer {
    let made = object("v1", spec, &Value::Null);
    world.client.write("POST", OBJECTS, &made).await
}

/// field-gates.md §5/D15: a gated field is not required while its gate is closed, also in `allOf`; others remain so.
/// field-gates.md §6/later-failure: a response with validation errors also warns of dropped fields.
#[tokio::test]
async fn what_is_required_is_relieved_also_in_what_holds_together() {
    let mut world = gated().await;
    let all_of =
        json!({"allOf": [{"required": ["replicas"]}, {"allOf": [{"required": ["replicas"]}]}]});
    assert_eq!(world.define(&crd(&["R-"], &all_of)).await.status, 201);
    let answer = make(&mut world, &json!({"image": "a"})).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let path = format!("{OBJECTS}/c");
    assert_eq!(
        world.client.send("DELETE", &path, &[], "").await.status,
        200
    );
    assert_eq!(world.define(&crd(&["R+"], &all_of)).await.status, 200);
    let answer = make(&mut world, &json!({"image": "a"})).await;
    assert_eq!(answer.status, 422, "{}", answer.body);
    assert_eq!(causes(&answer)[0], "spec.replicas: Required value");

    for asked in [
        json!({"anyOf": [{"required": ["replicas"]}, {"required": ["mode"]}]}),
        json!({"oneOf": [{"required": ["replicas"]}, {"required": ["mode"]}]}),
        json!({"not": {"required": ["image"]}}),
        json!({"minProperties": 2}),
    ] {
        assert_eq!(world.define(&crd(&["R-"], &asked)).await.status, 200);
        let answer = make(&mut world, &json!({"image": "a", "replicas": 3})).await;
        // The warning explains the difference between the object that was sent and the one that was validated.
        assert_eq!(
            (answer.status.as_u16(), of_gates(&answer)),
            (
                422,
                vec!["spec.replicas: dropped: feature gate istio/R (alpha) is disabled".to_owned()]
            ),
            "{asked}"
        );
    }
}

/// field-gates.md §5/D23: an embedded resource has a type and metadata that cannot be gated; its other fields can.
#[tokio::test]
async fn fields_of_embedded_resources_are_gated_and_their_metadata_is_not() {
    let mut world = gated().await;
    let inner = json!({"properties": {"inner": {
        "type": "object", "x-kubernetes-embedded-resource": true,
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }}});
    let gated = |path: &str, is_open: bool| {
        let mut crd = crd(&["R-"], &inner);
        let gate = &mut crd["spec"]["customFeatureGates"]["featureGates"][0];
        gate["fieldPaths"] = json!([path]);
        gate["enabled"] = is_open.into();
        crd
    };
    for path in [
        ".spec.inner.apiVersion",
        ".spec.inner.kind",
        ".spec.inner.metadata.labels",
    ] {
        let answer = world.define(&gated(path, false)).await;
        let expected = format!(
            "spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value: {path:?}: must not point to \
             apiVersion, kind or metadata"
        );
        assert_eq!(causes(&answer), [expected]);
    }
    assert_eq!(
        world
            .define(&gated(".spec.inner.spec.size", true))
            .await
            .status,
        201
    );
    let embedded = |spec: Value| json!({"inner": {"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec}});
    let answer = make(&mut world, &embedded(json!({"size": 3}))).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert_eq!(
        world
            .define(&gated(".spec.inner.spec.size", false))
            .await
            .status,
        200
    );
    let mut next = answer.json();
    next["spec"] = embedded(json!({"size": 5}));
    next["spec"]["inner"]["metadata"]["name"] = "other".into();
    let answer = world
        .client
        .write("PUT", &format!("{OBJECTS}/c"), &next)
        .await;
    assert_eq!(
        of_gates(&answer),
        [
            "spec.inner.spec.size: not updated: feature gate istio/R (alpha) is disabled, the stored value was kept"
        ]
    );
    let mut expected = embedded(json!({"size": 3}));
    expected["inner"]["metadata"]["name"] = "other".into();
    assert_eq!(world.stored(KEY).await.unwrap().0["spec"], expected);
}
