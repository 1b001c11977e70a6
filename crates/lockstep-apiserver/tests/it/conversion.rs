//! Objects in versions that a webhook makes: api-machinery.md §11, rows "multi-version" and "mixed
//! stored versions".

use base64::Engine as _;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::hook::{Hook, Pair, Say, issued, own_authority};
use crate::server::{Setup, TestServer};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const CRD: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.ex.io";
const V1: &str = "/apis/ex.io/v1/widgets";
const V2: &str = "/apis/ex.io/v2/widgets";

/// Widgets have a `size` in v1 and a `width` in v2, where a label says it too.
fn crd(hook: &Hook, pair: &Pair, review: &str) -> Value {
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
fn convert(review: &Value) -> Value {
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

fn honest() -> Say {
    Box::new(|review| Some(convert(&review).into()))
}

/// A webhook whose answers are changed before they are sent.
fn liar(lie: impl Fn(&mut Value) + Send + Sync + 'static) -> Say {
    Box::new(move |review| {
        let mut answer = convert(&review);
        lie(&mut answer["response"]);
        Some(answer.into())
    })
}

struct World {
    _server: TestServer,
    client: Client,
    hook: Hook,
}

impl World {
    async fn begin(pair: &Pair, review: &str) -> Self {
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

    async fn usual() -> Self {
        Self::begin(&own_authority(), "v1").await
    }

    /// Makes a widget of v1.
    async fn widget(&mut self, name: &str, size: u64) -> Value {
        let object = widget("v1", name, "size", size);
        let made = self.client.write("POST", V1, &object).await;
        assert_eq!(made.status, 201, "{}", made.body);
        made.json()
    }

    async fn get(&mut self, path: &str) -> Value {
        let answer = self.client.get(path).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.json()
    }

    async fn patch(&mut self, path: &str, merged: &Value) -> Answer {
        let merge = [("content-type", "application/merge-patch+json")];
        let merged = merged.to_string();
        self.client.send("PATCH", path, &merge, merged).await
    }

    /// How many objects each call since the last time was about.
    fn calls(&self) -> Vec<usize> {
        let calls = self.hook.asked().into_iter();
        let count =
            |(_, review): (_, Value)| review["request"]["objects"].as_array().unwrap().len();
        calls.map(count).collect()
    }
}

fn widget(version: &str, name: &str, field: &str, value: u64) -> Value {
    json!({
        "apiVersion": format!("ex.io/{version}"), "kind": "Widget",
        "metadata": { "name": name }, "spec": { field: value },
    })
}

/// What tests look at.
fn brief(object: &Value) -> Value {
    json!([
        object["apiVersion"],
        object["metadata"]["name"],
        object["metadata"]["labels"],
        object["spec"],
    ])
}

fn in_v1(name: &str, size: u64) -> Value {
    json!(["ex.io/v1", name, null, { "size": size, "one": "one" }])
}

fn in_v2(name: &str, width: u64) -> Value {
    json!(["ex.io/v2", name, { "width": width.to_string() }, { "width": width, "two": "two" }])
}

#[tokio::test]
async fn objects_are_read_in_the_version_that_is_asked_for() {
    for (pair, review) in [(own_authority(), "v1"), (issued(), "v1beta1")] {
        let mut world = World::begin(&pair, review).await;
        let made = world.widget("a", 1).await;
        world.widget("b", 2).await;
        assert_eq!(brief(&world.get(&format!("{V1}/a")).await), in_v1("a", 1));
        assert_eq!(world.get(V1).await["items"].as_array().unwrap().len(), 2);
        assert_eq!(
            world.calls(),
            [0_usize; 0],
            "the stored version asks nobody"
        );
        let shown = world.get(&format!("{V2}/a")).await;
        assert_eq!(brief(&shown), in_v2("a", 1));
        for field in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
            assert_eq!(shown["metadata"][field], made["metadata"][field]);
        }
        assert_eq!(world.calls(), [1]);
        let list = world.get(V2).await;
        let items: Vec<Value> = list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(brief)
            .collect();
        assert_eq!(list["kind"], "WidgetList");
        assert_eq!(items, [in_v2("a", 1), in_v2("b", 2)]);
        assert_eq!(world.calls(), [2], "a page is one call");
    }
}

#[tokio::test]
async fn tables_metadata_scales_and_selectors_are_of_the_version_that_is_asked_for() {
    let mut world = World::usual().await;
    world.widget("a", 1).await;
    world.widget("b", 2).await;
    let accept = |form: &str| format!("application/json;as={form};v=v1;g=meta.k8s.io");
    let table = accept("Table");
    let table = world
        .client
        .send("GET", V2, &[("accept", &table)], "")
        .await;
    let rows = table.json()["rows"].clone();
    let cells: Vec<&Value> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["cells"])
        .collect();
    assert_eq!(cells, [&json!(["a", 1]), &json!(["b", 2])]);
    let partial = accept("PartialObjectMetadata");
    let path = format!("{V2}/a");
    let partial = world
        .client
        .send("GET", &path, &[("accept", &partial)], "")
        .await;
    assert_eq!(
        partial.json()["metadata"]["labels"],
        json!({ "width": "1" })
    );
    let scale = world.get(&format!("{V2}/b/scale")).await;
    assert_eq!(scale["spec"], json!({ "replicas": 2 }));
    world.calls();
    for selector in ["labelSelector=width%3D2", "fieldSelector=spec.width%3D2"] {
        for limit in ["", "&limit=1"] {
            let list = world.get(&format!("{V2}?{selector}{limit}")).await;
            let items = list["items"].as_array().unwrap();
            let items: Vec<Value> = items.iter().map(brief).collect();
            assert_eq!(items, [in_v2("b", 2)], "{selector}{limit}");
            assert_eq!(world.calls(), [2], "{selector}{limit}");
        }
    }
    let list = world.get(&format!("{V1}?labelSelector=width%3D2")).await;
    assert_eq!(list["items"], json!([]), "v1 has no such label");
    let page = world.get(&format!("{V2}?limit=1")).await;
    assert_eq!(world.calls(), [1]);
    let token = page["metadata"]["continue"].as_str().unwrap();
    let page = world.get(&format!("{V2}?limit=1&continue={token}")).await;
    assert_eq!(brief(&page["items"][0]), in_v2("b", 2));
}

#[tokio::test]
async fn objects_are_written_in_any_version_and_stored_in_one() {
    let mut world = World::usual().await;
    let made = world
        .client
        .write("POST", V2, &widget("v2", "a", "width", 3))
        .await;
    assert_eq!(
        (made.status.as_u16(), brief(&made.json())),
        (201, in_v2("a", 3))
    );
    assert_eq!(brief(&world.get(&format!("{V1}/a")).await), in_v1("a", 3));
    // Validation is by the version of the request.
    let wrong = world
        .client
        .write("POST", V2, &widget("v2", "b", "width", 101))
        .await;
    let (code, reason, message) = wrong.failure();
    assert_eq!((code, reason.as_str()), (422, "Invalid"));
    assert!(message.contains("spec.width"), "{message}");
    let a2 = format!("{V2}/a");
    let patched = world.patch(&a2, &json!({ "spec": { "width": 4 } })).await;
    assert_eq!(
        (patched.status.as_u16(), brief(&patched.json())),
        (200, in_v2("a", 4))
    );
    assert_eq!(patched.json()["metadata"]["generation"], 2);
    let status = json!({ "status": { "replicas": 7 } });
    let patched = world.patch(&format!("{V2}/a/status"), &status).await;
    assert_eq!(patched.json()["status"], status["status"]);
    let replicas = json!({ "spec": { "replicas": 5 } });
    let scaled = world.patch(&format!("{V2}/a/scale"), &replicas).await;
    assert_eq!(scaled.json()["spec"], json!({ "replicas": 5 }));
    let stored = world.get(&format!("{V1}/a")).await;
    assert_eq!(
        (brief(&stored), &stored["status"]),
        (in_v1("a", 5), &status["status"])
    );
    // What changes nothing is not written, and is not sent to be stored.
    let shown = world.get(&a2).await;
    world.calls();
    let put = world.client.write("PUT", &a2, &shown).await;
    assert_eq!((put.status.as_u16(), put.json()), (200, shown));
    assert_eq!(world.calls(), [1, 1], "read, and shown");
    // A rehearsal is converted like the real thing.
    let dry = format!("{V2}?dryRun=All");
    let dry = world
        .client
        .write("POST", &dry, &widget("v2", "c", "width", 9))
        .await;
    assert_eq!(
        (dry.status.as_u16(), brief(&dry.json())),
        (201, in_v2("c", 9))
    );
    assert_eq!(world.client.get(&format!("{V1}/c")).await.status, 404);
}

#[tokio::test]
async fn a_webhook_that_lies_or_fails_changes_nothing() {
    let mut world = World::usual().await;
    let made = world.widget("a", 1).await;
    let url = world.hook.url.clone();
    let said = |code: u16, body: Vec<u8>| -> Say {
        let body = bytes::Bytes::from(body);
        Box::new(move |_| {
            Some(crate::hook::Said {
                code,
                header: ("content-type", "application/json"),
                body: body.clone(),
            })
        })
    };
    // Each lie is told about one object of v1 and about one of v2: the first text and the second.
    let rows: [(Say, &str); 9] = [
        (
            liar(|r| r["convertedObjects"] = json!([])),
            "returned 0 objects, expected 1",
        ),
        (
            liar(|r| r["convertedObjects"][0]["apiVersion"] = "ex.io/v3".into()),
            "returned invalid object at index 0: invalid groupVersion (expected WANTED, received ex.io/v3)",
        ),
        (
            liar(|r| r["convertedObjects"][0]["kind"] = "Gadget".into()),
            "returned invalid object at index 0: invalid kind (expected Widget, received Gadget)",
        ),
        (
            liar(|r| r["convertedObjects"][0]["metadata"]["name"] = "x".into()),
            "returned invalid object: must have the same name: a != x",
        ),
        (
            liar(|r| r["convertedObjects"][0]["metadata"]["labels"] = json!({ "x": 1 })),
            "returned invalid metadata: metadata.labels[x] must be a string, but is int64 in converted object",
        ),
        (
            liar(|r| r["result"] = json!({ "status": "Failure", "message": "no" })),
            "failed: no",
        ),
        (
            said(200, b"no json".to_vec()),
            "failed: the answer cannot be read: ",
        ),
        (
            said(500, b"broken".to_vec()),
            "failed: Post \"URL?timeout=30s\": the webhook answered 500 Internal Server Error: \"broken\"",
        ),
        (
            said(200, vec![b' '; 17 << 20]),
            "failed: Post \"URL?timeout=30s\": the answer is larger than 16777216 bytes",
        ),
    ];
    for (say, expected) in rows {
        world.hook.now_says(say);
        let text = |from: &str, to: &str| {
            let expected = expected.replace("URL", &url);
            let expected = expected.replace("WANTED", &format!("ex.io/{to}"));
            format!("conversion webhook for ex.io/{from}, Kind=Widget {expected}")
        };
        let check = |answer: &Answer, expected: &str| {
            let (code, reason, message) = answer.failure();
            assert_eq!((code, reason.as_str()), (500, ""), "{message}");
            assert!(message.starts_with(expected), "{message}\n{expected}");
        };
        check(
            &world.client.get(&format!("{V2}/a")).await,
            &text("v1", "v2"),
        );
        check(&world.client.get(V2).await, &text("v1", "v2"));
        let patch = json!({ "spec": { "width": 2 } });
        check(
            &world.patch(&format!("{V2}/a"), &patch).await,
            &text("v1", "v2"),
        );
        let name = if expected.contains("name") { "a" } else { "b" };
        let made = world
            .client
            .write("POST", V2, &widget("v2", name, "width", 3))
            .await;
        check(&made, &text("v2", "v1"));
    }
    world.hook.now_says(liar(|r| r["uid"] = "another".into()));
    let (_, _, message) = world.client.get(&format!("{V2}/a")).await.failure();
    let start = "conversion webhook for ex.io/v1, Kind=Widget failed: expected response.uid=\"";
    assert!(
        message.starts_with(start) && message.ends_with("got \"another\""),
        "{message}"
    );
    assert_eq!(world.get(&format!("{V1}/a")).await, made, "nothing changed");
    assert_eq!(world.client.get(&format!("{V1}/b")).await.status, 404);
}

/// What can be stored and not be read back in the version of the request is not stored.
#[tokio::test]
async fn a_webhook_that_works_one_way_only_stores_nothing_by_halves() {
    let mut world = World::usual().await;
    world.hook.now_says(Box::new(|review| {
        let mut answer = convert(&review);
        if review["request"]["desiredAPIVersion"] == "ex.io/v2" {
            answer["response"]["result"] = json!({ "status": "Failure", "message": "one way" });
        }
        Some(answer.into())
    }));
    let made = world
        .client
        .write("POST", V2, &widget("v2", "a", "width", 3))
        .await;
    let message = made.failure().2;
    assert_eq!(
        message,
        "conversion webhook for ex.io/v1, Kind=Widget failed: one way"
    );
    assert_eq!(world.client.get(&format!("{V1}/a")).await.status, 404);
}

#[tokio::test]
async fn the_order_of_a_list_is_kept_or_the_list_is_refused() {
    let mut world = World::usual().await;
    world.widget("a", 1).await;
    world.widget("b", 2).await;
    world.hook.now_says(liar(|r| {
        r["convertedObjects"].as_array_mut().unwrap().reverse();
    }));
    let message = world.client.get(V2).await.failure().2;
    assert_eq!(
        message,
        "conversion webhook for ex.io/v1, Kind=Widget returned invalid converted object at index 0: \
         must have the same name: a != b"
    );
}

/// The next events of a watch.
async fn events(watch: &mut hyper::body::Incoming, count: usize) -> Vec<Value> {
    let mut read = Vec::new();
    loop {
        let lines = read.split(|byte| *byte == b'\n');
        let whole: Vec<Value> = lines
            .filter_map(|l| serde_json::from_slice(l).ok())
            .collect();
        if whole.len() >= count {
            return whole;
        }
        let frame = watch.frame().await.expect("the watch goes on").unwrap();
        read.extend_from_slice(&frame.into_data().unwrap());
    }
}

fn told(event: &Value) -> Value {
    json!([event["type"], brief(&event["object"])])
}

#[tokio::test]
async fn watches_show_the_version_that_is_asked_for_and_end_when_it_cannot_be_made() {
    let mut world = World::usual().await;
    world.widget("a", 1).await;
    let path = format!("{V2}?watch=true");
    let mut watch = world
        .client
        .open("GET", &path, &[], "".into())
        .await
        .unwrap()
        .into_body();
    let path = format!("{V2}?watch=true&labelSelector=width%3D2");
    let mut two = world
        .client
        .open("GET", &path, &[], "".into())
        .await
        .unwrap()
        .into_body();
    let first = events(&mut watch, 1).await;
    assert_eq!(told(&first[0]), json!(["ADDED", in_v2("a", 1)]));
    let a1 = format!("{V1}/a");
    world.patch(&a1, &json!({ "spec": { "size": 2 } })).await;
    world.patch(&a1, &json!({ "spec": { "size": 3 } })).await;
    let next = events(&mut watch, 2).await;
    let told_all: Vec<Value> = next.iter().map(told).collect();
    assert_eq!(
        told_all,
        [
            json!(["MODIFIED", in_v2("a", 2)]),
            json!(["MODIFIED", in_v2("a", 3)])
        ]
    );
    // Its label is of v2, so only there can be seen that it came and went.
    let seen: Vec<Value> = events(&mut two, 2).await.iter().map(told).collect();
    assert_eq!(
        seen,
        [
            json!(["ADDED", in_v2("a", 2)]),
            json!(["DELETED", in_v2("a", 2)])
        ]
    );
    world
        .hook
        .now_says(liar(|r| r["convertedObjects"] = json!([])));
    assert_eq!(world.client.send("DELETE", &a1, &[], "").await.status, 200);
    let last = events(&mut watch, 1).await;
    assert_eq!(
        (&last[0]["type"], &last[0]["object"]["message"]),
        (
            &json!("ERROR"),
            &json!("conversion webhook for ex.io/v1, Kind=Widget returned 0 objects, expected 1")
        )
    );
    let rest = watch.collect().await.unwrap().to_bytes();
    assert_eq!(rest, "", "the watch is over");
}

#[tokio::test]
async fn a_change_is_not_converted_for_each_who_watches_it() {
    let mut world = World::usual().await;
    world.widget("a", 1).await;
    let path = format!("{V2}?watch=true");
    let mut watches = Vec::new();
    for _ in 0..20 {
        let watch = world.client.open("GET", &path, &[], "".into()).await;
        let mut watch = watch.unwrap().into_body();
        events(&mut watch, 1).await;
        watches.push(watch);
    }
    world.calls();
    world
        .patch(&format!("{V1}/a"), &json!({ "spec": { "size": 2 } }))
        .await;
    for watch in &mut watches {
        let event = events(watch, 1).await;
        assert_eq!(told(&event[0]), json!(["MODIFIED", in_v2("a", 2)]));
    }
    let calls = world.calls().len();
    assert!((1..=4).contains(&calls), "{calls} calls for 20 watches");
}

#[tokio::test]
async fn objects_that_nobody_can_convert_can_be_deleted() {
    let mut world = World::usual().await;
    world.widget("a", 1).await;
    world.widget("b", 2).await;
    let b1 = format!("{V1}/b");
    let held = world
        .patch(
            &b1,
            &json!({ "metadata": { "finalizers": ["ex.io/held"] } }),
        )
        .await;
    // One that has to be shown has to be converted.
    let b2 = format!("{V2}/b");
    world
        .hook
        .now_says(liar(|r| r["convertedObjects"] = json!([])));
    let refused = world.client.send("DELETE", &b2, &[], "").await;
    assert_eq!(refused.status, 500);
    assert_eq!(world.get(&b1).await, held.json());
    let deleted = world
        .client
        .send("DELETE", &format!("{V2}/a"), &[], "")
        .await;
    assert_eq!(
        (deleted.status.as_u16(), &deleted.json()["status"]),
        (200, &json!("Success"))
    );
    world.hook.now_says(honest());
    let deleted = world.client.send("DELETE", &b2, &[], "").await;
    assert_eq!(
        (deleted.status.as_u16(), brief(&deleted.json())),
        (200, in_v2("b", 2))
    );
    assert!(deleted.json()["metadata"]["deletionTimestamp"].is_string());
    let released = world
        .patch(&b2, &json!({ "metadata": { "finalizers": null } }))
        .await;
    assert_eq!(released.status, 200, "{}", released.body);
    assert_eq!(world.client.get(&b1).await.status, 404);
    world.widget("c", 3).await;
    let all = world.client.send("DELETE", V2, &[], "").await;
    assert_eq!(brief(&all.json()["items"][0]), in_v2("c", 3));
    assert_eq!(world.get(V1).await["items"], json!([]));
}

#[tokio::test]
async fn objects_of_several_stored_versions_live_side_by_side() {
    let mut world = World::usual().await;
    world.widget("a", 1).await;
    let switch = json!([
        { "op": "replace", "path": "/spec/versions/0/storage", "value": false },
        { "op": "replace", "path": "/spec/versions/1/storage", "value": true },
    ]);
    let json_patch = [("content-type", "application/json-patch+json")];
    let switched = world
        .client
        .send("PATCH", CRD, &json_patch, switch.to_string())
        .await;
    assert_eq!(
        switched.json()["status"]["storedVersions"],
        json!(["v1", "v2"])
    );
    let made = world
        .client
        .write("POST", V2, &widget("v2", "b", "width", 2))
        .await;
    assert_eq!(made.status, 201, "{}", made.body);
    world.calls();
    let shown = |list: Value| -> Vec<Value> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(brief)
            .collect()
    };
    assert_eq!(
        shown(world.get(V2).await),
        [
            in_v2("a", 1),
            json!(["ex.io/v2", "b", null, { "width": 2, "two": "two" }])
        ]
    );
    assert_eq!(world.calls(), [1], "the one that is stored in v1");
    assert_eq!(shown(world.get(V1).await), [in_v1("a", 1), in_v1("b", 2)]);
    assert_eq!(world.calls(), [1], "the one that is stored in v2");
    // Any write stores an object in the version that is stored now, also one that changes nothing.
    let a1 = format!("{V1}/a");
    let before = world.get(&a1).await;
    let put = world.client.write("PUT", &a1, &before).await.json();
    assert_eq!(brief(&put), in_v1("a", 1));
    assert_ne!(
        put["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
    let again = world.client.write("PUT", &a1, &put).await.json();
    assert_eq!(
        again["metadata"]["resourceVersion"],
        put["metadata"]["resourceVersion"]
    );
    world.calls();
    world.get(V2).await;
    assert_eq!(
        world.calls(),
        [0_usize; 0],
        "nothing is stored in v1 any more"
    );
    // Then the old version can be dropped.
    let mut crd = world.get(CRD).await;
    crd["status"]["storedVersions"] = json!(["v2"]);
    let dropped = world
        .client
        .write("PUT", &format!("{CRD}/status"), &crd)
        .await;
    assert_eq!(dropped.json()["status"]["storedVersions"], json!(["v2"]));
}
