//! Bodies encoded field by field with an independent protobuf library, next to equal objects as JSON: both are stored
//! alike.

#![expect(
    clippy::needless_update,
    reason = "`message!` need not know whether it names every field"
)]

mod cluster;
mod network;
mod parts;
mod workloads;

use k8s_pb::apimachinery::pkg::api::resource::Quantity;
use k8s_pb::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_pb::apimachinery::pkg::runtime::{TypeMeta, Unknown};
use k8s_pb::apimachinery::pkg::util::intstr::IntOrString;
use lockstep_testkit::client::{Answer, Client};
use prost::Message;
use serde_json::{Value, json};

use crate::server::{Setup, TestServer};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A message with some fields set, each from what converts into it.
macro_rules! message {
    ($name:ident { $($field:ident: $value:expr),* $(,)? }) => {
        $name { $($field: $value.into(),)* ..$name::default() }
    };
}
pub(crate) use message;

/// Where an object is made, what it is, and the object in both forms. What JSON does not name is the path's.
pub(super) struct Row {
    path: &'static str,
    api_version: &'static str,
    kind: &'static str,
    message: Vec<u8>,
    json: Value,
}

pub(super) fn row(
    path: &'static str,
    api_version: &'static str,
    kind: &'static str,
    message: &impl Message,
    json: Value,
) -> Row {
    let message = message.encode_to_vec();
    Row {
        path,
        api_version,
        kind,
        message,
        json,
    }
}

pub(super) fn text(text: &str) -> String {
    text.to_owned()
}

pub(super) fn named(name: &str) -> ObjectMeta {
    message!(ObjectMeta { name: text(name) })
}

pub(super) fn quantity(amount: &str) -> Quantity {
    let string = Some(text(amount));
    Quantity { string }
}

pub(super) fn labels<const N: usize>(
    labels: [(&str, &str); N],
) -> std::collections::BTreeMap<String, String> {
    let labels = labels.map(|(key, value)| (text(key), text(value)));
    labels.into()
}

pub(super) fn selector(key: &str, value: &str) -> LabelSelector {
    message!(LabelSelector {
        match_labels: labels([(key, value)])
    })
}

pub(super) fn number(number: i32) -> IntOrString {
    message!(IntOrString {
        r#type: 0,
        int_val: number
    })
}

pub(super) fn word(word: &str) -> IntOrString {
    message!(IntOrString {
        r#type: 1,
        str_val: text(word)
    })
}

/// The envelope, written by the witness too.
pub(super) fn body(api_version: &str, kind: &str, raw: Vec<u8>) -> Vec<u8> {
    let type_meta = message!(TypeMeta {
        api_version: text(api_version),
        kind: text(kind)
    });
    let unknown = message!(Unknown {
        type_meta: type_meta,
        raw: raw
    });
    [b"k8s\0", unknown.encode_to_vec().as_slice()].concat()
}

/// Removes the values that differ between servers: timestamps, UID and resource version.
pub(super) fn without_chance(mut object: Value) -> Value {
    let uid = object["metadata"]["uid"].as_str().map(str::to_owned);
    let metadata = object["metadata"].as_object_mut().unwrap();
    for name in ["uid", "resourceVersion", "creationTimestamp"] {
        assert!(metadata.remove(name).is_some(), "{name}");
    }
    // `managedFields` may be absent: a CertificateSigningRequest's spec has no owner.
    let entries = metadata.get_mut("managedFields");
    for entry in entries
        .into_iter()
        .flat_map(|entries| entries.as_array_mut().unwrap())
    {
        assert!(entry.as_object_mut().unwrap().remove("time").is_some());
    }
    // Volumes say since when they are in their phase.
    if let Some(status) = object["status"].as_object_mut() {
        status.remove("lastPhaseTransitionTime");
    }
    // Requests for certificates say which certificate the asker showed, which is another on each server.
    if let Some(extra) = object.pointer_mut("/spec/extra") {
        let extra = extra.as_object_mut().unwrap();
        extra.remove("authentication.kubernetes.io/credential-id");
    }
    // Jobs carry their identity in labels.
    let said = object.to_string().replace(&uid.unwrap(), "UID");
    serde_json::from_str(&said).unwrap()
}

pub(super) async fn server() -> (TestServer, Client) {
    let server = TestServer::with(Setup {
        controllers: "",
        plugins: lockstep_apiserver::admission::Plugins::without([
            lockstep_apiserver::admission::Plugin::ServiceAccount,
        ]),
        ..Setup::own()
    })
    .await;
    server.ready().await;
    let client = server.client(Some(server.admin())).await;
    (server, client)
}

pub(super) async fn post(client: &mut Client, path: &str, body: Vec<u8>) -> Answer {
    let headers = [("content-type", PROTOBUF)];
    client.send("POST", path, &headers, body).await
}

fn rows() -> Vec<Row> {
    [workloads::rows(), network::rows(), cluster::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// api-machinery.md §0/T1, §3.2/bodies, §3.2/traps, §12/tier-2.
#[tokio::test]
async fn an_object_is_stored_the_same_whether_it_came_as_a_message_or_as_json() {
    let (_first, mut by_message) = server().await;
    let (_second, mut by_json) = server().await;
    for row in rows() {
        let what = format!("{} {}", row.path, row.kind);
        let sent = body(row.api_version, row.kind, row.message);
        let made = post(&mut by_message, row.path, sent).await;
        assert_eq!(made.status, 201, "{what} {}", made.body);
        let made = by_json.write("POST", row.path, &row.json).await;
        assert_eq!(made.status, 201, "{what} {}", made.body);
        let name = row.json["metadata"]["name"].as_str().unwrap();
        let path = format!("{}/{name}", row.path);
        let stored = without_chance(by_message.get(&path).await.json());
        let expected = without_chance(by_json.get(&path).await.json());
        assert_eq!(stored, expected, "{what}");
    }
}

/// Kinds outside tier 2: their messages are read by the same table, whose every field the witness of `lockstep-kinds` has seen.
const OTHER_TIERS: &[&str] = &[
    "v1 ConfigMap",
    "v1 Event",
    "v1 Namespace",
    "v1 ResourceQuota",
    "v1 Secret",
    "v1 ServiceAccount",
    "apiregistration.k8s.io/v1 APIService",
    "events.k8s.io/v1 Event",
    "networking.k8s.io/v1 IPAddress",
    "networking.k8s.io/v1 ServiceCIDR",
    "rbac.authorization.k8s.io/v1 ClusterRoleBinding",
    "rbac.authorization.k8s.io/v1 ClusterRole",
    "rbac.authorization.k8s.io/v1 RoleBinding",
    "rbac.authorization.k8s.io/v1 Role",
    "storage.k8s.io/v1 VolumeAttributesClass",
    "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding",
    "apiextensions.k8s.io/v1 CustomResourceDefinition",
    "coordination.k8s.io/v1 Lease",
    "flowcontrol.apiserver.k8s.io/v1 FlowSchema",
    "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration",
    "resource.k8s.io/v1 DeviceClass",
    "resource.k8s.io/v1 ResourceClaim",
    "resource.k8s.io/v1 ResourceClaimTemplate",
    "resource.k8s.io/v1 ResourceSlice",
];

/// api-machinery.md §12/tier-2: every kind of it has a row.
#[tokio::test]
async fn every_kind_that_can_be_created_has_a_row_or_is_of_another_tier() {
    let (_server, mut client) = server().await;
    let accept = [(
        "accept",
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    )];
    let mut kinds = Vec::new();
    for root in ["/api", "/apis"] {
        let found = client.send("GET", root, &accept, "").await.json();
        for group in found["items"].as_array().unwrap() {
            for version in group["versions"].as_array().unwrap() {
                for resource in version["resources"].as_array().unwrap() {
                    let verbs = resource["verbs"].as_array().unwrap();
                    if ["create", "get"]
                        .iter()
                        .all(|verb| verbs.contains(&json!(verb)))
                    {
                        let kind = &resource["responseKind"];
                        let group = kind["group"].as_str().unwrap_or_default();
                        let (version, kind) = (&version["version"], &kind["kind"]);
                        let text = format!("{group}/{version} {kind}").replace('"', "");
                        kinds.push(text.trim_start_matches('/').to_owned());
                    }
                }
            }
        }
    }
    let rows = rows();
    kinds.retain(|kind| {
        !rows
            .iter()
            .any(|row| *kind == format!("{} {}", row.api_version, row.kind))
    });
    assert_eq!(kinds, OTHER_TIERS);
}
