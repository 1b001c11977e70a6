//! kube-rs: its client and its runtime (api-machinery.md §15/kube-rs).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt as _, TryStreamExt as _, pin_mut};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions,
};
use kube::core::DynamicObject;
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::watcher::{self, watcher};
use kube::runtime::{WatchStreamExt as _, wait};
use kube::{Api, Client, Discovery, ResourceExt};
use lockstep_testkit::wait::{eventually, holds};
use serde_json::json;

use crate::server::on_each_store;
use crate::widget::{define, widget, widgets};

/// The code that a failed request was answered with.
pub(crate) fn code<T: std::fmt::Debug>(outcome: kube::Result<T>) -> u16 {
    match outcome.unwrap_err() {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([("app".to_owned(), name.to_owned())])),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

#[tokio::test]
async fn built_in_objects_are_made_changed_and_deleted() {
    on_each_store(async |server| {
        let client = server.client().await;
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let post = PostParams::default();
        let made = maps.create(&post, &config_map("a", "1")).await.unwrap();
        assert_eq!(maps.get("a").await.unwrap(), made);
        assert_eq!(code(maps.create(&post, &config_map("a", "1")).await), 409);

        let mut newer = made.clone();
        newer.data = Some(BTreeMap::from([("key".to_owned(), "2".to_owned())]));
        let replaced = maps.replace("a", &post, &newer).await.unwrap();
        assert_eq!(replaced.data, newer.data);
        assert_eq!(
            code(maps.replace("a", &post, &newer).await),
            409,
            "it moved on"
        );

        let merge = Patch::Merge(json!({"data": {"key": null, "other": "3"}}));
        let patched = maps
            .patch("a", &PatchParams::default(), &merge)
            .await
            .unwrap();
        assert_eq!(
            patched.data.unwrap(),
            BTreeMap::from([("other".to_owned(), "3".to_owned())])
        );

        let dry = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        maps.create(&dry, &config_map("dry", "1")).await.unwrap();
        assert_eq!(maps.get_opt("dry").await.unwrap(), None);

        let stale = DeleteParams {
            preconditions: Some(Preconditions {
                resource_version: made.resource_version(),
                uid: None,
            }),
            ..DeleteParams::default()
        };
        assert_eq!(code(maps.delete("a", &stale).await), 409);
        let gone = maps.delete("a", &DeleteParams::default()).await.unwrap();
        assert!(gone.is_right(), "it is gone, not going: {gone:?}");
        assert_eq!(code(maps.get("a").await), 404);
    })
    .await;
}

#[tokio::test]
async fn a_custom_resource_is_served_when_its_crd_is_written() {
    on_each_store(async |server| {
        let client = server.client().await;
        define(&client).await;
        let widgets = widgets(&client, "default");
        let post = PostParams::default();
        let made = widgets
            .create(&post, &widget("w", &json!({})))
            .await
            .unwrap();
        assert_eq!(
            made.data["spec"],
            json!({"size": 1}),
            "defaults are filled in"
        );
        assert_eq!(
            code(
                widgets
                    .create(&post, &widget("x", &json!({"size": 9})))
                    .await
            ),
            422
        );

        let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
        let established = wait::conditions::is_crd_established();
        let waiting = wait::await_condition(crds, "widgets.ex.io", established);
        tokio::time::timeout(Duration::from_secs(10), waiting)
            .await
            .unwrap()
            .unwrap();

        let status = Patch::Merge(json!({"spec": {"size": 4}, "status": {"phase": "Up"}}));
        let told = widgets
            .patch_status("w", &PatchParams::default(), &status)
            .await
            .unwrap();
        assert_eq!(
            told.data,
            json!({"spec": {"size": 1}, "status": {"phase": "Up"}})
        );
        assert_eq!(
            told.metadata.generation,
            Some(1),
            "a status is no change of the spec"
        );

        for discovery in [
            Discovery::new(client.clone()).run().await.unwrap(),
            Discovery::new(client.clone())
                .run_aggregated()
                .await
                .unwrap(),
        ] {
            let group = discovery.get("ex.io").unwrap();
            let (resource, _) = group.recommended_kind("Widget").unwrap();
            assert_eq!(resource.plural, "widgets");
        }
    })
    .await;
}

#[tokio::test]
async fn lists_come_in_pages_of_one_state() {
    on_each_store(async |server| {
        let client = server.client().await;
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-public");
        for number in 0..7 {
            let name = format!("page-{number}");
            maps.create(&PostParams::default(), &config_map(&name, "1"))
                .await
                .unwrap();
        }
        let labels = "app in (page-0, page-1, page-2, page-3, page-4)";
        let mut params = ListParams::default().labels(labels).limit(2);
        let (mut names, mut versions) = (Vec::new(), Vec::new());
        loop {
            let page = maps.list(&params).await.unwrap();
            versions.extend(page.metadata.resource_version);
            names.extend(page.items.iter().map(ResourceExt::name_any));
            maps.create(
                &PostParams::default(),
                &config_map(&format!("late-{}", names.len()), "1"),
            )
            .await
            .unwrap();
            match page.metadata.continue_ {
                Some(token) if !token.is_empty() => params = params.continue_token(&token),
                _ => break,
            }
        }
        assert_eq!(names, ["page-0", "page-1", "page-2", "page-3", "page-4"]);
        versions.dedup();
        assert_eq!(versions.len(), 1, "all pages show one state");
        maps.delete_collection(
            &DeleteParams::default(),
            &ListParams::default().labels("app=page-6"),
        )
        .await
        .unwrap();
        assert_eq!(maps.get_opt("page-6").await.unwrap(), None);
        assert!(maps.get_opt("page-5").await.unwrap().is_some());
    })
    .await;
}

/// Follows widgets with a reflector until its store is as `expected`.
async fn reflect(client: &Client, config: watcher::Config) {
    let api = widgets(client, "default");
    let kind = kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
        "ex.io", "v1", "Widget",
    ));
    let writer = reflector::store::Writer::new(kind.clone());
    let store = writer.as_reader();
    let stream = reflector::reflector(writer, watcher(api.clone(), config))
        .default_backoff()
        .applied_objects();
    let mut following = tokio::task::JoinSet::new();
    following.spawn(async move {
        pin_mut!(stream);
        while stream.try_next().await.unwrap().is_some() {}
    });
    store.wait_until_ready().await.unwrap();
    let size_of = |name: &str| -> Option<i64> {
        let reference = ObjectRef::new_with(name, kind.clone()).within("default");
        store.get(&reference)?.data["spec"]["size"].as_i64()
    };
    // The first state may be a little old, as `resourceVersion=0` allows.
    until((Some(1), None), || (size_of("old"), size_of("new"))).await;
    let post = PostParams::default();
    api.create(&post, &widget("new", &json!({"size": 2})))
        .await
        .unwrap();
    let larger = Patch::Merge(json!({"spec": {"size": 3}}));
    api.patch("old", &PatchParams::default(), &larger)
        .await
        .unwrap();
    until((Some(3), Some(2)), || (size_of("old"), size_of("new"))).await;
    api.delete("new", &DeleteParams::default()).await.unwrap();
    until(None, || size_of("new")).await;
    following.shutdown().await;
}

/// Waits until the state of a reflector is as wanted.
async fn until<S: PartialEq + std::fmt::Debug>(wanted: S, state: impl Fn() -> S) {
    eventually("the reflector follows", async || {
        let seen = state();
        holds(seen == wanted, seen)
    })
    .await;
}

#[tokio::test]
async fn a_reflector_follows_by_list_and_by_watch_list() {
    on_each_store(async |server| {
        let client = server.client().await;
        define(&client).await;
        let widgets = widgets(&client, "default");
        for config in [
            watcher::Config::default().page_size(1),
            watcher::Config::default().streaming_lists(),
        ] {
            widgets
                .create(&PostParams::default(), &widget("old", &json!({})))
                .await
                .unwrap();
            reflect(&client, config).await;
            widgets
                .delete("old", &DeleteParams::default())
                .await
                .unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_finalizer_holds_an_object_until_it_is_cleaned_up() {
    on_each_store(async |server| {
        let client = server.client().await;
        define(&client).await;
        let api = widgets(&client, "default");
        api.create(&PostParams::default(), &widget("held", &json!({})))
            .await
            .unwrap();
        let cleaned = Arc::new(AtomicUsize::new(0));
        let reconcile = async |held: DynamicObject| {
            let counted = Arc::clone(&cleaned);
            finalizer(&api, "ex.io/held", Arc::new(held), |event| async move {
                if let Event::Cleanup(_) = event {
                    counted.fetch_add(1, Ordering::SeqCst);
                }
                Ok::<_, std::convert::Infallible>(kube::runtime::controller::Action::await_change())
            })
            .await
            .unwrap();
        };
        reconcile(api.get("held").await.unwrap()).await;
        let held = api.get("held").await.unwrap();
        assert_eq!(held.finalizers(), ["ex.io/held"]);
        let going = api.delete("held", &DeleteParams::default()).await.unwrap();
        assert!(going.is_left(), "it is going, not gone: {going:?}");
        reconcile(api.get("held").await.unwrap()).await;
        assert_eq!(cleaned.load(Ordering::SeqCst), 1);
        assert_eq!(api.get_opt("held").await.unwrap(), None);
    })
    .await;
}

#[tokio::test]
async fn only_one_of_two_holders_takes_a_lease() {
    on_each_store(async |server| {
        let client = server.client().await;
        let leases: Api<Lease> = Api::default_namespaced(client.clone());
        let lease = Lease {
            metadata: ObjectMeta {
                name: Some("leader".to_owned()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some("a".to_owned()),
                lease_duration_seconds: Some(15),
                ..LeaseSpec::default()
            }),
        };
        let made = leases.create(&PostParams::default(), &lease).await.unwrap();
        let taken_by = |holder: &str| {
            let mut taken = made.clone();
            taken.spec.as_mut().unwrap().holder_identity = Some(holder.to_owned());
            taken
        };
        let (b, c) = (taken_by("b"), taken_by("c"));
        let post = PostParams::default();
        let (b, c) = tokio::join!(
            leases.replace("leader", &post, &b),
            leases.replace("leader", &post, &c)
        );
        let codes: Vec<u16> = [b, c]
            .into_iter()
            .filter(Result::is_err)
            .map(code)
            .collect();
        assert_eq!(codes, [409]);
    })
    .await;
}

#[tokio::test]
async fn a_watch_of_many_changes_has_no_gap() {
    on_each_store(async |server| {
        let client = server.client().await;
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
        let from = maps
            .list(&ListParams::default())
            .await
            .unwrap()
            .metadata
            .resource_version
            .unwrap();
        let watching = maps
            .watch(
                &kube::api::WatchParams::default().labels("app=counted"),
                &from,
            )
            .await
            .unwrap();
        assert!(
            !namespaces
                .list(&ListParams::default())
                .await
                .unwrap()
                .items
                .is_empty()
        );
        let mut counted = config_map("counted", "0");
        maps.create(&PostParams::default(), &counted).await.unwrap();
        for number in 1..100 {
            counted = config_map("counted", &number.to_string());
            maps.replace("counted", &PostParams::default(), &counted)
                .await
                .unwrap();
        }
        let seen: Vec<String> = watching
            .take(100)
            .map(|event| match event.unwrap() {
                kube::api::WatchEvent::Added(map) | kube::api::WatchEvent::Modified(map) => {
                    map.data.unwrap()["key"].clone()
                }
                other => panic!("{other:?}"),
            })
            .collect()
            .await;
        let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        assert_eq!(seen, expected);
    })
    .await;
}
