//! Policies of a cluster: its objects are listed and watched, and every change puts a new set into force.

mod objects;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::header::HeaderValue;
use lockstep_admission::api::GROUP;
use lockstep_authz::Authorizer;
use lockstep_callout::Server;
use lockstep_write::offline::policies::{Collection, OWN_GROUP, Workspace};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use self::objects::{Built, Objects};
use self::watch::{Change, watch};
use crate::limits::{CHANGES_MAX, SETTLE};
use crate::{Loaded, Metrics, Policies};

/// Connection to an API server, with the credentials of the webhook.
pub struct Cluster {
    /// The server.
    pub server: Server,
    /// The `Authorization` header.
    pub authorization: Option<HeaderValue>,
}

/// Gives the connection. It is asked before each, because credentials change.
pub type Connect = Arc<dyn Fn() -> Result<Cluster, String> + Send + Sync>;

/// The objects that hold the policies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// Kinds of `admissionregistration.k8s.io`, for a server that serves and does not run them.
    Native,
    /// Custom resources of the same kinds in `policy.lockstep.dev`.
    Own,
}

const POLICIES: [(&str, &str); 4] = [
    ("mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
    (
        "mutatingadmissionpolicybindings",
        "MutatingAdmissionPolicyBinding",
    ),
    ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
    (
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
    ),
];

/// Collections that are always followed.
fn always(source: Source) -> Vec<Collection> {
    let group = match source {
        Source::Native => GROUP,
        Source::Own => OWN_GROUP,
    };
    let policies = POLICIES.iter().map(|(plural, kind)| Collection {
        path: format!("/apis/{group}/v1/{plural}"),
        api_version: format!("{group}/v1"),
        kind: (*kind).to_owned(),
    });
    let definitions = Collection {
        path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
        api_version: "apiextensions.k8s.io/v1".to_owned(),
        kind: "CustomResourceDefinition".to_owned(),
    };
    let namespaces = Collection {
        path: "/api/v1/namespaces".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
    };
    policies.chain([definitions, namespaces]).collect()
}

/// Follows the policies of a cluster with their definitions, namespaces and parameters, and puts each state into force
/// that is complete. Runs until it is dropped.
pub async fn follow_cluster(
    policies: Arc<Policies>,
    metrics: Arc<Metrics>,
    connect: Connect,
    source: Source,
    authorizer: Authorizer,
) {
    let (send, mut changes) = mpsc::channel::<Change>(CHANGES_MAX);
    let mut followed: BTreeMap<String, usize> = BTreeMap::new();
    let mut objects = Objects::default();
    let mut tasks = JoinSet::new();
    let mut wanted = always(source);
    loop {
        for collection in std::mem::take(&mut wanted) {
            let at = followed.len();
            if followed.contains_key(&collection.path) {
                continue;
            }
            followed.insert(collection.path.clone(), at);
            objects.expect(at);
            tasks.spawn(watch(at, collection, Arc::clone(&connect), send.clone()));
        }
        let Some(change) = changes.recv().await else {
            return;
        };
        objects.apply(change);
        // Changes come in bursts, and each new set costs a compilation.
        let until = Instant::now() + SETTLE;
        while let Ok(Some(change)) = timeout_at(until, changes.recv()).await {
            objects.apply(change);
        }
        if let Some(absent) = objects.absent() {
            policies.keep(&format!("{absent} of the collections are not listed yet"));
            continue;
        }
        let authorizer = Arc::clone(&authorizer);
        let snapshot = objects.all();
        let built = tokio::task::spawn_blocking(move || objects::build(snapshot));
        let Ok(Built {
            workspace,
            rejected,
            accepted,
        }) = built.await
        else {
            tracing::error!("a bug ended the compilation of policies");
            continue;
        };
        for (name, why) in &rejected {
            metrics.not_loaded();
            tracing::error!(
                name,
                why,
                "a policy is not valid; its last valid state is in force"
            );
        }
        objects.accept(accepted);
        let Some(workspace) = workspace else {
            policies.keep(
                &rejected
                    .iter()
                    .map(|(_, why)| why.as_str())
                    .collect::<String>(),
            );
            continue;
        };
        wanted = parameters(&workspace, &followed);
        if wanted.is_empty() {
            policies.enforce(
                Loaded {
                    workspace,
                    authorizer,
                },
                &metrics,
            );
        }
    }
}

/// Collections of parameters that are not followed yet.
fn parameters(workspace: &Workspace, followed: &BTreeMap<String, usize>) -> Vec<Collection> {
    let mut wanted = workspace.param_collections();
    wanted.retain(|collection| !followed.contains_key(&collection.path));
    wanted
}
