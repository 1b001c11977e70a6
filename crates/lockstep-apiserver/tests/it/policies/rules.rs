//! Rules that need a whole server: permissions, feature gates, field gates, and policies that come and go.

use lockstep_testkit::client::Answer;
use lockstep_testkit::wait::eventually;
use serde_json::{Value, json};

use super::objects::{
    CONFIG_MAPS, MAPS, MUTATING, MUTATING_BINDINGS, VALIDATING, VALIDATING_BINDINGS, applies,
    mutating, validating,
};
use crate::server::Setup;
use crate::world::World;

const LABEL: &str = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}";

fn labelling(name: &str) -> Value {
    mutating(name, CONFIG_MAPS, [applies(LABEL)], &Value::Null)
}

impl World {
    async fn make_as(&mut self, user: &str, path: &str, object: &Value) -> Answer {
        let headers = [
            ("content-type", "application/json"),
            ("impersonate-user", user),
        ];
        self.client
            .send("POST", path, &headers, object.to_string())
            .await
    }

    /// Lets a user do everything with policies, and one thing more.
    async fn allow(&mut self, user: &str, more: &Value) {
        let rbac = "/apis/rbac.authorization.k8s.io/v1";
        let all = json!({
            "apiGroups": ["admissionregistration.k8s.io"], "resources": ["*"], "verbs": ["*"],
        });
        let rules: Vec<&Value> = [&all, more]
            .into_iter()
            .filter(|rule| !rule.is_null())
            .collect();
        let role = json!({ "metadata": { "name": user }, "rules": rules });
        self.make(&format!("{rbac}/clusterroles"), &role).await;
        let subjects =
            json!([{ "kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io" }]);
        let reference = json!({
            "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user,
        });
        let binding =
            json!({ "metadata": { "name": user }, "subjects": subjects, "roleRef": reference });
        self.make(&format!("{rbac}/clusterrolebindings"), &binding)
            .await;
    }
}

fn cause(answer: &Answer) -> (u16, String) {
    let status = answer.json();
    let cause = &status["details"]["causes"][0];
    let text = |field: &str| cause[field].as_str().unwrap_or_default().to_owned();
    (
        answer.status.as_u16(),
        format!("{}: {}", text("field"), text("message")),
    )
}

/// mutating-admission.md §1.1, §1.2: authors must be allowed to read the parameters of their policies.
#[tokio::test]
async fn who_may_not_read_parameters_may_not_refer_to_them() {
    let mut world = World::start(Setup::own()).await;
    let secrets = json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"] });
    world.allow("alice", &Value::Null).await;
    world.allow("bob", &secrets).await;
    let kind = json!({ "paramKind": { "apiVersion": "v1", "kind": "Secret" } });
    let named = |name: &str| {
        let expression = "Object{metadata: Object.metadata{labels: {'a': params.metadata.name}}}";
        mutating(name, CONFIG_MAPS, [applies(expression)], &kind)
    };
    let refused = world.make_as("alice", MUTATING, &named("p")).await;
    let expected = "spec.paramKind: Forbidden: user &{alice  [system:authenticated] map[]} must have \"get\" permission \
                    on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)";
    assert_eq!(cause(&refused), (422, expected.to_owned()));
    assert_eq!(
        world.make_as("bob", MUTATING, &named("p")).await.status,
        201
    );
    assert_eq!(
        world
            .make_as("alice", MUTATING, &labelling("q"))
            .await
            .status,
        201
    );
    let binding = |param: Value| {
        let mut spec = json!({ "policyName": "p", "paramRef": param });
        spec["paramRef"]["parameterNotFoundAction"] = "Deny".into();
        json!({ "metadata": { "generateName": "p" }, "spec": spec })
    };
    for (param, verb) in [
        (json!({ "name": "s", "namespace": "n" }), "get"),
        (json!({ "selector": {} }), "list"),
    ] {
        let refused = world
            .make_as("alice", MUTATING_BINDINGS, &binding(param.clone()))
            .await;
        let expected = format!(
            "spec.paramRef: Forbidden: user &{{alice  [system:authenticated] map[]}} does not have \"{verb}\" permission on \
             the object referenced by paramRef"
        );
        assert_eq!(cause(&refused), (422, expected));
        let made = world
            .make_as("bob", MUTATING_BINDINGS, &binding(param))
            .await;
        assert_eq!(made.status, 201, "{}", made.body);
    }
}

/// mutating-admission.md §2.11/D8: no request that starts after a write returned sees the state before it.
#[tokio::test]
async fn policies_come_and_go_with_the_answers_to_their_writes() {
    let mut world = World::start(Setup::own()).await;
    world.make(MUTATING, &labelling("m")).await;
    world
        .make(
            VALIDATING,
            &validating("v", CONFIG_MAPS, "object == null || !('x' in object.data)"),
        )
        .await;
    let binding =
        |name: &str| json!({ "metadata": { "name": name }, "spec": { "policyName": name } });
    let mut denying = binding("v");
    denying["spec"]["validationActions"] = json!(["Deny"]);
    for round in 0..20 {
        world.make(MUTATING_BINDINGS, &binding("m")).await;
        world.make(VALIDATING_BINDINGS, &denying).await;
        let map = |name: &str| json!({ "metadata": { "name": format!("{name}-{round}") }, "data": { "k": "v" } });
        let made = world.make(MAPS, &map("with")).await;
        assert_eq!(made["metadata"]["labels"], json!({ "a": "b" }));
        let mut wrong = map("wrong");
        wrong["data"]["x"] = "".into();
        assert_eq!(world.client.write("POST", MAPS, &wrong).await.status, 422);
        world.delete(&format!("{MUTATING_BINDINGS}/m")).await;
        world.delete(&format!("{VALIDATING_BINDINGS}/v")).await;
        let made = world.make(MAPS, &wrong).await;
        assert_eq!(made["metadata"]["labels"], Value::Null);
    }
}

/// mutating-admission.md §3: each part of the API beyond upstream's has a gate; off, its fields are dropped with a
/// warning, and stored ones stay.
#[tokio::test]
async fn fields_whose_gate_is_off_are_dropped_unless_they_are_stored() {
    let gates = "MutationApplyDialect=false,MutationScopes=false,MutationSafety=false,MutationPreciseReinvocation=false,\
                 MutationConvergence=false,MutationDryRunBinding=false";
    let store = crate::server::memory();
    let setup = |gates: &'static str| Setup {
        gates,
        store: store.clone(),
        ..Setup::own()
    };
    let mut mutation = applies(LABEL);
    for (field, value) in [
        ("scope", json!("metadata")),
        ("safety", json!({ "mode": "Exact" })),
    ] {
        mutation[field] = value;
    }
    mutation["applyConfiguration"]["unset"] = "Remove".into();
    let changes = json!({ "convergencePolicy": "Deny", "reinvocationLimit": 2, "reinvocationPolicy": "IfNeeded" });
    let mut policy = mutating("p", CONFIG_MAPS, [mutation], &changes);
    policy["spec"]["reinvocationPolicy"] = "IfAffected".into();
    let mut world = World::start(setup("")).await;
    let stored = world.make(MUTATING, &policy).await;
    world.server.stop().await;
    let mut world = World::start(setup(gates)).await;
    let change = json!({ "spec": { "failurePolicy": "Ignore" } });
    let patched = world.patch(&format!("{MUTATING}/p"), &change).await;
    assert_eq!(patched.status, 200, "{}", patched.body);
    assert_eq!(
        patched.json()["spec"]["mutations"],
        stored["spec"]["mutations"]
    );
    assert_eq!(patched.headers.get_all("warning").iter().count(), 0);
    policy["metadata"]["name"] = "q".into();
    let refused = world.client.write("POST", MUTATING, &policy).await;
    assert_eq!(cause(&refused).1, "spec.reinvocationPolicy: Required value");
    policy["spec"]["reinvocationPolicy"] = "IfNeeded".into();
    let made = world.client.write("POST", MUTATING, &policy).await;
    assert_eq!(made.status, 201, "{}", made.body);
    let warnings: Vec<String> = made
        .headers
        .get_all("warning")
        .iter()
        .map(|warning| {
            warning
                .to_str()
                .unwrap()
                .replace("299 - ", "")
                .replace('"', "")
        })
        .collect();
    let dropped =
        |field: &str, gate: &str| format!("{field}: dropped: feature gate {gate} is disabled");
    assert_eq!(
        warnings,
        [
            dropped(
                "spec.mutations[0].applyConfiguration.unset",
                "MutationApplyDialect"
            ),
            dropped("spec.mutations[0].scope", "MutationScopes"),
            dropped("spec.mutations[0].safety", "MutationSafety"),
            dropped("spec.reinvocationLimit", "MutationPreciseReinvocation"),
            dropped("spec.convergencePolicy", "MutationConvergence"),
        ]
    );
    assert_eq!(made.json()["spec"]["mutations"], json!([applies(LABEL)]));
    let spec = json!({ "policyName": "q", "enforcement": "DryRun" });
    let made = world
        .make(
            MUTATING_BINDINGS,
            &json!({ "metadata": { "name": "q" }, "spec": spec }),
        )
        .await;
    assert_eq!(made["spec"], json!({ "policyName": "q" }));
}

/// feature-gates.md §11: `MutatingAdmissionPolicy` switches mutating policies off, and validating ones stay.
#[tokio::test]
async fn mutating_policies_run_where_their_gate_is_on() {
    for (gates, labels) in [
        ("", json!({ "a": "b" })),
        ("MutatingAdmissionPolicy=false", Value::Null),
    ] {
        let mut world = World::start(Setup {
            gates,
            ..Setup::own()
        })
        .await;
        world.mutates(&labelling("p")).await;
        world
            .validates(&validating(
                "v",
                CONFIG_MAPS,
                "object.metadata.name != 'no'",
            ))
            .await;
        let made = world
            .make(MAPS, &json!({ "metadata": { "name": "m" } }))
            .await;
        assert_eq!(made["metadata"]["labels"], labels, "{gates}");
        let refused = json!({ "metadata": { "name": "no" } });
        assert_eq!(world.client.write("POST", MAPS, &refused).await.status, 422);
    }
}

/// field-gates.md §5, mutating-admission.md §2.1: field gates are applied after policies.
#[tokio::test]
async fn a_policy_does_not_write_a_closed_field() {
    let mut world = World::start(Setup {
        gates: "CRDFieldLevelVersioning=true",
        ..Setup::own()
    })
    .await;
    let fields = json!({ "open": { "type": "string" }, "closed": { "type": "string" } });
    let crd = json!({
        "metadata": { "name": "gizmos.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Cluster", "names": { "plural": "gizmos", "kind": "Gizmo" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": fields } },
            }}}],
            "customFeatureGates": { "featureGates": [
                { "name": "Closed", "preRelease": "alpha", "fieldPaths": [".spec.closed"] },
            ]},
        },
    });
    world.make(crate::world::CRDS, &crd).await;
    let both = "Object{spec: Object.spec{open: 'p', closed: 'p'}}";
    world
        .mutates(&mutating(
            "p",
            ["ex.io", "v1", "gizmos"],
            [applies(both)],
            &Value::Null,
        ))
        .await;
    let gizmo = json!({ "apiVersion": "ex.io/v1", "kind": "Gizmo", "metadata": { "name": "g" }, "spec": {} });
    let made = world.make("/apis/ex.io/v1/gizmos", &gizmo).await;
    assert_eq!(made["spec"], json!({ "open": "p" }));
    let change = json!({ "metadata": { "labels": { "x": "y" } } });
    let patched = world.patch("/apis/ex.io/v1/gizmos/g", &change).await;
    assert_eq!(patched.json()["spec"], json!({ "open": "p" }));
}

/// mutating-admission.md §2.11/D7, §7/N5: parameters of a definition that goes away and comes back; a server is ready
/// without it.
#[tokio::test]
async fn a_kind_of_parameters_may_be_missing_and_come_later() {
    let mut world = World::start(Setup::own()).await;
    let expression = "Object{data: {'v': params.spec.v}}";
    let changes = json!({ "paramKind": { "apiVersion": "ex.io/v1", "kind": "Gizmo" } });
    world
        .make(
            MUTATING,
            &mutating("p", CONFIG_MAPS, [applies(expression)], &changes),
        )
        .await;
    let spec = json!({ "policyName": "p", "paramRef": { "name": "g", "parameterNotFoundAction": "Deny" } });
    world
        .make(
            MUTATING_BINDINGS,
            &json!({ "metadata": { "name": "p" }, "spec": spec }),
        )
        .await;
    let map = |name: &str| json!({ "metadata": { "name": name }, "data": { "k": "v" } });
    let refused = world.client.write("POST", MAPS, &map("m")).await.failure();
    assert_eq!((refused.0, refused.1.as_str()), (403, "Forbidden"));
    assert_eq!(
        refused.2,
        "policy \"p\" denied request: failed to configure policy: failed to find resource referenced by paramKind: \
         'ex.io/v1, Kind=Gizmo'"
    );
    assert_eq!(world.client.get("/readyz").await.brief(), (200, "ok"));
    let crd = json!({
        "metadata": { "name": "gizmos.ex.io" },
        "spec": {
            "group": "ex.io", "scope": "Cluster", "names": { "plural": "gizmos", "kind": "Gizmo" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }}}],
        },
    });
    world.make(crate::world::CRDS, &crd).await;
    let gizmo = |v: &str| json!({ "apiVersion": "ex.io/v1", "kind": "Gizmo", "metadata": { "name": "g" }, "spec": { "v": v } });
    world.make("/apis/ex.io/v1/gizmos", &gizmo("1")).await;
    assert_eq!(world.make(MAPS, &map("m")).await["data"]["v"], "1");
    world
        .patch("/apis/ex.io/v1/gizmos/g", &json!({ "spec": { "v": "2" } }))
        .await;
    assert_eq!(world.make(MAPS, &map("n")).await["data"]["v"], "2");
    world.delete("/apis/ex.io/v1/gizmos/g").await;
    assert_eq!(
        world.client.write("POST", MAPS, &map("o")).await.status,
        403
    );
    world.make("/apis/ex.io/v1/gizmos", &gizmo("3")).await;
    assert_eq!(world.make(MAPS, &map("o")).await["data"]["v"], "3");
}

/// mutating-admission.md §2.10, §3.5: the status says what a policy touches, and two policies that fight name each other;
/// dry runs leave no trace.
#[tokio::test]
async fn policies_that_do_not_converge_name_each_other_in_their_status() {
    let mut world = World::start(Setup::own()).await;
    let paints = |name: &str| {
        let expression = format!("Object{{data: {{'color': '{name}'}}}}");
        let changes = json!({ "reinvocationPolicy": "IfNeeded" });
        mutating(name, CONFIG_MAPS, [applies(&expression)], &changes)
    };
    world.mutates(&paints("blue")).await;
    world.mutates(&paints("red")).await;
    let path = |name: &str| format!("{MUTATING}/{name}");
    let is_observed = |answer: &Answer| answer.json()["status"]["observedGeneration"] == 1;
    let seen = world
        .client
        .get_until(&path("blue"), is_observed)
        .await
        .json();
    let facts = json!([{
        "index": 0, "name": "mutations[0]", "scope": "data[\"color\"]", "writes": [".data.color"],
    }]);
    assert_eq!(seen["status"]["mutations"], facts);
    let map = |name: &str| json!({ "metadata": { "name": name } });
    world.make(&format!("{MAPS}?dryRun=All"), &map("dry")).await;
    world.make(MAPS, &map("m")).await;
    let has_conflicts = |answer: &Answer| answer.json()["status"]["conflicts"].is_array();
    for (name, other) in [("blue", "red"), ("red", "blue")] {
        let policy = world
            .client
            .get_until(&path(name), has_conflicts)
            .await
            .json();
        let mut conflict = policy["status"]["conflicts"][0].clone();
        assert!(conflict["lastTime"].is_string());
        conflict.as_object_mut().unwrap().remove("lastTime");
        assert_eq!(conflict["policyName"], other);
        assert_eq!(conflict["fieldPath"], ".data.color");
        assert_eq!(conflict["resource"], "configmaps");
        let conditions = policy["status"]["conditions"].as_array().unwrap().iter();
        let states = conditions.map(|condition| {
            format!("{} {}", condition["type"], condition["status"]).replace('"', "")
        });
        assert_eq!(
            states.collect::<Vec<_>>(),
            ["Ready True", "Converging False"]
        );
        assert_eq!(policy["metadata"]["generation"], 1);
    }
}

/// ux.md §6, mutating-admission.md §2.10: the response names the writers of fields, and the audit log holds the patch
/// at the level of bodies only.
#[tokio::test]
async fn mutations_are_attributed_in_the_response_and_in_the_audit_log() {
    let rules = json!([
        { "level": "Request", "resources": [{ "group": "", "resources": ["configmaps"] }] },
        { "level": "Metadata", "resources": [{ "group": "", "resources": ["secrets"] }] },
        { "level": "None" },
    ]);
    let audit = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": rules,
    });
    let mut world = World::start(Setup {
        audit: Some(audit),
        ..Setup::own()
    })
    .await;
    for (name, resource) in [("maps", CONFIG_MAPS), ("secrets", ["", "v1", "secrets"])] {
        let mutations = [applies(LABEL)];
        world
            .mutates(&mutating(name, resource, mutations, &Value::Null))
            .await;
    }
    let object = json!({ "metadata": { "name": "m" } });
    let made = world.client.write("POST", MAPS, &object).await;
    assert_eq!(made.header("lockstep-mutated-by"), "maps;.metadata.labels");
    let secrets = MAPS.replace("configmaps", "secrets");
    world.client.write("POST", &secrets, &object).await;
    let again = json!({ "metadata": { "labels": { "x": "y" } } });
    let patched = world.patch(&format!("{MAPS}/m"), &again).await;
    assert_eq!(patched.header("lockstep-mutated-by"), "");
    let log = world.server.path("audit.log");
    let annotations_of = |plural: &str| {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let events = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut created = events.filter(|event| {
            event["verb"] == "create"
                && event["objectRef"]["resource"] == plural
                && event["user"]["username"] != "system:apiserver"
        });
        created.next().map(|event| event["annotations"].clone())
    };
    let mutation = "mutation.policy.admission.k8s.io/round_0_index_0";
    let patch = "patch.policy.admission.k8s.io/round_0_index_0";
    let found = eventually("the audit log", async || {
        let both = annotations_of("configmaps").zip(annotations_of("secrets"));
        both.ok_or("not written yet")
    });
    let (of_map, of_secret) = found.await;
    let read = |annotation: &Value| -> Value {
        serde_json::from_str(annotation.as_str().unwrap()).unwrap()
    };
    let note = |name: &str| {
        json!({
            "policy": name, "binding": name, "param": "", "mutation": "mutations[0]", "mutated": true,
            "failedOpen": false,
        })
    };
    assert_eq!(read(&of_map[mutation]), note("maps"));
    let expected = json!([{ "op": "add", "path": "/metadata/labels", "value": { "a": "b" } }]);
    assert_eq!(read(&of_map[patch]), expected);
    assert_eq!(read(&of_secret[mutation]), note("secrets"));
    assert_eq!(of_secret[patch], Value::Null);
}

/// mutating-admission.md §2.10: metrics of both kinds.
#[tokio::test]
async fn checks_are_counted_by_policy_binding_and_outcome() {
    let mut world = World::start(Setup::own()).await;
    world.mutates(&labelling("m")).await;
    world
        .validates(&validating(
            "v",
            CONFIG_MAPS,
            "object.metadata.name != 'no'",
        ))
        .await;
    world
        .make(MAPS, &json!({ "metadata": { "name": "yes" } }))
        .await;
    world
        .client
        .write("POST", MAPS, &json!({ "metadata": { "name": "no" } }))
        .await;
    let metrics = world.client.get("/metrics").await.body;
    for line in [
        "apiserver_mutating_admission_policy_check_total{error_type=\"no_error\",policy=\"m\",policy_binding=\"m\"} 2",
        "apiserver_validating_admission_policy_check_total{enforcement_action=\"allow\",error_type=\"no_error\",policy=\"v\",policy_binding=\"v\"} 1",
        "apiserver_validating_admission_policy_check_total{enforcement_action=\"deny\",error_type=\"no_error\",policy=\"v\",policy_binding=\"v\"} 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line}");
    }
}
