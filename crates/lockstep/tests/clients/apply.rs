//! kube-rs: server-side apply and strategic merge patches.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;

use crate::kube_rs::{code, config_map};
use crate::server::on_each_store;
use crate::widget::{define, widgets};

#[tokio::test]
async fn objects_are_applied_by_several_managers() {
    on_each_store(async |server| {
        let client = server.client().await;
        define(&client).await;
        let widgets = widgets(&client, "default");
        let wish = |spec| {
            Patch::Apply(json!({
                "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "applied"}, "spec": spec,
            }))
        };
        let (one, two) = (PatchParams::apply("one"), PatchParams::apply("two"));
        let made = widgets.patch("applied", &one, &wish(json!({"size": 2}))).await.unwrap();
        let again = widgets.patch("applied", &one, &wish(json!({"size": 2}))).await.unwrap();
        assert_eq!(again, made, "the same again writes nothing");
        let other = wish(json!({"size": 3}));
        assert_eq!(code(widgets.patch("applied", &two, &other).await), 409);
        let taken = widgets.patch("applied", &two.clone().force(), &other).await.unwrap();
        assert_eq!(taken.data["spec"], json!({"size": 3}));
        let managers = taken.metadata.managed_fields.unwrap().into_iter();
        let managers: Vec<Option<String>> = managers.map(|entry| entry.manager).collect();
        assert_eq!(managers, [Some("two".to_owned())]);
        let left = widgets.patch("applied", &two, &wish(json!({}))).await.unwrap();
        assert_eq!(left.data["spec"], json!({"size": 1}), "the default is back");

        let status = Patch::Apply(json!({
            "apiVersion": "ex.io/v1", "kind": "Widget", "metadata": {"name": "applied"}, "status": {"phase": "Up"},
        }));
        let told = widgets.patch_status("applied", &one, &status).await.unwrap();
        assert_eq!(told.data["status"], json!({"phase": "Up"}));

        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        maps.create(&PostParams::default(), &config_map("smp", "1")).await.unwrap();
        let strategic = Patch::Strategic(json!({"data": {"$patch": "replace", "other": "2"}}));
        let patched = maps.patch("smp", &PatchParams::default(), &strategic).await.unwrap();
        assert_eq!(patched.data, Some(BTreeMap::from([("other".to_owned(), "2".to_owned())])));
    })
    .await;
}
