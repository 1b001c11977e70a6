//! Tests that have a server of their own: ux.md §3.2/testenv.

use std::net::TcpStream;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::core::{DynamicObject, GroupVersionKind, params::DeleteParams};
use kube::discovery::ApiResource;
use kube::{Api, Client};
use lockstep_object::json::DEPTH_MAX;
use lockstep_testenv::{StartError, TestEnv};
use serde_json::json;

fn config_maps(client: Client) -> Api<ConfigMap> {
    Api::namespaced(client, "default")
}

fn config_map(name: &str) -> ConfigMap {
    let made = json!({"metadata": {"name": name}, "data": {"a": "b"}});
    serde_json::from_value(made).expect("it is a config map")
}

#[tokio::test]
async fn a_test_has_a_server_of_its_own() {
    let (one, other) = tokio::try_join!(TestEnv::start(), TestEnv::start()).unwrap();
    let (client, asked) = (config_maps(one.client()), config_map("c"));
    let made = client.create(&PostParams::default(), &asked).await.unwrap();
    let mine = config_maps(one.client()).get("c").await.unwrap();
    assert_eq!(mine, made);
    let theirs = config_maps(other.client()).get_opt("c").await.unwrap();
    assert_eq!(theirs, None);
}

#[tokio::test]
async fn a_definition_is_in_force_and_its_objects_are_watched() {
    let env = TestEnv::start().await.unwrap();
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "toys", "kind": "Toy"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer", "default": 3},
                }}},
            }}}],
        },
    });
    let applier = PatchParams::apply("test");
    let crd = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let definitions: Api<DynamicObject> = Api::all_with(env.client(), &ApiResource::from_gvk(&crd));
    let definition = Patch::Apply(&definition);
    let defined = definitions.patch("toys.example.com", &applier, &definition);
    defined.await.unwrap();
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Toy"));
    let toys: Api<DynamicObject> = Api::namespaced_with(env.client(), "default", &kind);
    let watched = WatchParams::default().disable_bookmarks();
    let watch = toys.watch(&watched, "0").await.unwrap();
    let toy = json!({"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "t"}, "spec": {}});
    let made = toys
        .patch("t", &applier, &Patch::Apply(&toy))
        .await
        .unwrap();
    assert_eq!(made.data["spec"], json!({"size": 3}));
    let first = watch.boxed().try_next().await.unwrap();
    let Some(WatchEvent::Added(seen)) = first else {
        panic!("{first:?}")
    };
    assert_eq!(seen, made);
}

/// A kube-apiserver alone never removes the namespace: controller-runtime#880.
#[tokio::test]
async fn a_namespace_that_is_deleted_goes() {
    let env = TestEnv::start().await.unwrap();
    let namespaces: Api<Namespace> = Api::all(env.client());
    let made = serde_json::from_value(json!({"metadata": {"name": "n"}})).unwrap();
    namespaces
        .create(&PostParams::default(), &made)
        .await
        .unwrap();
    let watched = WatchParams::default().fields("metadata.name=n");
    let events = namespaces.watch(&watched, "0").await.unwrap();
    namespaces
        .delete("n", &DeleteParams::default())
        .await
        .unwrap();
    let mut events = events.boxed();
    while let Some(event) = events.try_next().await.unwrap() {
        if let WatchEvent::Deleted(_) = event {
            assert_eq!(namespaces.get_opt("n").await.unwrap(), None);
            return;
        }
    }
    panic!("the watch ended first");
}

/// The thread of the server has enough stack; otherwise this process would end.
#[tokio::test]
async fn the_deepest_object_does_not_end_a_test() {
    let env = TestEnv::start().await.unwrap();
    let post = async |path: &str, body: String| {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(body.into_bytes()).unwrap();
        env.client().request_text(request).await.unwrap()
    };
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "deeps.ex.io"},
        "spec": {
            "group": "ex.io", "scope": "Cluster", "names": {"plural": "deeps", "kind": "Deep"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    post(crds, crd.to_string()).await;
    let (open, close) = (r#"{"a":"#.repeat(DEPTH_MAX - 1), "}".repeat(DEPTH_MAX - 1));
    let deep = format!(
        r#"{{"apiVersion":"ex.io/v1","kind":"Deep","metadata":{{"name":"d"}},"a":{open}1{close}}}"#
    );
    let made = post("/apis/ex.io/v1/deeps", deep).await;
    assert!(made.contains(&open));
}

#[tokio::test]
async fn gates_are_switched_and_wrong_ones_are_told_all_at_once() {
    let on = TestEnv::builder().feature_gates("CRDFieldLevelVersioning=true");
    let on = on.start().await.unwrap();
    let metrics = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = on.client().request_text(metrics).await.unwrap();
    let line = r#"kubernetes_feature_enabled{name="CRDFieldLevelVersioning",stage="ALPHA"} 1"#;
    assert!(metrics.contains(line), "{line}");
    let wrong = TestEnv::builder().feature_gates("Nobody=true,WatchList=maybe");
    let Err(StartError::Gates(text)) = wrong.start().await else {
        panic!("it started")
    };
    assert_eq!(
        text,
        "[unrecognized feature gate: Nobody, invalid value of WatchList=maybe]"
    );
}

#[tokio::test]
async fn a_server_is_gone_with_its_test() {
    let env = TestEnv::start().await.unwrap();
    let address = env
        .url()
        .trim_start_matches("https://")
        .trim_end_matches('/')
        .to_owned();
    let kubeconfig = env.kubeconfig().to_owned();
    assert!(kubeconfig.exists());
    TcpStream::connect(&address).unwrap();
    drop(env);
    assert_eq!(
        (kubeconfig.exists(), TcpStream::connect(&address).is_err()),
        (false, true)
    );
}
