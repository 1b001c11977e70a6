//! Servers that end without warning.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, ObjectMeta, PostParams};

use crate::server::Server;

/// How many clients write at once.
const WRITERS: usize = 4;
/// How many writes are acknowledged before a server is killed.
const ACKNOWLEDGED: usize = 60;

#[tokio::test]
async fn nothing_acknowledged_is_lost_by_a_kill_under_load() {
    let folder = tempfile::tempdir().unwrap();
    let acknowledged: Arc<Mutex<BTreeMap<String, String>>> = Arc::default();
    let mut revisions = Vec::new();
    for round in 0..5 {
        let server = Server::start(folder.path(), "embedded");
        let client = server.client().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let found = maps
            .list(&ListParams::default().labels("app=crash"))
            .await
            .unwrap();
        let stored: BTreeMap<String, String> = found
            .items
            .into_iter()
            .map(|map| {
                (
                    map.metadata.name.unwrap(),
                    map.metadata.resource_version.unwrap(),
                )
            })
            .collect();
        for (name, version) in acknowledged.lock().unwrap().iter() {
            assert_eq!(stored.get(name), Some(version), "{name} was acknowledged");
        }
        // What was not acknowledged may be there, but then it is there for good.
        acknowledged.lock().unwrap().extend(stored);
        revisions.push(
            found
                .metadata
                .resource_version
                .unwrap()
                .parse::<u64>()
                .unwrap(),
        );
        let before = acknowledged.lock().unwrap().len();
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let (maps, acknowledged) = (maps.clone(), Arc::clone(&acknowledged));
            writers.spawn(async move {
                for number in 0.. {
                    let name = format!("crash-{round}-{writer}-{number}");
                    let Ok(made) = maps.create(&PostParams::default(), &map(&name)).await else {
                        return;
                    };
                    let version = made.metadata.resource_version.unwrap();
                    acknowledged.lock().unwrap().insert(name, version);
                }
            });
        }
        while acknowledged.lock().unwrap().len() < before + ACKNOWLEDGED {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        server.kill();
        writers.join_all().await;
    }
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
