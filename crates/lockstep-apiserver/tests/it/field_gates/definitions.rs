//! CRDs with gates: validation, warnings, and the time from which gates are in force.

use lockstep_testkit::client::Answer;
use lockstep_testkit::wait::eventually;
use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::gated::{ON, causes, gated, of_gates, warnings};
use crate::server::Setup;
use crate::world::{CRDS, Sent, World};

const CRD: &str = "crontabs.stable.example.com";
const OBJECTS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";
const KEY: &str = "stable.example.com/crontabs/default/c";
const CRD_KEY: &str = "apiextensions.k8s.io/customresourcedefinitions/crontabs.stable.example.com";

/// The CRD of the edge rows with gates in a state: `R-`.
fn crd(gates: &[&str]) -> Value {
    definition(&json!({"gates": gates}), Moment::Now)
}

fn with_gates(gates: Value) -> Value {
    let mut crd = crd(&[]);
    crd["spec"]["customFeatureGates"] = gates;
    crd
}

fn gate(name: &str, stage: &str, path: &str) -> Value {
    json!({"name": name, "preRelease": stage, "fieldPaths": [path]})
}

impl World {
    async fn make_crontab(&mut self, spec: &Value) -> Answer {
        let body = object("v1", spec, &Value::Null);
        self.client.write("POST", OBJECTS, &body).await
    }

    async fn patch_as(&mut self, path: &str, media_type: &str, change: &Value) -> Answer {
        let sent = Sent {
            method: "PATCH",
            path: path.to_owned(),
            media_type,
        };
        self.send(sent, change).await
    }

    async fn spec(&self) -> Value {
        self.stored(KEY).await.unwrap().0["spec"].clone()
    }

    /// The status of the CRD, once the server has written what it says about a generation.
    async fn status_at(&mut self, generation: u64) -> Value {
        let is_observed =
            |answer: &Answer| answer.json()["status"]["observedGeneration"] == generation;
        let path = format!("{CRDS}/{CRD}");
        let crd = self.client.get_until(&path, is_observed).await;
        crd.json()["status"].clone()
    }
}

fn valid(status: &Value) -> Value {
    let conditions = status["conditions"].as_array().unwrap();
    let found = conditions
        .iter()
        .find(|condition| condition["type"] == "FieldGatesValid");
    let mut found = found.cloned().unwrap_or_default();
    if let Some(found) = found.as_object_mut() {
        found.remove("lastTransitionTime");
    }
    found
}

/// field-gates.md §7/at-once.
#[tokio::test]
async fn a_crd_with_wrong_gates_is_refused_with_all_causes() {
    let mut world = gated().await;
    let mut wrong = gate("B", "GA", ".spec.jobs[0]");
    wrong["default"] = true.into();
    let gates = json!({"featureGates": [gate("A", "alpha", ".spec.lost"), wrong, gate("A", "beta", ".kind")]});
    let answer = world.define(&with_gates(gates)).await;
    assert_eq!(answer.status, 422);
    assert_eq!(
        causes(&answer),
        [
            "spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value: \".spec.lost\": does not refer to a \
             field of the schema of storage version v1",
            "spec.customFeatureGates.featureGates[1].preRelease: Unsupported value: \"GA\": supported values: \"alpha\", \
             \"beta\", \"deprecated\", \"stable\"",
            "spec.customFeatureGates.featureGates[1].fieldPaths[0]: Invalid value: \".spec.jobs[0]\": numeric list \
             indexes are not supported; use [*]",
            "spec.customFeatureGates.featureGates[2].name: Duplicate value: \"A\"",
            "spec.customFeatureGates.featureGates[2].fieldPaths[0]: Invalid value: \".kind\": must not point to \
             apiVersion, kind or metadata",
        ]
    );
}

/// field-gates.md §9/pruning: a property that a gate names cannot be deleted.
#[tokio::test]
async fn a_field_stays_in_the_schema_as_long_as_it_is_gated() {
    let mut world = gated().await;
    assert_eq!(world.define(&crd(&["R-"])).await.status, 201);
    let mut without = crd(&["R-"]);
    let schema = &mut without["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    let spec = schema["properties"]["spec"]["properties"]
        .as_object_mut()
        .unwrap();
    spec.remove("replicas");
    let answer = world.define(&without).await;
    assert_eq!(
        causes(&answer),
        [
            "spec.customFeatureGates.featureGates[0].fieldPaths[0]: Invalid value: \".spec.replicas\": does not refer to \
             a field of the schema of storage version v1"
        ]
    );
}

/// field-gates.md §6/CW1, field-gates.md §6/CW2, field-gates.md §6/CW3 and field-gates.md §6/CW6.
#[tokio::test]
async fn whoever_writes_a_crd_is_warned() {
    let mut world = gated().await;
    assert_eq!(world.define(&crd(&["R-", "Q-"])).await.status, 201);
    let mut stable = gate("R", "stable", ".spec.replicas");
    stable["enabled"] = false.into();
    let answer = world
        .define(&with_gates(json!({"featureGates": [stable]})))
        .await;
    assert_eq!(
        (answer.status.as_u16(), warnings(&answer)),
        (
            200,
            vec![
                "spec.customFeatureGates.featureGates[0].enabled: ignored: gate \"R\" is stable and always enabled".to_owned(),
                "spec.customFeatureGates: gate \"Q\" (alpha, disabled) is gone: .spec.foo.qux is no longer gated".to_owned(),
            ]
        )
    );
    let back = gate("R", "beta", ".spec.replicas");
    let answer = world
        .define(&with_gates(json!({"featureGates": [back]})))
        .await;
    assert_eq!(
        warnings(&answer),
        [
            "spec.customFeatureGates.featureGates[0].enabled: false, set by \"unknown\", is removed: gate \"R\" is enabled \
             by default",
            "spec.customFeatureGates.featureGates[0].preRelease: gate \"R\" went from stable back to beta"
        ]
    );
}

/// field-gates.md §1/status and field-gates.md §11/condition: the status lists the gates and their states.
#[tokio::test]
async fn the_status_tells_which_gates_are_open() {
    let mut world = gated().await;
    let mut open = gate("A", "alpha", ".spec.replicas");
    open["enabled"] = true.into();
    let gates = json!({"featureGates": [open, gate("B", "beta", ".spec.mode"), gate("C", "alpha", ".spec.foo")]});
    assert_eq!(world.define(&with_gates(gates)).await.status, 201);
    let status = world.status_at(1).await;
    assert_eq!(
        status["customFeatureGates"],
        json!([
            {"name": "A", "enabled": true, "rule": "enabled"},
            {"name": "B", "enabled": true, "rule": "stage"},
            {"name": "C", "enabled": false, "rule": "stage"},
        ])
    );
    assert_eq!(
        valid(&status),
        json!({
            "type": "FieldGatesValid", "status": "True", "reason": "Valid", "observedGeneration": 1,
            "message": "all field gates refer to fields of the schema",
        })
    );
    assert_eq!(world.define(&crd(&[])).await.status, 200);
    let is_ungated = |answer: &Answer| answer.json()["status"].get("customFeatureGates").is_none();
    let path = format!("{CRDS}/{CRD}");
    let crd = world.client.get_until(&path, is_ungated).await.json();
    assert_eq!(valid(&crd["status"]), Value::Null);
}

/// field-gates.md §7/ratcheting: a stored gate that has become invalid has no effect, and updates may keep it.
#[tokio::test]
async fn a_crd_that_became_wrong_keeps_working() {
    let mut world = gated().await;
    assert_eq!(world.define(&crd(&["R-", "Q-"])).await.status, 201);
    world.status_at(1).await;
    let (mut stored, _) = world.stored(CRD_KEY).await.unwrap();
    stored["spec"]["customFeatureGates"]["featureGates"][1]["fieldPaths"] = json!([".spec.gone"]);
    stored["metadata"]["generation"] = 2.into();
    world.plant(CRD_KEY, Some(&stored)).await;
    let status = world.status_at(2).await;
    assert_eq!(
        valid(&status),
        json!({
            "type": "FieldGatesValid", "status": "False", "reason": "Invalid", "observedGeneration": 2,
            "message": "spec.customFeatureGates.featureGates[1].fieldPaths[0]: Invalid value: \".spec.gone\": does not \
                        refer to a field of the schema of storage version v1",
        })
    );
    let answer = world
        .make_crontab(&json!({"replicas": 1, "foo": {"qux": 2}}))
        .await;
    assert_eq!(
        (answer.status.as_u16(), world.spec().await),
        (201, json!({"foo": {"qux": 2}}))
    );
    let path = format!("{CRDS}/{CRD}");
    let answer = world
        .patch(&path, &json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let enable = json!([{"op": "replace", "path": "/spec/customFeatureGates/featureGates/0/enabled", "value": true}]);
    let answer = world
        .patch_as(&path, "application/json-patch+json", &enable)
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Story 1 of the proposal: an admin patches a gate by its index; field-gates.md §3/snapshot: the next request sees it.
#[tokio::test]
async fn a_gate_that_is_switched_counts_for_the_next_request() {
    let mut world = gated().await;
    assert_eq!(world.define(&crd(&["R-"])).await.status, 201);
    assert_eq!(world.make_crontab(&json!({"image": "a"})).await.status, 201);
    let path = format!("{CRDS}/{CRD}");
    for round in 1..8 {
        let is_open = round % 2 == 1;
        let switch = json!([
            {"op": "replace", "path": "/spec/customFeatureGates/featureGates/0/enabled", "value": is_open},
        ]);
        let answer = world
            .patch_as(&path, "application/json-patch+json", &switch)
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let before = world.spec().await["replicas"].clone();
        let answer = world
            .patch(
                &format!("{OBJECTS}/c"),
                &json!({"spec": {"replicas": round}}),
            )
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let expected = if is_open { json!(round) } else { before };
        assert_eq!(world.spec().await["replicas"], expected, "round {round}");
        assert_eq!(of_gates(&answer).is_empty(), is_open);
    }
}

/// Scenario 1 of the proposal, field-gates.md §1/list and field-gates.md §9/author-and-admin: a gate that an admin
/// enabled survives the next apply of the author.
#[tokio::test]
async fn author_and_admin_apply_without_taking_from_each_other() {
    let mut world = gated().await;
    let path = |manager: &str| format!("{CRDS}/{CRD}?fieldManager={manager}");
    let mut authored = crd(&["R-"]);
    let authors = &mut authored["spec"]["customFeatureGates"]["featureGates"][0];
    authors.as_object_mut().unwrap().remove("enabled");
    let apply = "application/apply-patch+yaml";
    let answer = world.patch_as(&path("author"), apply, &authored).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let wish = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": CRD},
        "spec": {"customFeatureGates": {"featureGates": [{"name": "R", "enabled": true}]}},
    });
    let answer = world.patch_as(&path("admin"), apply, &wish).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    authored["spec"]["customFeatureGates"]["featureGates"][0]["preRelease"] = "beta".into();
    let answer = world.patch_as(&path("author"), apply, &authored).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.json()["spec"]["customFeatureGates"]["featureGates"],
        json!([{"name": "R", "preRelease": "beta", "enabled": true, "fieldPaths": [".spec.replicas"]}])
    );
}

/// field-gates.md §13/X1.
#[tokio::test]
async fn a_definition_may_ask_for_refusals() {
    let mut world = gated().await;
    let mut refusing = crd(&["R-"]);
    refusing["spec"]["customFeatureGates"]["disabledFieldPolicy"] = "Reject".into();
    assert_eq!(world.define(&refusing).await.status, 201);
    let answer = world
        .make_crontab(&json!({"replicas": 3, "image": 4}))
        .await;
    assert_eq!(answer.status, 422);
    assert_eq!(
        causes(&answer),
        [
            "spec.replicas: Forbidden: feature gate istio/R (alpha) is disabled",
            "spec.image: Invalid value: \"integer\": spec.image in body must be of type string: \"integer\"",
        ]
    );
    assert_eq!(world.make_crontab(&json!({"image": "a"})).await.status, 201);
    let mut open = refusing.clone();
    open["spec"]["customFeatureGates"]["featureGates"][0]["enabled"] = true.into();
    assert_eq!(world.define(&open).await.status, 200);
    let path = format!("{OBJECTS}/c");
    assert_eq!(
        world
            .patch(&path, &json!({"spec": {"replicas": 3}}))
            .await
            .status,
        200
    );
    assert_eq!(world.define(&refusing).await.status, 200);
    let answer = world.patch(&path, &json!({"spec": {"replicas": 4}})).await;
    assert_eq!(
        causes(&answer),
        ["spec.replicas: Forbidden: feature gate istio/R (alpha) is disabled"]
    );
    let answer = world
        .patch(&path, &json!({"spec": {"replicas": null}}))
        .await;
    assert_eq!(
        (answer.status.as_u16(), of_gates(&answer)),
        (
            200,
            vec![
                "spec.replicas: not removed: feature gate istio/R (alpha) is disabled, the stored value was kept".to_owned()
            ]
        )
    );
}

/// field-gates.md §13/X2 and field-gates.md §0/T6.
#[tokio::test]
async fn gates_may_stand_in_an_annotation() {
    let mut world = gated().await;
    let mut annotated = crd(&[]);
    let gates = json!({"featureGates": [gate("A", "alpha", ".spec.replicas")]}).to_string();
    annotated["metadata"]["annotations"] = json!({"lockstep.dev/custom-feature-gates": gates});
    assert_eq!(world.define(&annotated).await.status, 201);
    let answer = world.make_crontab(&json!({"replicas": 3})).await;
    assert_eq!(
        (of_gates(&answer), world.spec().await),
        (
            vec!["spec.replicas: dropped: feature gate A (alpha) is disabled".to_owned()],
            json!({})
        )
    );
    let bad = json!({"metadata": {"annotations": {"lockstep.dev/custom-feature-gates": "{}"}}});
    let answer = world.patch(&format!("{CRDS}/{CRD}"), &bad).await;
    assert_eq!(
        causes(&answer),
        [
            "metadata.annotations[lockstep.dev/custom-feature-gates].featureGates: Required value: must list at least one \
             gate"
        ]
    );
}

/// field-gates.md §1/protobuf: messages have no place for gates.
#[tokio::test]
async fn a_crd_that_comes_as_a_message_keeps_its_gates() {
    const MESSAGE: &str = "application/vnd.kubernetes.protobuf";
    let mut world = gated().await;
    assert_eq!(world.define(&crd(&["R-"])).await.status, 201);
    world.status_at(1).await;
    let path = format!("{CRDS}/{CRD}");
    let (_, body) = world
        .client
        .send_raw("GET", &path, &[("accept", MESSAGE)], "")
        .await;
    let headers = [("content-type", MESSAGE), ("accept", "application/json")];
    let answer = world.client.send("PUT", &path, &headers, body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.json()["spec"]["customFeatureGates"],
        crd(&["R-"])["spec"]["customFeatureGates"]
    );
}

/// field-gates.md §9/emulation: a server that is as one was before there were gates does not look at them.
#[tokio::test]
async fn gates_do_not_count_under_an_emulated_version_before_them() {
    let mut world = World::start(Setup {
        emulated: "1.35",
        ..Setup::own()
    })
    .await;
    let answer = world.define(&crd(&["R-"])).await;
    assert_eq!(
        (answer.status.as_u16(), warnings(&answer)),
        (
            201,
            vec!["spec.customFeatureGates: dropped: feature gate CRDFieldLevelVersioning is disabled".to_owned()]
        )
    );
    let answer = world.make_crontab(&json!({"replicas": 3})).await;
    assert_eq!(answer.json()["spec"], json!({"replicas": 3}));
}

/// field-gates.md §9/openapi and field-gates.md §1/component.
#[tokio::test]
async fn documents_tell_stages_and_states() {
    let mut world = gated().await;
    let mut told = crd(&["R-", "B-"]);
    told["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        ["replicas"]["description"] = "How many.".into();
    let gates = &mut told["spec"]["customFeatureGates"]["featureGates"];
    gates[1]["preRelease"] = "deprecated".into();
    gates[1]["default"] = true.into();
    gates[1]["enabled"] = Value::Null;
    assert_eq!(world.define(&told).await.status, 201);
    let document = world
        .client
        .get("/openapi/v3/apis/stable.example.com/v1")
        .await
        .json();
    let kind = &document["components"]["schemas"]["com.example.stable.v1.CronTab"];
    let spec = &kind["properties"]["spec"]["properties"];
    assert_eq!(
        spec["replicas"],
        json!({
            "type": "integer",
            "description": "How many.\nFeature gate istio/R: alpha, disabled.",
            "x-kubernetes-api-lifecycle": {"istio": {"status": "alpha", "featureGate": "R", "enabled": false}},
        })
    );
    let probe = &spec["jobs"]["items"]["properties"]["probe"];
    assert_eq!(
        (&probe["description"], &probe["deprecated"]),
        (
            &json!("Feature gate istio/B: deprecated, enabled."),
            &json!(true)
        )
    );
    let document = world.client.get("/openapi/v2").await.json();
    let spec = &document["definitions"]["com.example.stable.v1.CronTab"]["properties"]["spec"]["properties"];
    let probe = &spec["jobs"]["items"]["properties"]["probe"];
    assert_eq!(
        (&spec["replicas"]["description"], probe.get("deprecated")),
        (
            &json!("How many.\nFeature gate istio/R: alpha, disabled."),
            None
        )
    );
}

/// field-gates.md §11/enabled, field-gates.md §11/actions, field-gates.md §11/seconds and field-gates.md §11/audit.
#[tokio::test]
async fn actions_are_counted_and_audited() {
    let mut world = World::start(Setup {
        gates: ON,
        audit: Some(json!({
            "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
            "rules": [
                {"level": "Metadata", "resources": [{"group": "stable.example.com"}]},
                {"level": "None"},
            ],
        })),
        ..Setup::own()
    })
    .await;
    let log = world.server.path("audit.log");
    assert_eq!(world.define(&crd(&["R-", "Q+"])).await.status, 201);
    assert_eq!(
        world.make_crontab(&json!({"replicas": 3})).await.status,
        201
    );
    let metrics = world.client.get("/metrics").await.body;
    for line in [
        r#"lockstep_crd_field_gate_enabled{component="istio",crd="crontabs.stable.example.com",gate="R",stage="alpha"} 0"#,
        r#"lockstep_crd_field_gate_enabled{component="istio",crd="crontabs.stable.example.com",gate="Q",stage="alpha"} 1"#,
        r#"lockstep_crd_field_gate_actions_total{action="dropped",crd="crontabs.stable.example.com",gate="R"} 1"#,
        r#"lockstep_crd_field_gate_step_seconds_count{crd="crontabs.stable.example.com"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}");
    }
    assert_eq!(world.define(&crd(&["Q+"])).await.status, 200);
    let metrics = world.client.get("/metrics").await.body;
    assert!(!metrics.contains(r#"gate="R",stage="#));
    let event = eventually("an audit event of a create", async || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let mut events = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let found = events.find(|event| event["verb"] == "create");
        found.ok_or_else(|| text.clone())
    })
    .await;
    assert_eq!(
        event["annotations"]["field-gates.lockstep.dev/actions"],
        r#"[{"action":"dropped","gate":"R","path":"spec.replicas"}]"#
    );
}
