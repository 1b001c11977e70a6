//! Clients that know CRDs of Kubernetes only.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{Patch, PostParams};
use serde_json::{Value, json};

use super::crontabs::{CRD, Crontabs};
use super::definition::{Moment, definition, object};
use super::on;
use crate::server::on_each_store_with;

/// field-gates.md §0/T6, field-gates.md §13/X2 and field-gates.md §9/downgrade: a typed client drops gates from the
/// spec that it writes back, and keeps those in the annotation.
#[tokio::test]
async fn a_typed_client_keeps_gates_that_stand_in_an_annotation() {
    on_each_store_with(&on(), async |server| {
        let client = server.client().await;
        let crontabs = Crontabs::on(client.clone());
        let crds: Api<CustomResourceDefinition> = Api::all(client);
        let crd = definition(&json!({"gates": ["R-"]}), Moment::Now);
        assert_eq!(crontabs.define(&crd).await.code, 201);
        let gates = crd["spec"]["customFeatureGates"].to_string();
        let annotated = Patch::Merge(json!({
            "metadata": {"annotations": {"lockstep.dev/custom-feature-gates": gates}},
        }));
        assert_eq!(crontabs.patch_crd(&annotated).await.code, 200);
        loop {
            let read = crds.get(CRD).await.unwrap();
            match crds.replace(CRD, &PostParams::default(), &read).await {
                // The server writes the status of a CRD after others wrote its spec.
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                written => break assert!(written.is_ok(), "{written:?}"),
            }
        }
        let nothing = Patch::Merge(json!({}));
        let written = crontabs.patch_crd(&nothing).await.body;
        assert_eq!(written["spec"].get("customFeatureGates"), None);
        let made = object("v1", &json!({"replicas": 3}), &Value::Null);
        let answer = crontabs.create(&made).await;
        assert_eq!(
            (answer.code, &answer.body["spec"], answer.warnings),
            (
                201,
                &json!({}),
                vec!["spec.replicas: dropped: feature gate istio/R (alpha) is disabled".to_owned()]
            )
        );
    })
    .await;
}
