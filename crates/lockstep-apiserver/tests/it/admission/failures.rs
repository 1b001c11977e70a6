//! Webhooks that say no, lie, hang or are not there.

use lockstep_testkit::client::Answer;
use lockstep_testkit::webhook::{Said, Say};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lockstep_storage::{
    Consistency, Expected, GuardedOp, GuardedOutcome, GuardedWrite, Key, KeyRange, LeaseId, Limits,
    Range, Store,
};
use serde_json::{Value, json};

use super::review::{MAPS, MUTATING, VALIDATING, answer, begin, begin_with, refusal, says};
use crate::server::{Setup, TestServer, memory};
use crate::world::World;

fn raw(code: u16, body: &'static str) -> Say {
    Box::new(move |_| {
        Some(Said {
            code,
            header: ("content-type", "text/plain"),
            body: Bytes::from_static(body.as_bytes()),
        })
    })
}

/// api-machinery.md §12/webhook-failures: the error of each failure, and `failurePolicy: Ignore`.
#[tokio::test]
async fn a_webhook_that_gives_no_answer_stops_a_write_unless_that_is_to_be_ignored() {
    let mut world = begin(says(json!({}))).await;
    let map_text = "couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }";
    let rows: [(&str, Say, &str); 8] = [
        ("garbage", raw(200, "garbage"), map_text),
        (
            "nothing",
            raw(200, ""),
            "0-length response with status code: 200 and content type: text/plain",
        ),
        (
            "half",
            raw(200, "{"),
            "couldn't get version/kind; json parse error: unexpected end of JSON input",
        ),
        (
            "not found",
            raw(404, "x"),
            "the server could not find the requested resource",
        ),
        (
            "broken",
            raw(500, "boo"),
            "an error on the server (\"boo\") has prevented the request from succeeding",
        ),
        (
            "elsewhere",
            raw(307, ""),
            "Post \"URL?timeout=WAITs\": the webhook answered 307 Temporary Redirect, and redirects are not followed",
        ),
        (
            "silence",
            Box::new(|_| None),
            "Post \"URL?timeout=WAITs\": context deadline exceeded: no answer within 1s",
        ),
        (
            "no end",
            Box::new(|review| Some(answer(&review, &json!({ "x": "x".repeat(9 << 20) })).into())),
            "Post \"URL?timeout=WAITs\": the answer is larger than 8388608 bytes",
        ),
    ];
    for (what, say, expected) in rows {
        world.hook.now_says(say);
        let wait = if what == "silence" { 1 } else { 30 };
        for path in [MUTATING, VALIDATING] {
            let config = format!("{path}/x");
            for (policy, is_refused) in [("Fail", true), ("Ignore", false)] {
                let more = json!({ "failurePolicy": policy, "timeoutSeconds": wait });
                world.configure(path, "x", &more).await;
                let made = world.make_map("a").await;
                if is_refused {
                    let expected = expected.replace("URL", &world.hook.url);
                    let expected = expected.replace("WAIT", &wait.to_string());
                    let told = format!(
                        "Internal error occurred: failed calling webhook \"a.b.io\": failed to call webhook: {expected}"
                    );
                    assert_eq!(refusal(&made), (500, told), "{what}");
                } else {
                    assert_eq!(made.status, 201, "{what} {}", made.body);
                }
                world.client.send("DELETE", &config, &[], "").await;
                world
                    .client
                    .send("DELETE", &format!("{MAPS}/a"), &[], "")
                    .await;
            }
        }
    }
}

/// api-machinery.md §12/webhook-denials: code, reason and message are the webhook's own, and of
/// several who refuse the first is heard; a refusal is never ignored.
#[tokio::test]
async fn who_is_denied_is_told_by_whom_and_why() {
    let say: Say = Box::new(|review| {
        let status = json!({ "message": "no tea", "code": 418, "reason": "Teapot" });
        let more = json!({ "allowed": false, "status": status, "warnings": ["hot"] });
        Some(answer(&review, &more).into())
    });
    let mut world = begin(say).await;
    for (name, webhook) in [("b", "b.b.io"), ("a", "a.b.io")] {
        let more = json!({ "name": webhook, "failurePolicy": "Ignore" });
        world.configure(VALIDATING, name, &more).await;
    }
    let refused = world.make_map("a").await;
    let expected = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "admission webhook \"a.b.io\" denied the request: no tea",
        "reason": "Teapot", "code": 418,
    });
    assert_eq!((refused.status.as_u16(), refused.json()), (418, expected));
    assert_eq!(refused.header("warning"), "299 - \"hot\"");
    assert_eq!(world.asked().len(), 2);
    // An apply that is denied is not taken for one of an object that is not there.
    let wish = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}"#.to_owned();
    let apply = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{MAPS}/b?fieldManager=me");
    let refused = world.client.send("PATCH", &path, &apply, wish).await;
    assert_eq!(refused.status, 418, "{}", refused.body);
    assert_eq!(world.asked().len(), 2);
}

/// api-machinery.md §12/webhook-failures, §6/dry-run: side effects and dry runs. A configuration of v1 cannot have
/// them, so it is written as an old server would have.
#[tokio::test]
async fn only_a_webhook_without_side_effects_is_asked_about_rehearsals() {
    let store = memory();
    let setup = Setup {
        store: Arc::clone(&store),
        ..Setup::own()
    };
    let mut world = begin_with(setup, says(json!({}))).await;
    let map = json!({ "metadata": { "name": "a" } });
    let path = format!("{MAPS}?dryRun=All");
    for (config, folder) in [
        (MUTATING, "mutatingwebhookconfigurations"),
        (VALIDATING, "validatingwebhookconfigurations"),
    ] {
        for harmless in ["None", "NoneOnDryRun"] {
            let more = json!({ "sideEffects": harmless });
            world.configure(config, "c", &more).await;
            let made = world.client.write("POST", &path, &map).await;
            assert_eq!(made.status, 201, "{harmless} {}", made.body);
            let asked = world.asked();
            assert_eq!((asked.len(), &asked[0]["dryRun"]), (1, &json!(true)));
            assert_eq!(world.client.get(&format!("{MAPS}/a")).await.status, 404);
            let path = format!("{config}/c");
            world.client.send("DELETE", &path, &[], "").await;
        }
        for harmful in ["Some", "Unknown"] {
            // `Ignore` is about calls that fail, not about calls that are not made.
            let more = json!({ "failurePolicy": "Ignore" });
            world.configure(config, "c", &more).await;
            let key = format!("/registry/{folder}/c");
            rewrite(&*store, &key, |stored| {
                stored["webhooks"][0]["sideEffects"] = harmful.into();
            })
            .await;
            let is_rewritten =
                |answer: &Answer| answer.json()["webhooks"][0]["sideEffects"] == harmful;
            let stored = format!("{config}/c");
            world.client.get_until(&stored, is_rewritten).await;
            let refused = world.client.write("POST", &path, &map).await;
            let told = "admission webhook \"a.b.io\" does not support dry run";
            assert_eq!(refusal(&refused), (400, told.to_owned()), "{harmful}");
            assert_eq!(world.asked(), [] as [Value; 0]);
            assert_eq!(world.make_map("b").await.status, 201);
            assert_eq!(world.asked().len(), 1);
            for path in [format!("{config}/c"), format!("{MAPS}/b")] {
                world.client.send("DELETE", &path, &[], "").await;
            }
            world.asked();
        }
    }
}

/// Changes what is stored under a key, past the server.
async fn rewrite(store: &dyn Store, key: &str, change: impl FnOnce(&mut Value)) {
    let key = Key::new(key.to_owned()).unwrap();
    let range = Range::new(KeyRange::single(key.clone()));
    let found = store.range(range, Consistency::Linearizable).await.unwrap();
    let found = found.kvs.into_iter().next().unwrap();
    let mut stored: Value = serde_json::from_slice(&found.value).unwrap();
    change(&mut stored);
    let write = GuardedWrite {
        key,
        expected: Expected::At(found.mod_revision),
        op: GuardedOp::Put {
            value: stored.to_string().into(),
            lease: LeaseId::NONE,
        },
        fences: Vec::new(),
        unchanged_ranges: Vec::new(),
        extra_writes: Vec::new(),
    };
    let txn = write.txn(Limits::default().txn_ops_max).unwrap();
    let outcome = GuardedOutcome::of(store.txn(txn).await.unwrap());
    assert!(
        matches!(outcome, GuardedOutcome::Committed { .. }),
        "{outcome:?}"
    );
}

/// api-machinery.md §12/webhook-places: a service reference is resolved through the Service, and failures to
/// resolve it have a reason.
#[tokio::test]
async fn a_webhook_of_a_service_is_where_the_service_leads() {
    let mut world = begin(says(json!({}))).await;
    let bundle = world.webhook(&json!({}))["clientConfig"]["caBundle"].clone();
    let address = world.hook.url.trim_start_matches("https://").to_owned();
    let port: u16 = address.split(['/', ':']).nth(1).unwrap().parse().unwrap();
    let service = json!({ "namespace": "n", "name": "s", "path": "/x", "port": port });
    let more = json!({ "clientConfig": { "service": service, "caBundle": bundle } });
    world.configure(MUTATING, "m", &more).await;
    let told = |why: &str| {
        let start = "Internal error occurred: failed calling webhook \"a.b.io\": failed to call webhook: Post";
        let message = format!("{start} \"https://s.n.svc:{port}/x?timeout=10s\": {why}");
        (500, message)
    };
    let refused = world.make_map("a").await;
    assert_eq!(refusal(&refused), told("service \"s\" not found"));
    let services = "/api/v1/namespaces/n/services";
    let headless = json!({
        "metadata": { "name": "s" }, "spec": { "clusterIP": "None", "ports": [{ "port": port }] },
    });
    world.make(services, &headless).await;
    let refused = world.make_map("a").await;
    let expected = "no endpoints available for service \"s\"";
    assert_eq!(refusal(&refused), told(expected));
    let path = format!("{services}/s");
    world.client.send("DELETE", &path, &[], "").await;
    let outside = json!({
        "metadata": { "name": "s" },
        "spec": { "type": "ExternalName", "externalName": "localhost", "ports": [{ "port": port }] },
    });
    world.make(services, &outside).await;
    // It is found; its certificate is for the address, not for the name of the service.
    let (code, message) = refusal(&world.make_map("a").await);
    assert_eq!(code, 500);
    let expected = "certificate not valid for name \"s.n.svc\"";
    assert!(message.contains(expected), "{message}");
}

/// api-machinery.md §14/metrics, of `matchConditions`: the names are upstream's.
#[tokio::test]
async fn conditions_are_counted_and_timed() {
    let mut world = begin(says(json!({}))).await;
    let condition =
        |name: &str, expression: &str| json!({ "name": name, "expression": expression });
    let rows = [
        ("holds", MUTATING, json!([condition("a", "true")])),
        (
            "fails",
            VALIDATING,
            json!([
                condition("a", "object.data.none == 'x'"),
                condition("b", "false")
            ]),
        ),
        (
            "unclear",
            VALIDATING,
            json!([condition("a", "object.data.none == 'x'")]),
        ),
    ];
    for (name, path, conditions) in rows {
        let more = json!({ "name": format!("{name}.b.io"), "failurePolicy": "Ignore", "matchConditions": conditions });
        world.configure(path, name, &more).await;
    }
    assert_eq!(world.make_map("a").await.status, 201);
    assert_eq!(world.asked().len(), 1);
    let metrics = world.client.get("/metrics").await.body;
    let prefix = "apiserver_admission_match_condition_";
    let told = metrics.lines().filter_map(|line| line.strip_prefix(prefix));
    let told: Vec<&str> = told
        .filter(|line| !line.contains("_bucket") && !line.contains("_sum"))
        .collect();
    let labels = |name: &str, phase: &str| {
        format!(r#"{{kind="webhook",name="{name}.b.io",operation="CREATE",type="{phase}"}} 1"#)
    };
    let expected = [
        format!("evaluation_errors_total{}", labels("fails", "validating")),
        format!("evaluation_errors_total{}", labels("unclear", "validating")),
        format!("evaluation_seconds_count{}", labels("fails", "validating")),
        format!("evaluation_seconds_count{}", labels("holds", "admit")),
        format!(
            "evaluation_seconds_count{}",
            labels("unclear", "validating")
        ),
        format!("exclusions_total{}", labels("fails", "validating")),
        format!("exclusions_total{}", labels("unclear", "validating")),
    ];
    assert_eq!(told, expected);
}

/// api-machinery.md §14/metrics and §14/audit, of admission.
#[tokio::test]
async fn calls_are_counted_and_told_in_the_audit_log() {
    let rules = json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy",
        "rules": [
            { "level": "Request", "resources": [{ "group": "", "resources": ["configmaps"] }], "omitStages": ["RequestReceived"] },
            { "level": "None" },
        ],
    });
    let setup = Setup {
        audit: Some(rules),
        controllers: "",
        ..Setup::own()
    };
    let say: Say = Box::new(|review| {
        let annotated = json!({ "auditAnnotations": { "k": "v" } });
        Some(answer(&review, &annotated).into())
    });
    let mut world = begin_with(setup, say).await;
    world
        .configure(MUTATING, "m", &json!({ "name": "m.b.io" }))
        .await;
    let gone = json!({ "url": "https://127.0.0.1:1/x" });
    let more = json!({ "name": "v.b.io", "failurePolicy": "Ignore", "clientConfig": gone });
    world.configure(VALIDATING, "v", &more).await;
    assert_eq!(world.make_map("a").await.status, 201);
    let metrics = world.client.get("/metrics").await.body;
    for line in [
        r#"apiserver_admission_webhook_request_total{code="200",name="m.b.io",operation="CREATE",rejected="false",type="admit"} 1"#,
        r#"apiserver_admission_webhook_request_total{code="503",name="v.b.io",operation="CREATE",rejected="false",type="validating"} 1"#,
        r#"apiserver_admission_webhook_fail_open_count{name="v.b.io",type="validating"} 1"#,
        r#"apiserver_admission_webhook_admission_duration_seconds_count{name="m.b.io",operation="CREATE",rejected="false",type="admit"} 1"#,
    ] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    world
        .hook
        .now_says(says(json!({ "allowed": false, "status": { "code": 451 } })));
    world.make_map("b").await;
    let metrics = world.client.get("/metrics").await.body;
    let line = r#"apiserver_admission_webhook_rejection_count{error_type="no_error",name="m.b.io",operation="CREATE",rejection_code="451",type="admit"} 1"#;
    assert!(metrics.contains(line), "{line}\n{metrics}");
    let World { server, client, .. } = world;
    drop(client);
    let annotations = first_annotations(server).await;
    let expected = json!({
        "authorization.k8s.io/decision": "allow",
        "authorization.k8s.io/reason": "",
        "m.b.io/k": "v",
        "mutation.webhook.admission.k8s.io/round_0_index_0": r#"{"configuration":"m","webhook":"m.b.io","mutated":false}"#,
        "failed-open.validating.webhook.admission.k8s.io/round_0_index_0": "v.b.io",
    });
    assert_eq!(annotations, expected);
}

async fn first_annotations(mut server: TestServer) -> Value {
    let log = server.path("audit.log");
    drop(server.stop.take());
    tokio::time::timeout(Duration::from_secs(30), &mut server.running)
        .await
        .unwrap()
        .unwrap();
    let text = std::fs::read_to_string(log).unwrap();
    let events = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut made = events.filter(|event| event["requestObject"]["metadata"]["name"] == "a");
    made.next().unwrap()["annotations"].take()
}
