//! Objects that are moved to another stored version while values in them are frozen.

use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::gated::{gated, warnings};
use crate::world::{CRDS, Sent};

const CRD: &str = "crontabs.stable.example.com";

fn key(name: &str) -> String {
    format!("stable.example.com/crontabs/default/{name}")
}

fn path(version: &str, name: &str) -> String {
    format!("/apis/stable.example.com/{version}/namespaces/default/crontabs/{name}")
}

/// The CRD with two versions, one of which is stored, and gates in a state.
fn crd(moment: Moment, gates: &[&str]) -> Value {
    let row = json!({"gates": gates, "versions": "both", "before": {"storage": "v1beta1", "gates": gates}});
    definition(&row, moment)
}

/// field-gates.md §5/D19: a migration reads every object and writes it back unchanged. That moves its bytes to the
/// current storage version, keeps frozen values and causes no warnings.
#[tokio::test]
async fn a_storage_migration_keeps_frozen_values() {
    let mut world = gated().await;
    let open = ["R+", "B+", "N+", "S+"];
    let closed = ["R-", "B-", "N-", "S-"];
    let answer = world.define(&crd(Moment::Before, &open)).await;
    assert_eq!(answer.status, 201, "{}", answer.body);
    let specs = [
        ("a", json!({"image": "i", "replicas": 0, "note": null})),
        (
            "b",
            json!({"jobs": [{"name": "x", "probe": {"path": "/"}}, {"name": "y"}]}),
        ),
        ("c", json!({"image": "i"})),
    ];
    for (name, spec) in &specs {
        let mut made = object("v1", spec, &Value::Null);
        made["metadata"]["name"] = (*name).into();
        let all = path("v1", "");
        let answer = world
            .client
            .write("POST", all.trim_end_matches('/'), &made)
            .await;
        assert_eq!(answer.status, 201, "{}", answer.body);
        let mut made = answer.json();
        made["status"] = json!({"note": "n", "ready": 1});
        let status = format!("{}/status", path("v1", name));
        assert_eq!(world.client.write("PUT", &status, &made).await.status, 200);
    }
    assert_eq!(
        world.define(&crd(Moment::Before, &closed)).await.status,
        200
    );
    assert_eq!(world.define(&crd(Moment::Now, &closed)).await.status, 200);
    let stored_versions = world.client.get(&format!("{CRDS}/{CRD}")).await.json();
    assert_eq!(
        stored_versions["status"]["storedVersions"],
        json!(["v1beta1", "v1"])
    );
    // Whichever version a migration speaks.
    for ((name, _), version) in specs.iter().zip(["v1", "v1beta1", "v1"]) {
        let (before, _) = world.stored(&key(name)).await.unwrap();
        assert_eq!(before["apiVersion"], "stable.example.com/v1beta1");
        let present = world.client.get(&path(version, name)).await.json();
        let answer = world
            .client
            .write("PUT", &path(version, name), &present)
            .await;
        assert_eq!(
            (answer.status.as_u16(), warnings(&answer)),
            (200, Vec::new()),
            "{}",
            answer.body
        );
        let (after, _) = world.stored(&key(name)).await.unwrap();
        let part = |object: &Value| {
            json!([
                object["spec"],
                object["status"],
                object["metadata"]["generation"]
            ])
        };
        assert_eq!(
            (&after["apiVersion"], part(&after)),
            (&json!("stable.example.com/v1"), part(&before))
        );
    }
    // Opened, the fields are as free as they were.
    assert_eq!(world.define(&crd(Moment::Now, &open)).await.status, 200);
    let sent = Sent {
        method: "PATCH",
        path: path("v1", "a"),
        media_type: "application/merge-patch+json",
    };
    let answer = world
        .send(sent, &json!({"spec": {"replicas": 7, "note": "x"}}))
        .await;
    assert_eq!(
        answer.json()["spec"],
        json!({"image": "i", "replicas": 7, "note": "x"})
    );
}
