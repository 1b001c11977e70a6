//! A running webhook, and reviews for it.

use std::net::SocketAddr;
use std::sync::Arc;

use jiff::Timestamp;
use lockstep_authn::trust::{OwnServing, ServingIdentity, ServingNames};
use lockstep_authz::{Authorizer, Decision};
use lockstep_object::{Object, Value};
use lockstep_policy_webhook::{Loaded, Metrics, Policies, Webhook};
use lockstep_testkit::client::{Answer, Client};
use lockstep_write::offline::policies::{Unbound, Workspace};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A webhook that ends with the test, or with [`World::stop`].
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    pub(crate) policies: Arc<Policies>,
    pub(crate) metrics: Arc<Metrics>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl World {
    /// Starts a webhook without policies.
    #[expect(clippy::disallowed_methods, reason = "the handle is kept")]
    pub(crate) async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let names = ServingNames {
            dns: vec!["localhost".to_owned()],
            addresses: Vec::new(),
        };
        let own = OwnServing::prepare(folder.path(), &names, Timestamp::now()).unwrap();
        let identity = ServingIdentity::load(&own.certificate, &own.key, Timestamp::now()).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let policies = Arc::<Policies>::default();
        let metrics = Arc::<Metrics>::default();
        let webhook = Webhook::new(Arc::clone(&policies), Arc::clone(&metrics));
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            webhook.run(listener, identity, stopped).await.unwrap();
        });
        Self {
            address,
            authority: own.authority,
            policies,
            metrics,
            stop,
            serving,
        }
    }

    /// Starts a webhook with the policy of [`labels`].
    pub(crate) async fn with_labels() -> Self {
        let world = Self::start().await;
        world.policies.replace(loaded(&labels("team")));
        world
    }

    pub(crate) async fn client(&self, protocol: &str) -> Client {
        Client::connect(self.address, self.authority.as_bytes(), None, protocol).await
    }

    /// Stops the webhook and waits for its end.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.serving.await.unwrap();
    }
}

/// Everything is allowed to administrators and nothing to others.
pub(crate) fn authorizer() -> Authorizer {
    Arc::new(|attributes| {
        if attributes.user.is_master() {
            Decision::allow("")
        } else {
            Decision::no_opinion()
        }
    })
}

pub(crate) fn loaded(objects: &[Object]) -> Loaded {
    Loaded {
        workspace: Workspace::new(objects, Unbound::Inert).expect("the policies are valid"),
        authorizer: authorizer(),
    }
}

pub(crate) fn object(value: Value) -> Object {
    Object::from_value(value).expect("it is a map")
}

/// A policy that sets the label of this name on config maps, and one that refuses those called `bad`.
pub(crate) fn labels(label: &str) -> Vec<Object> {
    let api = "admissionregistration.k8s.io/v1";
    let rules = json!({ "resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"],
        "resources": ["configmaps"],
    }] });
    let set = format!("Object{{metadata: Object.metadata{{labels: {{\"{label}\": \"x\"}}}}}}");
    [
        json!({
            "apiVersion": api, "kind": "MutatingAdmissionPolicy", "metadata": { "name": "labels" },
            "spec": {
                "matchConstraints": rules,
                "reinvocationPolicy": "Never",
                "mutations": [{
                    "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": set },
                }],
            },
        }),
        json!({
            "apiVersion": api, "kind": "MutatingAdmissionPolicyBinding",
            "metadata": { "name": "labels" }, "spec": { "policyName": "labels" },
        }),
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": "names" },
            "spec": {
                "matchConstraints": rules,
                "validations": [{ "expression": "object.metadata.name != 'bad'" }],
            },
        }),
        json!({
            "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": { "name": "names" },
            "spec": { "policyName": "names", "validationActions": ["Deny"] },
        }),
    ]
    .map(object)
    .to_vec()
}

/// A review of the creation of a config map.
pub(crate) fn review(name: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u-1",
            "kind": { "group": "", "version": "v1", "kind": "ConfigMap" },
            "resource": { "group": "", "version": "v1", "resource": "configmaps" },
            "operation": "CREATE",
            "name": name,
            "namespace": "default",
            "userInfo": { "username": "alice" },
            "object": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "default" },
            },
            "oldObject": null,
            "dryRun": false,
            "options": { "apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions" },
        },
    })
}

/// The response of a review.
pub(crate) fn response(answer: &Answer) -> Value {
    let review = answer.json();
    assert_eq!(review["kind"], "AdmissionReview");
    review["response"].clone()
}

/// The operations of the patch in a response.
pub(crate) fn patch(response: &Value) -> Value {
    use base64::Engine as _;
    let Some(patch) = response["patch"].as_str() else {
        assert_eq!(response.get("patchType"), None);
        return json!([]);
    };
    assert_eq!(response["patchType"], "JSONPatch");
    let decoded = base64::engine::general_purpose::STANDARD
        .decode(patch)
        .unwrap();
    serde_json::from_slice(&decoded).unwrap()
}
