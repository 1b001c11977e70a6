//! The accounts of pods.

use lockstep_apiserver::admission::{Plugin, Plugins};
use serde_json::{Value, json};

use super::review::{begin, begin_with, refusal, says};
use crate::server::Setup;

const PODS: &str = "/api/v1/namespaces/n/pods";
const ACCOUNTS: &str = "/api/v1/namespaces/n/serviceaccounts";

fn pod(name: &str, spec: &Value) -> Value {
    let mut pod = json!({
        "metadata": { "name": name },
        "spec": { "containers": [{ "name": "c", "image": "i:1" }] },
    });
    for (field, value) in spec.as_object().unwrap() {
        pod["spec"][field] = value.clone();
    }
    pod
}

/// api-machinery.md §12/accounts.
#[tokio::test]
async fn a_pod_gets_its_account_and_the_token_of_that() {
    let mut world = begin(says(json!({}))).await;
    // The default account is made in the background; who comes before it waits.
    let made = world.make(PODS, &pod("p", &json!({}))).await;
    let spec = &made["spec"];
    assert_eq!(spec["serviceAccountName"], "default");
    assert_eq!(spec["serviceAccount"], "default");
    let name = spec["volumes"][0]["name"].as_str().unwrap();
    assert!(name.starts_with("kube-api-access-"), "{name}");
    assert_eq!(name.len(), "kube-api-access-".len() + 5);
    let mount = json!([{
        "name": name, "readOnly": true,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }]);
    assert_eq!(spec["containers"][0]["volumeMounts"], mount);
    let account = json!({
        "metadata": { "name": "quiet" },
        "automountServiceAccountToken": false, "imagePullSecrets": [{ "name": "pull" }],
    });
    world.make(ACCOUNTS, &account).await;
    let asks = json!({ "serviceAccountName": "quiet" });
    let made = world.make(PODS, &pod("q", &asks)).await;
    assert_eq!(made["spec"]["volumes"], Value::Null);
    assert_eq!(
        made["spec"]["imagePullSecrets"],
        json!([{ "name": "pull" }])
    );
    let refused = pod("r", &json!({ "serviceAccountName": "nobody" }));
    let refused = world.client.write("POST", PODS, &refused).await;
    let told = "pods \"r\" is forbidden: error looking up service account n/nobody: serviceaccount \"nobody\" not found";
    assert_eq!(refusal(&refused), (403, told.to_owned()));
}

/// api-machinery.md §16/admission: envtest switches it off.
#[tokio::test]
async fn without_the_step_a_pod_is_taken_as_it_is() {
    let setup = Setup {
        controllers: "",
        plugins: Plugins::without([Plugin::ServiceAccount]),
        ..Setup::own()
    };
    let mut world = begin_with(setup, says(json!({}))).await;
    let made = world.make(PODS, &pod("p", &json!({}))).await;
    assert_eq!(made["spec"]["serviceAccountName"], Value::Null);
    assert_eq!(made["spec"]["volumes"], Value::Null);
}
