//! Reads and deletes, which gates do not affect.

use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::gated::{gated, of_gates};
use crate::world::{Sent, World};

const OBJECTS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";

fn key(name: &str) -> String {
    format!("stable.example.com/crontabs/default/{name}")
}

/// Objects that were stored while the gate was open, and the gate closed behind them.
async fn frozen(names: &[&str]) -> World {
    let mut world = gated().await;
    let gated = |gates: &[&str]| {
        let mut crd = definition(&json!({"gates": gates}), Moment::Now);
        crd["spec"]["versions"][0]["selectableFields"] = json!([{"jsonPath": ".spec.replicas"}]);
        crd["spec"]["versions"][0]["additionalPrinterColumns"] =
            json!([{"name": "Replicas", "type": "integer", "jsonPath": ".spec.replicas"}]);
        crd
    };
    assert_eq!(world.define(&gated(&["R+"])).await.status, 201);
    for name in names {
        let mut made = object("v1", &json!({"replicas": 3}), &Value::Null);
        made["metadata"]["name"] = (*name).into();
        made["metadata"]["finalizers"] = json!(["ex.io/wait"]);
        let answer = world.client.write("POST", OBJECTS, &made).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
    assert_eq!(world.define(&gated(&["R-"])).await.status, 200);
    world
}

async fn merge(world: &mut World, name: &str, change: &Value) -> Answer {
    let sent = Sent {
        method: "PATCH",
        path: format!("{OBJECTS}/{name}"),
        media_type: "application/merge-patch+json",
    };
    world.send(sent, change).await
}

/// field-gates.md §10/95 and field-gates.md §5/D18: get, list, table, selector and watch show what is frozen, and closing a
/// gate is no event and no write.
#[tokio::test]
async fn reads_show_what_is_frozen_and_closing_a_gate_is_no_event() {
    let mut world = frozen(&["c"]).await;
    let (stored, revision) = world.stored(&key("c")).await.unwrap();
    assert_eq!(stored["spec"], json!({"replicas": 3}));
    let client = &mut world.client;
    let one = client.get(&format!("{OBJECTS}/c")).await.json();
    let all = client.get(OBJECTS).await.json();
    let selected = format!("{OBJECTS}?fieldSelector=spec.replicas%3D3");
    let selected = client.get(&selected).await.json();
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = client.send("GET", OBJECTS, &accept, "").await.json();
    assert_eq!(
        (
            &one["metadata"]["resourceVersion"],
            &one["spec"],
            &all["items"][0]["spec"],
            &selected["items"][0]["spec"],
            &table["rows"][0]["cells"],
        ),
        (
            &json!(revision.to_string()),
            &stored["spec"],
            &stored["spec"],
            &stored["spec"],
            &json!(["c", 3])
        )
    );
    // The watch reports this change and nothing about the gate.
    let labels = json!({"metadata": {"labels": {"a": "b"}}});
    assert_eq!(merge(&mut world, "c", &labels).await.status, 200);
    let watch = format!("{OBJECTS}?watch=true&resourceVersion={revision}&timeoutSeconds=1");
    let answer = world.client.get(&watch).await;
    let events: Vec<Value> = answer
        .body
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: Vec<Value> = events
        .iter()
        .map(|event| {
            json!([
                event["type"],
                event["object"]["spec"],
                event["object"]["metadata"]["labels"]
            ])
        })
        .collect();
    assert_eq!(told, [json!(["MODIFIED", {"replicas": 3}, {"a": "b"}])]);
}

/// field-gates.md §10/99: objects with a frozen field go as all others do: by name, with all, and when nothing holds them.
#[tokio::test]
async fn a_frozen_field_holds_no_object_back() {
    let mut world = frozen(&["one", "two"]).await;
    let named = format!("{OBJECTS}/one");
    for path in [named.as_str(), OBJECTS] {
        let answer = world.client.send("DELETE", path, &[], "").await;
        assert_eq!(
            (answer.status.as_u16(), of_gates(&answer)),
            (200, Vec::new()),
            "{}",
            answer.body
        );
    }
    for name in ["one", "two"] {
        let (stored, _) = world.stored(&key(name)).await.unwrap();
        assert!(stored["metadata"]["deletionTimestamp"].is_string());
        assert_eq!(stored["spec"], json!({"replicas": 3}));
        let free = json!({"metadata": {"finalizers": null}});
        let answer = merge(&mut world, name, &free).await;
        assert_eq!(
            (answer.status.as_u16(), of_gates(&answer)),
            (200, Vec::new()),
            "{}",
            answer.body
        );
        assert_eq!(world.stored(&key(name)).await, None);
    }
}
