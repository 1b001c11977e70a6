//! Two servers on one etcd.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams, WatchEvent, WatchParams};
use lockstep_testkit::processes::Etcd;
use serde_json::json;

use crate::server::Server;
use crate::widget::{define, widget, widgets};

/// api-machinery.md §7/linearizable.
#[tokio::test]
async fn a_write_through_one_is_read_at_once_through_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let Some(etcd) = Etcd::start(folder.path(), "http", &[]) else {
        return;
    };
    let servers = ["a", "b"].map(|name| Server::start(&folder.path().join(name), &etcd.store()));
    let clients = [servers[0].client().await, servers[1].client().await];
    let maps = clients
        .each_ref()
        .map(|client| -> Api<ConfigMap> { Api::default_namespaced(client.clone()) });

    let from = maps[0]
        .list(&ListParams::default())
        .await
        .unwrap()
        .metadata
        .resource_version
        .unwrap();
    let mut watches = Vec::new();
    for map in &maps {
        let watching = map
            .watch(&WatchParams::default().labels("app=both"), &from)
            .await
            .unwrap();
        watches.push(watching.take(40).map(|event| match event.unwrap() {
            WatchEvent::Added(map) => (
                map.metadata.name.unwrap(),
                map.metadata.resource_version.unwrap(),
            ),
            other => panic!("{other:?}"),
        }));
    }
    for number in 0..40 {
        let (write, read) = (&maps[number % 2], &maps[(number + 1) % 2]);
        let name = format!("both-{number}");
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.clone()),
                labels: Some(BTreeMap::from([("app".to_owned(), "both".to_owned())])),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        let made = write.create(&PostParams::default(), &map).await.unwrap();
        assert_eq!(read.get(&name).await.unwrap(), made);
        let listed = read
            .list(&ListParams::default().labels("app=both"))
            .await
            .unwrap();
        assert_eq!(listed.items.len(), number + 1, "a list sees it too");
    }
    let mut seen = Vec::new();
    for watching in watches {
        seen.push(watching.collect::<Vec<_>>().await);
    }
    assert_eq!(seen[0], seen[1], "both servers tell one order");
    let versions: Vec<u64> = seen[0]
        .iter()
        .map(|(_, version)| version.parse().unwrap())
        .collect();
    assert!(versions.is_sorted(), "{versions:?}");
}

#[tokio::test]
async fn a_crd_made_through_one_is_served_by_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let Some(etcd) = Etcd::start(folder.path(), "http", &[]) else {
        return;
    };
    let servers = ["a", "b"].map(|name| Server::start(&folder.path().join(name), &etcd.store()));
    let (a, b) = (servers[0].client().await, servers[1].client().await);
    define(&a).await;
    let made = widgets(&b, "default")
        .create(&PostParams::default(), &widget("w", &json!({"size": 2})))
        .await
        .unwrap();
    assert_eq!(widgets(&a, "default").get("w").await.unwrap(), made);
}

/// api-machinery.md §13/rbac: a role that is given or taken through one server counts on the other within a second.
#[tokio::test]
async fn permissions_are_the_same_on_both() {
    let folder = tempfile::tempdir().unwrap();
    let Some(etcd) = Etcd::start(folder.path(), "http", &[]) else {
        return;
    };
    let servers = ["a", "b"].map(|name| Server::start(&folder.path().join(name), &etcd.store()));
    let (a, b) = (servers[0].client().await, servers[1].client().await);
    let bindings: Api<ClusterRoleBinding> = Api::all(a);
    let reviews: Api<SubjectAccessReview> = Api::all(b);
    let question: SubjectAccessReview = serde_json::from_value(json!({"spec": {
        "user": "alice", "resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "default"},
    }}))
    .unwrap();
    let post = PostParams::default();
    let is_allowed = async || {
        let answer = reviews.create(&post, &question).await.unwrap();
        answer.status.unwrap().allowed
    };
    let becomes = async |allowed: bool| {
        let waiting = async { while is_allowed().await != allowed {} };
        let in_time = tokio::time::timeout(Duration::from_secs(1), waiting).await;
        assert!(in_time.is_ok(), "{allowed}");
    };
    assert!(!is_allowed().await);
    let binding: ClusterRoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "alice"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }))
    .unwrap();
    bindings.create(&post, &binding).await.unwrap();
    becomes(true).await;
    let delete = DeleteParams::default();
    bindings.delete("alice", &delete).await.unwrap();
    becomes(false).await;
}
