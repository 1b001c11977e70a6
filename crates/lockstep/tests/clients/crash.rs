//! Servers that end without warning.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use lockstep_testkit::wait::{eventually, holds};
use serde_json::json;

use crate::server::Server;

/// Number of concurrent writers.
const WRITERS: usize = 4;
/// Number of acknowledged writes before a server is killed.
const ACKNOWLEDGED: usize = 60;

/// Last acknowledged state of an object: its resource version, or its deletion. It is unknown if the last write got no
/// response.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Known {
    At(String),
    Gone,
    Open,
}

/// State of all objects as the clients know it, and the number of acknowledged writes.
#[derive(Default)]
struct Told {
    objects: BTreeMap<String, Known>,
    writes: usize,
}

/// Creates, changes and deletes objects until the server stops responding.
async fn write(maps: Api<ConfigMap>, told: Arc<Mutex<Told>>, prefix: String) {
    let begin = |name: &str| {
        let mut told = told.lock().unwrap();
        told.objects.insert(name.to_owned(), Known::Open);
    };
    let end = |name: &str, known: Known| {
        let mut told = told.lock().unwrap();
        told.objects.insert(name.to_owned(), known);
        told.writes += 1;
    };
    for number in 0.. {
        let name = format!("{prefix}-{number}");
        begin(&name);
        let Ok(made) = maps.create(&PostParams::default(), &map(&name)).await else {
            return;
        };
        end(&name, Known::At(made.resource_version().unwrap()));
        if number % 3 == 1 {
            begin(&name);
            let change = Patch::Merge(json!({"data": {"k": "changed"}}));
            let patched = maps.patch(&name, &PatchParams::default(), &change).await;
            let Ok(patched) = patched else { return };
            end(&name, Known::At(patched.resource_version().unwrap()));
        }
        if number % 3 == 2 {
            begin(&name);
            if maps.delete(&name, &DeleteParams::default()).await.is_err() {
                return;
            }
            end(&name, Known::Gone);
        }
    }
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_by_a_kill_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let told: Arc<Mutex<Told>> = Arc::default();
    let mut revisions = Vec::new();
    for round in 0..5 {
        let server = Server::start(folder.path(), "embedded");
        let client = server.client().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let found = maps
            .list(&ListParams::default().labels("app=crash"))
            .await
            .unwrap();
        revisions.push(found.metadata.resource_version.unwrap());
        let stored: BTreeMap<String, Known> = found
            .items
            .into_iter()
            .map(|map| (map.name_any(), Known::At(map.resource_version().unwrap())))
            .collect();
        for (name, known) in &mut told.lock().unwrap().objects {
            let now = stored.get(name).unwrap_or(&Known::Gone);
            if *known == Known::Open {
                // Either way is right, but then it is so for good.
                *known = now.clone();
            }
            assert_eq!(known, now, "{name}, in round {round}");
        }
        let known = told.lock().unwrap().objects.len();
        assert!(
            stored.len() <= known,
            "every stored object was created by a writer"
        );
        let before = told.lock().unwrap().writes;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let prefix = format!("crash-{round}-{writer}");
            writers.spawn(write(maps.clone(), Arc::clone(&told), prefix));
        }
        eventually("acknowledged writes", async || {
            let acknowledged = told.lock().unwrap().writes - before;
            holds(acknowledged >= ACKNOWLEDGED, acknowledged)
        })
        .await;
        server.kill();
        writers.join_all().await;
    }
    let revisions: Vec<u64> = revisions.iter().map(|one| one.parse().unwrap()).collect();
    assert!(
        revisions.is_sorted(),
        "revisions never go back: {revisions:?}"
    );
}

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("app".to_owned(), "crash".to_owned())])),
            ..ObjectMeta::default()
        },
        ..ConfigMap::default()
    }
}
