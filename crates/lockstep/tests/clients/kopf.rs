//! An operator written with kopf, run to completion.

use std::path::Path;

use k8s_openapi::api::core::v1::Event;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::runtime::conditions::is_deleted;
use kube::runtime::wait::await_condition;
use kube::{Api, ResourceExt as _};
use lockstep_testkit::processes::{Process, skipped};
use lockstep_testkit::wait::eventually;
use serde_json::json;

use crate::python::python;
use crate::server::on_each_store;
use crate::widget::{define, widget, widgets};

/// Whether an operator has said this about a widget.
fn has_phase(phase: &str) -> impl Fn(Option<&DynamicObject>) -> bool {
    move |widget| widget.is_some_and(|widget| widget.data["status"]["phase"] == phase)
}

/// Reasons of kopf's events about widgets, sorted.
async fn reasons(events: &Api<Event>) -> Vec<String> {
    let about = ListParams::default().fields("involvedObject.kind=Widget,reportingComponent=kopf");
    let told = events.list(&about).await.unwrap();
    let mut reasons: Vec<String> = told.into_iter().filter_map(|event| event.reason).collect();
    reasons.retain(|reason| reason != "Logging");
    reasons.sort_unstable();
    reasons
}

/// api-machinery.md §15/python: finalizers by merge patch, status, events, watches of every namespace.
#[tokio::test]
async fn an_operator_of_kopf_runs_to_completion() {
    let Some(python) = python("LOCKSTEP_TEST_KOPF", "kopf") else {
        skipped("the Python package kopf is not installed, so no operator of it ran");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/operator.py");
    on_each_store(async |server| {
        let client = server.client().await;
        define(&client).await;
        let mut operator = python();
        operator
            .args(["-m", "kopf", "run", "--all-namespaces", "--standalone"])
            .arg(&script)
            .env("KUBECONFIG", server.kubeconfig());
        let _operator = Process::start_silent(&mut operator);
        let (widgets, events) = (widgets(&client, "default"), Api::default_namespaced(client));
        let made = widget("w", &json!({"size": 2}));
        widgets.create(&PostParams::default(), &made).await.unwrap();
        let grown = await_condition(widgets.clone(), "w", has_phase("grown to 2")).await;
        let grown = grown.unwrap().unwrap();
        assert_eq!(grown.finalizers(), ["kopf.zalando.org/KopfFinalizerMarker"]);
        // The operator's own notes were no change of the spec.
        assert_eq!(grown.metadata.generation, Some(1));

        let larger = Patch::Merge(json!({"spec": {"size": 3}}));
        let patch = PatchParams::default();
        widgets.patch("w", &patch, &larger).await.unwrap();
        let resized = has_phase("resized from 2 to 3");
        await_condition(widgets.clone(), "w", resized)
            .await
            .unwrap();

        let uid = grown.uid().unwrap();
        let delete = DeleteParams::default();
        widgets.delete("w", &delete).await.unwrap();
        await_condition(widgets.clone(), "w", is_deleted(&uid))
            .await
            .unwrap();
        let found = eventually("two events", async || {
            let found = reasons(&events).await;
            if found.len() < 2 {
                Err(found)
            } else {
                Ok(found)
            }
        });
        assert_eq!(found.await, ["Grown", "TakenApart"]);
    })
    .await;
}
