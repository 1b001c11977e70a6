//! kube-rs: its runtime for controllers (api-machinery.md §15/kube-rs).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::conditions::is_deleted;
use kube::runtime::controller::{Action, Controller};
use kube::runtime::wait::await_condition;
use kube::runtime::watcher;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;

use crate::server::on_each_store;
use crate::widget::{define, kind, widget, widgets};

/// Applies a config map with the size of the widget, owned by it, and records that in the widget's status.
async fn reconcile(widget: Arc<DynamicObject>, client: Arc<Client>) -> kube::Result<Action> {
    let name = widget.name_any();
    let owner = widget.controller_owner_ref(&kind()).unwrap();
    let size = widget.data["spec"]["size"].to_string();
    let wish = Patch::Apply(json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "data": {"size": size},
    }));
    let apply = PatchParams::apply("grower").force();
    let maps: Api<ConfigMap> = Api::default_namespaced(Client::clone(&client));
    maps.patch(&name, &apply, &wish).await?;
    let told = Patch::Apply(json!({
        "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": name},
        "status": {"phase": format!("has {size}")},
    }));
    let widgets = widgets(&client, "default");
    widgets.patch_status(&name, &apply, &told).await?;
    Ok(Action::await_change())
}

/// A config map that says so.
fn says(size: &str) -> impl Fn(Option<&ConfigMap>) -> bool {
    let data = BTreeMap::from([("size".to_owned(), size.to_owned())]);
    move |map| map.is_some_and(|map| map.data.as_ref() == Some(&data))
}

/// Changes of the owner and of what is owned are seen; what is owned comes back, and goes with its owner.
#[tokio::test]
async fn a_controller_keeps_what_it_owns() {
    on_each_store(async |server| {
        let client = server.client().await;
        define(&client).await;
        let (widgets, maps) = (
            widgets(&client, "default"),
            Api::<ConfigMap>::default_namespaced(client.clone()),
        );
        let mut running = tokio::task::JoinSet::new();
        running.spawn(
            Controller::new_with(widgets.clone(), watcher::Config::default(), kind())
                .owns(maps.clone(), watcher::Config::default())
                .run(
                    reconcile,
                    |_, _, _| Action::requeue(Duration::from_millis(50)),
                    Arc::new(client),
                )
                .for_each(|_| std::future::ready(())),
        );
        let post = PostParams::default();
        let made = widget("w", &json!({"size": 2}));
        let made = widgets.create(&post, &made).await.unwrap();
        let grown = await_condition(maps.clone(), "w", says("2")).await.unwrap();
        let told = |phase: &'static str| {
            move |widget: Option<&DynamicObject>| {
                widget.is_some_and(|widget| widget.data["status"]["phase"] == phase)
            }
        };
        let shown = await_condition(widgets.clone(), "w", told("has 2")).await;
        assert_eq!(shown.unwrap().unwrap().metadata.generation, Some(1));

        // The map is deleted; its owner reference triggers a reconcile, and the controller creates it again.
        let uid = grown.unwrap().uid().unwrap();
        maps.delete("w", &DeleteParams::default()).await.unwrap();
        let another = |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid().unwrap() != uid);
        await_condition(maps.clone(), "w", another).await.unwrap();
        let larger = Patch::Merge(json!({"spec": {"size": 3}}));
        let patch = PatchParams::default();
        widgets.patch("w", &patch, &larger).await.unwrap();
        let grown = await_condition(maps.clone(), "w", says("3")).await.unwrap();
        await_condition(widgets.clone(), "w", told("has 3"))
            .await
            .unwrap();

        let delete = DeleteParams::default();
        widgets.delete("w", &delete).await.unwrap();
        let (owner, map) = (made.uid().unwrap(), grown.unwrap().uid().unwrap());
        let gone = await_condition(widgets.clone(), "w", is_deleted(&owner));
        gone.await.unwrap();
        let gone = await_condition(maps.clone(), "w", is_deleted(&map));
        gone.await.unwrap();
        running.shutdown().await;
    })
    .await;
}
