//! Two servers on one etcd: gates are switched while clients write through both, or count on one of them only.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use kube::api::Patch;
use lockstep_testkit::processes::Etcd;
use lockstep_testkit::wait::{eventually, holds};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::crontabs::{Answer, Crontabs};
use super::definition::{Moment, definition, object};
use super::on;
use crate::server::Server;

/// Writers on each server.
const WRITERS: usize = 2;
/// Number of times that the gate is switched.
const FLIPS: u64 = 6;
/// Warning for a write to a field whose gate is closed.
const KEPT: &str = "spec.replicas: not updated: feature gate istio/R (alpha) is disabled, the stored value was kept";

fn named(name: &str, spec: &Value) -> Value {
    let mut object = object("v1", spec, &Value::Null);
    object["metadata"]["name"] = name.into();
    object
}

fn crd(gates: &[&str]) -> Value {
    definition(&json!({"gates": gates}), Moment::Now)
}

fn merge(spec: &Value) -> Patch<Value> {
    Patch::Merge(json!({"spec": spec}))
}

/// Background task that writes one object through one server until the test ends.
struct Writer {
    crontabs: Crontabs,
    name: String,
    /// Number of writes so far.
    written: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
}

impl Writer {
    async fn run(self) {
        for number in 1_u64.. {
            if self.ends.load(Ordering::SeqCst) {
                return;
            }
            let wish = json!({"image": format!("i{number}"), "replicas": number});
            let Answer {
                code,
                body,
                warnings,
            } = self.crontabs.patch(&self.name, &merge(&wish)).await;
            assert_eq!(
                (code, &body["spec"]["image"]),
                (200, &wish["image"]),
                "{body}"
            );
            let replicas = body["spec"]["replicas"]
                .as_u64()
                .expect("no value is ever lost");
            // Either the whole write is stored without a warning, or the field keeps its earlier value.
            match &*warnings {
                [] => assert_eq!(replicas, number),
                told => assert_eq!((told, replicas < number), (&[KEPT.to_owned()][..], true)),
            }
            self.written.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Servers, and those who write through them.
struct Load {
    servers: [Crontabs; 2],
    names: Vec<String>,
    written: Vec<Arc<AtomicU64>>,
    ends: Arc<AtomicBool>,
    writers: JoinSet<()>,
}

impl Load {
    async fn start(servers: [Crontabs; 2]) -> Self {
        let mut load = Self {
            servers,
            names: Vec::new(),
            written: Vec::new(),
            ends: Arc::default(),
            writers: JoinSet::new(),
        };
        for (at, crontabs) in load.servers.iter().enumerate() {
            for writer in 0..WRITERS {
                let name = format!("c{at}{writer}");
                let made = crontabs
                    .create(&named(&name, &json!({"replicas": 0})))
                    .await;
                assert_eq!(made.code, 201, "{made:?}");
                let written = Arc::new(AtomicU64::new(0));
                let writer = Writer {
                    crontabs: crontabs.clone(),
                    name: name.clone(),
                    written: Arc::clone(&written),
                    ends: Arc::clone(&load.ends),
                };
                load.names.push(name);
                load.written.push(written);
                load.writers.spawn(writer.run());
            }
        }
        load
    }

    /// Waits until each writer has written `times` more objects.
    async fn goes_on(&self, times: u64) {
        let counts = || {
            self.written
                .iter()
                .map(|count| count.load(Ordering::SeqCst))
        };
        let wanted: Vec<u64> = counts().map(|count| count + times).collect();
        eventually("writes of every writer", async || {
            assert_eq!(self.writers.len(), self.names.len());
            let is_done = counts()
                .zip(&wanted)
                .all(|(count, wanted)| count >= *wanted);
            holds(is_done, counts().collect::<Vec<_>>())
        })
        .await;
    }

    /// The gated field of every object, as the other server shows it.
    async fn replicas(&self) -> Vec<Value> {
        let mut found = Vec::new();
        for (at, name) in self.names.iter().enumerate() {
            let server = &self.servers[1 - at / WRITERS];
            found.push(server.get(name).await.body["spec"]["replicas"].clone());
        }
        found
    }

    async fn end(mut self) {
        self.ends.store(true, Ordering::SeqCst);
        while let Some(ended) = self.writers.join_next().await {
            ended.unwrap();
        }
    }
}

/// Switches the gate through one server, whose next request sees it.
async fn switch(crontabs: &Crontabs, is_open: bool, round: u64) {
    let switch = json!([
        {"op": "replace", "path": "/spec/customFeatureGates/featureGates/0/enabled", "value": is_open},
    ]);
    let switch = Patch::Json(serde_json::from_value(switch).unwrap());
    let switched = crontabs.patch_crd(&switch).await;
    assert_eq!(switched.code, 200, "{switched:?}");
    let answer = crontabs
        .patch("own", &merge(&json!({"replicas": round})))
        .await;
    let expected = if is_open {
        Vec::new()
    } else {
        vec![KEPT.to_owned()]
    };
    assert_eq!(answer.warnings, expected, "round {round}");
    assert_eq!(answer.body["spec"]["replicas"] == round, is_open);
}

/// Waits until a server has in force what another wrote: a write of a CRD waits for all before it.
async fn catches_up(crontabs: &Crontabs, round: u64) {
    let label = json!({"metadata": {"labels": {"round": round.to_string()}}});
    assert_eq!(crontabs.patch_crd(&Patch::Merge(label)).await.code, 200);
}

fn start(folder: &Path, etcd: &Etcd, name: &str) -> Server {
    Server::start_with(&folder.join(name), &etcd.store(), &on())
}

/// field-gates.md §14/two-servers, field-gates.md §3/snapshot, field-gates.md §10/94: whatever is written while a gate is switched, no write
/// of other fields is lost, no value of the gated one, and none of them changes once a server knows that it is closed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_is_switched_under_load_and_nothing_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let Some(etcd) = Etcd::start(folder.path(), "http", &[]) else {
        return;
    };
    let servers = ["a", "b"].map(|name| start(folder.path(), &etcd, name));
    let [a, b] = &servers;
    let crontabs = [a.client().await, b.client().await].map(Crontabs::on);
    assert_eq!(crontabs[0].define(&crd(&["R+"])).await.code, 201);
    catches_up(&crontabs[1], 0).await;
    let own = named("own", &json!({"replicas": 0}));
    assert_eq!(crontabs[0].create(&own).await.code, 201);
    let load = Load::start(crontabs.clone()).await;
    for round in 1..=FLIPS {
        let is_open = round % 2 == 0;
        let (here, there) = (usize::from(round % 4 < 2), usize::from(round % 4 >= 2));
        load.goes_on(2).await;
        switch(&crontabs[here], is_open, round).await;
        catches_up(&crontabs[there], round).await;
        // Writes that were in flight during the switch are done.
        load.goes_on(2).await;
        let before = load.replicas().await;
        load.goes_on(4).await;
        let after = load.replicas().await;
        if is_open {
            let pairs = before.iter().zip(&after);
            assert!(
                pairs
                    .clone()
                    .all(|(before, after)| before.as_u64() < after.as_u64()),
                "an open gate gives control back: {before:?} {after:?}"
            );
        } else {
            assert_eq!(after, before, "round {round}");
        }
    }
    load.end().await;
}

/// field-gates.md §9/server-gate-off, field-gates.md §9/ha, field-gates.md §10/98: as `docs/decisions/0017-field-gates.md` says.
#[tokio::test]
async fn a_server_that_looks_at_gates_and_one_that_does_not_share_an_etcd() {
    let folder = tempfile::tempdir().unwrap();
    let Some(etcd) = Etcd::start(folder.path(), "http", &[]) else {
        return;
    };
    let servers = (
        start(folder.path(), &etcd, "on"),
        Server::start(&folder.path().join("off"), &etcd.store()),
    );
    let on = Crontabs::on(servers.0.client().await);
    let off = Crontabs::on(servers.1.client().await);
    assert_eq!(on.define(&crd(&["R-"])).await.code, 201);
    catches_up(&off, 1).await;
    let made = off.create(&named("c", &json!({"replicas": 3}))).await;
    assert_eq!((made.code, made.warnings), (201, Vec::new()));
    let kept = on
        .patch("c", &merge(&json!({"replicas": 4, "image": "b"})))
        .await;
    assert_eq!(
        (&kept.body["spec"], kept.warnings),
        (&json!({"image": "b", "replicas": 3}), vec![KEPT.to_owned()])
    );
    let free = off.patch("c", &merge(&json!({"replicas": 5}))).await;
    assert_eq!(
        (&free.body["spec"]["replicas"], free.warnings),
        (&json!(5), Vec::new())
    );
    let again = off.define(&crd(&["R-"])).await;
    assert_eq!(
        again.body["spec"]["customFeatureGates"],
        crd(&["R-"])["spec"]["customFeatureGates"]
    );
}
