//! Patches of mutating webhooks, the order of calls and reinvocation.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lockstep_testkit::webhook::{Hook, Say};
use serde_json::{Value, json};

use super::review::{MAPS, MUTATING, VALIDATING, answer, begin, begin_with, patch, refusal, says};
use crate::server::Setup;

fn add(path: &str, value: &Value) -> Value {
    json!([{ "op": "add", "path": path, "value": value }])
}

/// A webhook that appends `mark` to `data.order`.
fn appends(mark: &'static str) -> Say {
    Box::new(move |review| {
        let before = review["request"]["object"]["data"]["order"].as_str();
        let order = format!("{}{mark}", before.unwrap_or_default());
        let more = patch(&add("/data/order", &order.into()));
        Some(answer(&review, &more).into())
    })
}

/// api-machinery.md §12/webhook-order: configurations run sorted by name, webhooks of a configuration in
/// list order, and each webhook sees the changes of those before it. Each webhook has its own server and
/// mark, so that another order gives another text.
#[tokio::test]
async fn mutating_webhooks_are_asked_in_order_and_see_what_others_changed() {
    let mut world = begin(says(json!({}))).await;
    let mut hooks = Vec::new();
    for mark in ["z", "a", "b"] {
        hooks.push(Hook::new(appends(mark)).await);
    }
    let webhook = |hook: &Hook, name: &str| {
        let mut webhook = world.webhook(&json!({ "name": name }));
        let bundle = STANDARD.encode(&hook.authority);
        webhook["clientConfig"] = json!({ "url": hook.url, "caBundle": bundle });
        webhook
    };
    let later = [webhook(&hooks[2], "b.b.io")];
    let sooner = [webhook(&hooks[0], "z.b.io"), webhook(&hooks[1], "a.b.io")];
    for configuration in [
        json!({ "metadata": { "name": "b" }, "webhooks": later }),
        json!({ "metadata": { "name": "a" }, "webhooks": sooner }),
    ] {
        world.make(MUTATING, &configuration).await;
    }
    let map = json!({ "metadata": { "name": "m" }, "data": { "order": "" } });
    let made = world.make(MAPS, &map).await;
    assert_eq!(made["data"]["order"], "zab");
    let seen = hooks.iter().flat_map(Hook::asked).map(|(_, review)| {
        let order = &review["request"]["object"]["data"]["order"];
        order.as_str().unwrap_or_default().to_owned()
    });
    assert_eq!(seen.collect::<Vec<_>>(), ["", "z", "za"]);
    let stored = world.client.get(&format!("{MAPS}/m")).await.json();
    assert_eq!(stored["data"], json!({ "order": "zab" }));
}

/// api-machinery.md §12/webhook-order: `reinvocationPolicy` `IfNeeded`.
#[tokio::test]
async fn a_webhook_that_asks_for_it_is_asked_once_more_after_others_changed_the_object() {
    // Each adds its label unless it is there.
    let say: Say = Box::new(|review| {
        let labels = &review["request"]["object"]["metadata"]["labels"];
        let next = ["one", "two"]
            .into_iter()
            .find(|name| labels[name].is_null());
        let more = match next {
            None => json!({}),
            Some(name) => patch(&add(&format!("/metadata/labels/{name}"), &json!("1"))),
        };
        Some(answer(&review, &more).into())
    });
    let mut world = begin(say).await;
    let again = json!({ "name": "a.b.io", "reinvocationPolicy": "IfNeeded" });
    world.configure(MUTATING, "a", &again).await;
    world
        .configure(MUTATING, "b", &json!({ "name": "b.b.io" }))
        .await;
    let map = json!({ "metadata": { "name": "m", "labels": { "x": "" } } });
    let made = world.make(MAPS, &map).await;
    let expected = json!({ "x": "", "one": "1", "two": "1" });
    assert_eq!(made["metadata"]["labels"], expected);
    assert_eq!(world.asked().len(), 3);
}

/// api-machinery.md §12/webhook-answers: a patched object is defaulted and pruned like a client's; added fields get
/// no field manager, and immutable metadata stays as it was.
#[tokio::test]
async fn a_change_is_shaped_and_checked_like_what_a_client_sends() {
    let mut world = begin_with(
        Setup {
            controllers: "",
            plugins: lockstep_apiserver::admission::Plugins::without([
                lockstep_apiserver::admission::Plugin::ServiceAccount,
            ]),
            ..Setup::own()
        },
        says(json!({})),
    )
    .await;
    let more = json!({ "rules": [{
        "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"],
    }]});
    world.configure(MUTATING, "m", &more).await;
    let changes = json!([
        { "op": "add", "path": "/spec/containers/-", "value": { "name": "side", "image": "s" } },
        { "op": "add", "path": "/unknown", "value": 1 },
        { "op": "add", "path": "/metadata/uid", "value": "mine" },
        { "op": "add", "path": "/metadata/labels", "value": { "by": "hook" } },
    ]);
    world.hook.now_says(says(patch(&changes)));
    let pods = "/api/v1/namespaces/n/pods";
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
    });
    let made = world.make(pods, &pod).await;
    let side = json!({
        "name": "side", "image": "s", "imagePullPolicy": "Always", "resources": {},
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    });
    assert_eq!(made["spec"]["containers"][1], side);
    assert_eq!(made["metadata"]["labels"], json!({ "by": "hook" }));
    assert_eq!(made["unknown"], Value::Null);
    assert_ne!(made["metadata"]["uid"], "mine");
    let managed = made["metadata"]["managedFields"].to_string();
    assert!(
        !managed.contains("side") && !managed.contains("f:by"),
        "{managed}"
    );
    let path = format!("{pods}/p");
    let merge = [("content-type", "application/merge-patch+json")];
    let gone = json!([{ "op": "remove", "path": "/spec/containers" }]);
    world.hook.now_says(says(patch(&gone)));
    let body = r#"{"metadata":{"labels":{"x":"y"}}}"#.to_owned();
    let refused = world.client.send("PATCH", &path, &merge, body).await;
    assert_eq!(refused.status, 422, "{}", refused.body);
    let stored = world.client.get(&path).await.json();
    assert_eq!(stored["metadata"]["labels"], json!({ "by": "hook" }));
}

/// api-machinery.md §12/webhook-answers: patches that cannot be carried out.
#[tokio::test]
async fn a_patch_that_cannot_be_carried_out_stores_nothing() {
    let mut world = begin(says(json!({}))).await;
    world
        .configure(MUTATING, "m", &json!({ "failurePolicy": "Ignore" }))
        .await;
    let internal = |why: &str| (500, format!("Internal error occurred: {why}"));
    let typed = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string";
    let rows = [
        (
            patch(&json!([{ "op": "test", "path": "/data/a", "value": "9" }])),
            internal("testing value /data/a failed"),
        ),
        (
            patch(&json!([{ "op": "foo", "path": "/data/a" }])),
            internal("Unexpected kind: foo"),
        ),
        (patch(&add("/data/b", &json!(2))), internal(typed)),
        (
            patch(&add("/metadata/namespace", &json!("default"))),
            (
                400,
                "the namespace of the provided object does not match the namespace sent on the request"
                    .to_owned(),
            ),
        ),
    ];
    for (more, expected) in rows {
        world.hook.now_says(says(more.clone()));
        let refused = world.make_map("a").await;
        assert_eq!(refusal(&refused), expected, "{more}");
        assert_eq!(world.client.get(&format!("{MAPS}/a")).await.status, 404);
    }
    let managed = json!([{ "op": "replace", "path": "/metadata/managedFields", "value": [{ "manager": "x" }] }]);
    world.hook.now_says(says(patch(&managed)));
    let made = world.make_map("a").await;
    assert_eq!(made.status, 201, "{}", made.body);
    let managers = &made.json()["metadata"]["managedFields"];
    assert_eq!(managers[0]["operation"], "Update");
    let warned = made.header("warning");
    let expected = ".metadata.managedFields was in an invalid state after admission";
    assert!(warned.contains(expected), "{warned}");
    world
        .hook
        .now_says(says(patch(&add("/data/b", &json!("2")))));
    let path = format!("{MAPS}/a");
    let refused = world.client.send("DELETE", &path, &[], "").await;
    let why = "admission webhook \"a.b.io\" attempted to modify the object, which is not supported for this operation";
    assert_eq!(refusal(&refused), internal(why));
}

/// api-machinery.md §12/webhook-answers: the number of replicas is changed through the scale.
#[tokio::test]
async fn a_webhook_changes_a_scale_through_the_scale() {
    let mut world = begin(says(json!({}))).await;
    let controllers = "/api/v1/namespaces/n/replicationcontrollers";
    let controller = json!({
        "metadata": { "name": "r" },
        "spec": { "selector": { "a": "b" }, "template": {
            "metadata": { "labels": { "a": "b" } },
            "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
        }},
    });
    world.make(controllers, &controller).await;
    let more = json!({ "rules": [{
        "operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["replicationcontrollers/scale"],
    }]});
    world.configure(MUTATING, "m", &more).await;
    let seven = json!([{ "op": "replace", "path": "/spec/replicas", "value": 7 }]);
    world.hook.now_says(says(patch(&seven)));
    let merge = [("content-type", "application/merge-patch+json")];
    let body = r#"{"spec":{"replicas":3}}"#.to_owned();
    let path = format!("{controllers}/r/scale");
    let changed = world.client.send("PATCH", &path, &merge, body).await;
    assert_eq!(
        changed.json()["spec"],
        json!({ "replicas": 7 }),
        "{}",
        changed.body
    );
    let stored = world.client.get(&format!("{controllers}/r")).await.json();
    assert_eq!(stored["spec"]["replicas"], 7);
}

/// api-machinery.md §12/webhook-order: two configurations that want different things: the last one
/// changes last, and who only refuses sees what will be stored.
#[tokio::test]
async fn of_two_configurations_in_conflict_the_later_has_its_way_and_a_third_may_refuse() {
    let say: Say = Box::new(|review| {
        let request = &review["request"];
        let is_stored = !request["object"]["metadata"]["uid"].is_null();
        let color = request["object"]["data"]["color"].as_str();
        let more = match (is_stored, color) {
            (true, Some("blue")) => {
                json!({ "allowed": false, "status": { "message": "not blue" } })
            }
            (false, None) => patch(&add("/data/color", &json!("red"))),
            (false, Some("red")) => patch(&add("/data/color", &json!("blue"))),
            _ => json!({}),
        };
        Some(answer(&review, &more).into())
    });
    let mut world = begin(say).await;
    world
        .configure(MUTATING, "a-red", &json!({ "name": "red.b.io" }))
        .await;
    let made = world.make_map("m").await.json();
    assert_eq!(made["data"], json!({ "a": "1", "color": "red" }));
    world
        .configure(MUTATING, "b-blue", &json!({ "name": "blue.b.io" }))
        .await;
    let made = world.make_map("n").await.json();
    assert_eq!(made["data"], json!({ "a": "1", "color": "blue" }));
    world
        .configure(VALIDATING, "c", &json!({ "name": "no-blue.b.io" }))
        .await;
    let refused = world.make_map("o").await;
    let told = "admission webhook \"no-blue.b.io\" denied the request: not blue";
    assert_eq!(refusal(&refused), (400, told.to_owned()));
}

/// api-machinery.md §6/patch-races, §12/webhook-order: a patch that loses a race is applied to the newer state, and
/// webhooks are called again with that result.
#[tokio::test]
async fn a_patch_that_is_tried_again_is_asked_about_again() {
    let say: Say = Box::new(|review| {
        let before = review["request"]["object"]["data"]["asked"].as_str();
        let told = format!("{}+", before.unwrap_or_default());
        Some(answer(&review, &patch(&add("/data/asked", &told.into()))).into())
    });
    let mut world = begin(say).await;
    world
        .make(
            MAPS,
            &json!({ "metadata": { "name": "m" }, "data": { "a": "1" } }),
        )
        .await;
    let more = json!({ "rules": [{
        "operations": ["UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
    }]});
    world.configure(MUTATING, "m", &more).await;
    let path = format!("{MAPS}/m");
    let merge = [("content-type", "application/merge-patch+json")];
    let mut other = world.admin().await;
    world.hook.now_waits_for(2);
    let (first, second) = tokio::join!(
        world
            .client
            .send("PATCH", &path, &merge, r#"{"data":{"b":"2"}}"#.to_owned()),
        other.send("PATCH", &path, &merge, r#"{"data":{"c":"3"}}"#.to_owned()),
    );
    assert_eq!(
        (first.status.as_u16(), second.status.as_u16()),
        (200, 200),
        "{} {}",
        first.body,
        second.body
    );
    let asked = world.asked();
    assert_eq!(asked.len(), 3);
    let olds: Vec<&Value> = asked
        .iter()
        .map(|asked| &asked["oldObject"]["data"]["asked"])
        .collect();
    assert_eq!(olds, [&Value::Null, &Value::Null, &json!("+")]);
    let stored = world.client.get(&path).await.json();
    assert_eq!(
        stored["data"],
        json!({ "a": "1", "asked": "++", "b": "2", "c": "3" })
    );
    // One that insists on a version is not tried again.
    let version = stored["metadata"]["resourceVersion"].as_str().unwrap();
    let insisting = |key: &str| {
        json!({ "metadata": { "resourceVersion": version }, "data": { key: "4" } }).to_string()
    };
    world.hook.now_waits_for(2);
    let (first, second) = tokio::join!(
        world.client.send("PATCH", &path, &merge, insisting("d")),
        other.send("PATCH", &path, &merge, insisting("e")),
    );
    let mut codes = [first.status.as_u16(), second.status.as_u16()];
    codes.sort_unstable();
    assert_eq!(codes, [200, 409]);
    assert_eq!(world.asked().len(), 2);
}
