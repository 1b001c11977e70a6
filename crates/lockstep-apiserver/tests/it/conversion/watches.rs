//! Following.

use http_body_util::BodyExt as _;
use serde_json::{Value, json};

use super::widgets::{CRD, V1, V2, brief, in_v1, in_v2, liar, usual};

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
    let mut world = usual().await;
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
    let mut world = usual().await;
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

/// A watch converts by the spec of the CRD at its start, and ends when that spec changes.
#[tokio::test]
async fn watches_end_with_the_spec_that_they_were_begun_under() {
    let mut world = usual().await;
    world.widget("a", 1).await;
    let path = format!("{V2}?watch=true");
    let watch = world.client.open("GET", &path, &[], "".into()).await;
    let mut watch = watch.unwrap().into_body();
    events(&mut watch, 1).await;
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    assert_eq!(world.patch(CRD, &labelled).await.status, 200);
    world
        .patch(&format!("{V1}/a"), &json!({ "spec": { "size": 2 } }))
        .await;
    let event = events(&mut watch, 1).await;
    assert_eq!(told(&event[0]), json!(["MODIFIED", in_v2("a", 2)]));
    let none = json!({ "spec": { "conversion": { "strategy": "None", "webhook": null } } });
    assert_eq!(world.patch(CRD, &none).await.status, 200);
    let rest = watch.collect().await.unwrap().to_bytes();
    assert_eq!(rest, "");
    let watch = world
        .client
        .open("GET", &format!("{V1}?watch=true"), &[], "".into())
        .await;
    let mut watch = watch.unwrap().into_body();
    events(&mut watch, 1).await;
    assert_eq!(world.client.send("DELETE", CRD, &[], "").await.status, 200);
    let rest = watch.collect().await.unwrap().to_bytes();
    let deleted: Value = serde_json::from_slice(&rest).unwrap();
    assert_eq!(told(&deleted), json!(["DELETED", in_v1("a", 2)]));
}
