//! Servers on one store that do not agree whether gates count, and writes of all kinds against the raw bytes.

use serde_json::{Value, json};

use super::definition::{Moment, definition, object};
use super::world::{CRDS, Dice, Sent, World, warnings};

const CRD: &str = "crontabs.stable.example.com";
const OBJECTS: &str = "/apis/stable.example.com/v1/namespaces/default/crontabs";
/// What somebody is told whose CRD loses its gates.
const DROPPED: &str =
    "spec.customFeatureGates: dropped: feature gate CRDFieldLevelVersioning is disabled";
const KEY: &str = "stable.example.com/crontabs/default/c";

fn crd(gates: &[&str]) -> Value {
    definition(&json!({"gates": gates}), Moment::Now)
}

impl World {
    /// Waits until this server serves what another wrote.
    async fn follows(&mut self, generation: u64) {
        let path = format!("{CRDS}/{CRD}");
        loop {
            let crd = self.client.get(&path).await;
            let served = self.client.get(OBJECTS).await.status == 200;
            if served && crd.json()["metadata"]["generation"] == generation {
                break;
            }
            tokio::task::yield_now().await;
        }
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
    let mut on = World::new().await;
    let mut off = World::on(on.store.clone(), "").await;

    // A CRD that is made where gates do not count has none, and does not get some there; whoever wrote them is told.
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

    // One that has them keeps them, whoever writes it.
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

    // What one stores the other freezes, and shows.
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
    let mut on = World::on(off.store.clone(), super::world::ON).await;
    let answer = on
        .send(merge(named), &json!({"spec": {"replicas": 8}}))
        .await;
    assert_eq!(answer.json()["spec"], json!({"image": "d", "replicas": 7}));
}

const GATES: [(&str, &[&str]); 4] = [
    ("R", &["spec", "replicas"]),
    ("F", &["spec", "foo"]),
    ("Q", &["spec", "foo", "qux"]),
    ("S", &["status", "note"]),
];

fn spec(dice: &mut Dice) -> Value {
    let mut spec = json!({});
    if dice.roll(3) > 0 {
        spec["image"] = format!("i{}", dice.roll(3)).into();
    }
    if dice.roll(2) == 0 {
        spec["replicas"] = dice.roll(4).into();
    }
    match dice.roll(4) {
        0 => {}
        1 => spec["foo"] = json!({}),
        2 => spec["foo"] = json!({"baz": dice.roll(3)}),
        _ => spec["foo"] = json!({"baz": dice.roll(3), "qux": dice.roll(3)}),
    }
    spec
}

fn at<'v>(value: &'v Value, path: &[&str]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, name| value.get(name))
}

/// Bytes at paths of closed gates are as they were, if the parent is there.
fn check(closed: &[&str], before: &Value, after: &Value, what: &str) {
    for (name, path) in GATES.iter().filter(|(name, _)| closed.contains(name)) {
        let (_, parent) = path.split_last().unwrap();
        let is_below = *name == "Q" && closed.contains(&"F");
        if !is_below && at(after, parent).is_some_and(Value::is_object) {
            assert_eq!(
                at(after, path),
                at(before, path),
                "{name} {what}\nbefore {before}\nafter {after}"
            );
        }
    }
}

async fn act(world: &mut World, dice: &mut Dice) -> String {
    let named = format!("{OBJECTS}/c");
    let (body, status) = (
        spec(dice),
        json!({"note": format!("n{}", dice.roll(3)), "ready": dice.roll(3)}),
    );
    let manager = dice.pick(&["alice", "bob"]);
    let sent = |method, path: String, media_type| Sent {
        method,
        path,
        media_type,
    };
    let kind = dice.roll(11);
    let applied = |part: &str, force: &str| {
        let path = format!("{named}{part}?fieldManager={manager}{force}");
        sent("PATCH", path, "application/apply-patch+yaml")
    };
    let present = world.client.get(&named).await.json();
    let (sent, body) = match kind {
        0 => (merge(named), json!({"spec": body})),
        1 => (
            merge(named),
            json!({"spec": {"replicas": null, "foo": {"qux": null}}}),
        ),
        2 => (
            applied("", "&force=true"),
            object("v1", &body, &Value::Null),
        ),
        3 => (merge(format!("{named}/status")), json!({"status": status})),
        4 => (
            merge(format!("{named}/scale")),
            json!({"spec": {"replicas": dice.roll(5)}}),
        ),
        5 => (applied("", ""), object("v1", &body, &Value::Null)),
        6 => (
            applied("/status", "&force=true"),
            object("v1", &Value::Null, &status),
        ),
        7 => (
            sent("PATCH", named, "application/json-patch+json"),
            json!([
                {"op": "add", "path": "/spec", "value": body},
                {"op": "add", "path": "/spec/replicas", "value": dice.roll(5)},
                {"op": "remove", "path": "/spec/replicas"},
            ]),
        ),
        8 => {
            let mut next = present;
            next["spec"] = body;
            next["status"] = status;
            (
                sent("PUT", format!("{named}/status"), "application/json"),
                next,
            )
        }
        9 => {
            let scale = json!({
                "apiVersion": "autoscaling/v1", "kind": "Scale",
                "metadata": {"name": "c", "namespace": "default"}, "spec": {"replicas": dice.roll(5)},
            });
            (
                sent("PUT", format!("{named}/scale"), "application/json"),
                scale,
            )
        }
        _ => {
            let mut next = object("v1", &body, &status);
            next["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
            (sent("PUT", named, "application/json"), next)
        }
    };
    let told = format!("{} {} {body}", sent.method, sent.path);
    let answer = world.send(sent, &body).await;
    // A scale that nobody may set cannot be patched where there is none, and who applies without force may be in conflict.
    let is_refused = (kind == 4, answer.status.as_u16()) == (true, 500)
        || (kind == 5, answer.status.as_u16()) == (true, 409);
    assert!(
        answer.status == 200 || is_refused,
        "{told}: {}",
        answer.body
    );
    told
}

/// field-gates.md §14/property: whatever is written, a closed gate never changes bytes under its path; opened, it gives control back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_gate_changes_no_bytes_whatever_is_written() {
    let mut world = World::new().await;
    let row = |gates: Vec<String>| {
        json!({"gates": gates, "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.ready"}}})
    };
    // Edits of a CRD that leave states as they are: another order, another stage.
    let edited = |mut states: Vec<String>, dice: &mut Dice| {
        if dice.roll(2) == 0 {
            states.reverse();
        }
        let mut row = row(states);
        if dice.roll(3) == 0 {
            row["gate"] = json!({"preRelease": "deprecated", "default": false});
        }
        definition(&row, Moment::Now)
    };
    let named = format!("{OBJECTS}/c");
    for seed in 1..=6 {
        let mut dice = Dice(seed);
        let open: Vec<String> = GATES.iter().map(|(name, _)| format!("{name}+")).collect();
        let answer = world
            .define(&definition(&row(open.clone()), Moment::Now))
            .await;
        assert!(answer.status.is_success(), "{}", answer.body);
        let made = object("v1", &spec(&mut dice), &Value::Null);
        assert_eq!(world.client.write("POST", OBJECTS, &made).await.status, 201);
        for _ in 0..6 {
            let states: Vec<String> = GATES
                .iter()
                .map(|(name, _)| format!("{name}{}", dice.pick(&["+", "-"])))
                .collect();
            let closed = states.iter().filter_map(|state| state.strip_suffix('-'));
            let closed: Vec<&str> = closed.collect();
            let (before, _) = world.stored(KEY).await.unwrap();
            let answer = world.define(&edited(states.clone(), &mut dice)).await;
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert_eq!(
                world.stored(KEY).await.unwrap().0,
                before,
                "a CRD rewrites no object"
            );
            for _ in 0..6 {
                let (before, _) = world.stored(KEY).await.unwrap();
                let told = act(&mut world, &mut dice).await;
                let (after, _) = world.stored(KEY).await.unwrap();
                check(
                    &closed,
                    &before,
                    &after,
                    &format!("seed {seed}, {closed:?}: {told}"),
                );
            }
        }
        let answer = world.define(&definition(&row(open), Moment::Now)).await;
        assert_eq!(answer.status, 200);
        let wanted = json!({"image": "last", "replicas": 9, "foo": {"baz": 8, "qux": 7}});
        let answer = world
            .send(merge(named.clone()), &json!({"spec": wanted}))
            .await;
        assert_eq!(answer.json()["spec"], wanted, "seed {seed}");
        assert_eq!(
            world.client.send("DELETE", &named, &[], "").await.status,
            200
        );
    }
}
