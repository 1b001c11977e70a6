//! Servers on one store that do not agree whether gates count.

use lockstep_testkit::client::Answer;
use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::gated::{gated, server_on, warnings};
use crate::world::{CRDS, Sent, World};

const CRD: &str = "crontabs.stable.example.com";
const OBJECTS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";
/// Warning for a CRD whose gates are dropped.
const DROPPED: &str =
    "spec.customFeatureGates: dropped: feature gate CRDFieldLevelVersioning is disabled";

fn crd(gates: &[&str]) -> Value {
    definition(&json!({"gates": gates}), Moment::Now)
}

impl World {
    /// Waits until this server serves a generation of the CRD that another server wrote.
    async fn follows(&mut self, generation: u64) {
        let path = format!("{CRDS}/{CRD}");
        let is_served = |answer: &Answer| answer.status == 200;
        self.client.get_until(OBJECTS, is_served).await;
        let is_current = |answer: &Answer| answer.json()["metadata"]["generation"] == generation;
        self.client.get_until(&path, is_current).await;
        // A write of a CRD waits until all of them are in force here.
        let labels = json!({"metadata": {"labels": {"seen": generation.to_string()}}});
        let sent = merge(path);
        assert_eq!(self.send(sent, &labels).await.status, 200);
    }
}

fn merge<'a>(path: String) -> Sent<'a> {
    Sent {
        method: "PATCH",
        path,
        media_type: "application/merge-patch+json",
    }
}

/// field-gates.md §9/server-gate-off, field-gates.md §9/ha and field-gates.md §10/98: neither server loses what the other stored.
/// feature-gates.md §10/logic: where the gate is off, fields that carry gates are free, and the gates stay as they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_disagree_lose_no_data_of_each_other() {
    let mut on = gated().await;
    let mut off = server_on(on.store.clone(), "").await;

    // A server without the feature drops gates of a new CRD, on create and on update, and warns the client.
    for code in [201, 200] {
        let answer = off.define(&crd(&["R-"])).await;
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.json()["spec"].get("customFeatureGates"),
                warnings(&answer),
            ),
            (code, None, vec![DROPPED.to_owned()])
        );
    }
    on.follows(1).await;

    // A CRD that already has gates keeps them, whichever server writes it.
    assert_eq!(on.define(&crd(&["R-"])).await.status, 200);
    off.follows(2).await;
    let path = format!("{CRDS}/{CRD}");
    let kept = off.client.get(&path).await.json()["spec"]["customFeatureGates"].clone();
    assert_eq!(kept, crd(&["R-"])["spec"]["customFeatureGates"]);
    let mut written = off.client.get(&path).await.json();
    written["spec"]["names"]["shortNames"] = json!(["ct"]);
    let answer = off.client.write("PUT", &path, &written).await;
    assert_eq!(
        (answer.status.as_u16(), warnings(&answer)),
        (200, Vec::new()),
        "{}",
        answer.body
    );
    on.follows(3).await;
    assert_eq!(answer.json()["spec"]["customFeatureGates"], kept);

    // A value stored by one server is frozen and shown by the other.
    let made = object("v1", &json!({"image": "a", "replicas": 3}), &Value::Null);
    assert_eq!(off.client.write("POST", OBJECTS, &made).await.status, 201);
    let named = format!("{OBJECTS}/c");
    for (replicas, image) in [(json!(4), "b"), (Value::Null, "c")] {
        let change = json!({"spec": {"replicas": replicas, "image": image}});
        let answer = on.send(merge(named.clone()), &change).await;
        assert_eq!(
            answer.json()["spec"],
            json!({"image": image, "replicas": 3})
        );
    }
    let answer = off
        .send(merge(named.clone()), &json!({"spec": {"replicas": 7}}))
        .await;
    assert_eq!(answer.json()["spec"], json!({"image": "c", "replicas": 7}));
    let answer = on
        .send(merge(named.clone()), &json!({"spec": {"image": "d"}}))
        .await;
    assert_eq!(answer.json()["spec"], json!({"image": "d", "replicas": 7}));

    // Off again and on again: gates act as before, stored values are as they were.
    on.server.stop().await;
    let mut on = server_on(off.store.clone(), super::gated::ON).await;
    let answer = on
        .send(merge(named), &json!({"spec": {"replicas": 8}}))
        .await;
    assert_eq!(answer.json()["spec"], json!({"image": "d", "replicas": 7}));
}
