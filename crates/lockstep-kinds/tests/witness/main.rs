//! An independent reader of protobuf between our writer and our reader: what it does not know or reads otherwise is
//! lost on the way, and told.

#![expect(clippy::unwrap_used, reason = "what a test cannot do is a failure")]

mod full;
mod named;

use std::collections::BTreeSet;

use full::full;
use k8s_pb::api;
use k8s_pb::apiextensions_apiserver::pkg::apis::apiextensions::v1 as apiextensions;
use k8s_pb::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_pb::kube_aggregator::pkg::apis::apiregistration::v1 as apiregistration;
use lockstep_kinds::{Table, proto, typed};
use prost::Message;
use serde_json::Value;

/// Group, version, kind, and a trip through the witness.
type Row = (
    &'static str,
    &'static str,
    &'static str,
    fn(&[u8]) -> Vec<u8>,
);

fn through<M: Message + Default>(bytes: &[u8]) -> Vec<u8> {
    M::decode(bytes).unwrap().encode_to_vec()
}

macro_rules! rows {
    ($($group:literal $version:literal $module:path : $($kind:ident)*;)*) => {
        &[$($({
            use $module as module;
            ($group, $version, stringify!($kind), through::<module::$kind>)
        }),*),*]
    };
}

const ROWS: &[Row] = rows! {
    "" "v1" meta: DeleteOptions Status List PartialObjectMetadata PartialObjectMetadataList APIGroup APIGroupList
        APIResourceList APIVersions;
    "" "v1" api::core::v1: Binding ComponentStatus ConfigMap ConfigMapList Endpoints Event LimitRange Namespace Node
        PersistentVolume PersistentVolumeClaim Pod PodList PodTemplate ReplicationController ResourceQuota Secret Service
        ServiceAccount RangeAllocation SerializedReference PodStatusResult;
    "admissionregistration.k8s.io" "v1" api::admissionregistration::v1: MutatingWebhookConfiguration
        ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration;
    "internal.apiserver.k8s.io" "v1alpha1" api::apiserverinternal::v1alpha1: StorageVersion;
    "apps" "v1" api::apps::v1: ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet StatefulSetList;
    "authentication.k8s.io" "v1" api::authentication::v1: SelfSubjectReview TokenRequest TokenReview;
    "authorization.k8s.io" "v1" api::authorization::v1: LocalSubjectAccessReview SelfSubjectAccessReview
        SelfSubjectRulesReview SubjectAccessReview;
    "autoscaling" "v1" api::autoscaling::v1: HorizontalPodAutoscaler Scale;
    "autoscaling" "v2" api::autoscaling::v2: HorizontalPodAutoscaler;
    "batch" "v1" api::batch::v1: CronJob Job;
    "certificates.k8s.io" "v1" api::certificates::v1: CertificateSigningRequest;
    "coordination.k8s.io" "v1" api::coordination::v1: Lease;
    "discovery.k8s.io" "v1" api::discovery::v1: EndpointSlice;
    "events.k8s.io" "v1" api::events::v1: Event;
    "flowcontrol.apiserver.k8s.io" "v1" api::flowcontrol::v1: FlowSchema PriorityLevelConfiguration;
    "networking.k8s.io" "v1" api::networking::v1: IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR;
    "node.k8s.io" "v1" api::node::v1: RuntimeClass;
    "policy" "v1" api::policy::v1: Eviction PodDisruptionBudget;
    "rbac.authorization.k8s.io" "v1" api::rbac::v1: ClusterRole ClusterRoleBinding Role RoleBinding;
    "resource.k8s.io" "v1" api::resource::v1: DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice;
    "scheduling.k8s.io" "v1" api::scheduling::v1: PriorityClass;
    "storage.k8s.io" "v1" api::storage::v1: CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment
        VolumeAttributesClass;
    "storagemigration.k8s.io" "v1beta1" api::storagemigration::v1beta1: StorageVersionMigration;
    "apiextensions.k8s.io" "v1" apiextensions: ConversionReview CustomResourceDefinition CustomResourceDefinitionList;
    "apiregistration.k8s.io" "v1" apiregistration: APIService;
};

/// Fields that are newer than the witness.
const NEWER_FIELDS: &[&str] = &[
    "attributes.*.bools",
    "attributes.*.ints",
    "attributes.*.strings",
    "attributes.*.versions",
    "allocatedResourcesStatus.resources.message",
    "devices.nodeAllocatableResourceMappings",
    "metadata.shardInfo",
    "spec.preventPodSchedulingIfMissing",
    "spec.schedulingGroup",
    "status.nodeAllocatableResourceClaimStatuses",
    "volumeMounts.volumeStatus",
];

/// Kinds that are.
const NEWER_KINDS: &[&str] = &[
    "admissionregistration.k8s.io/v1 MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding",
    "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding",
];

/// Where two values differ: paths without indices; the keys of maps are `a` and `b`.
fn differences(ours: &Value, theirs: &Value, path: &str, found: &mut BTreeSet<String>) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
            for name in names {
                let path = format!("{path}.{name}");
                match (ours.get(name), theirs.get(name)) {
                    (Some(ours), Some(theirs)) => differences(ours, theirs, &path, found),
                    _ => drop(found.insert(path)),
                }
            }
        }
        (Value::Array(ours), Value::Array(theirs)) if ours.len() == theirs.len() => {
            for (ours, theirs) in ours.iter().zip(theirs) {
                differences(ours, theirs, path, found);
            }
        }
        _ if ours == theirs => {}
        _ => drop(found.insert(format!("{path}: {ours} and {theirs}"))),
    }
}

/// api-machinery.md §3.2/traps: every type with every field set.
#[test]
fn every_field_of_every_kind_survives_an_independent_reader() {
    let table = Table::builtin();
    let mut found = BTreeSet::new();
    for (group, version, kind, through) in ROWS {
        let id = table.kind(group, version, kind).unwrap();
        let mut object = full(table, id);
        let mut unknown = Vec::new();
        typed::read(table, id, &mut object, &mut unknown).unwrap();
        assert_eq!(unknown, [""; 0], "{kind}");
        let bytes = proto::encode(table, id, &object).unwrap();
        let mut back = proto::decode(table, id, &through(&bytes)).unwrap();
        typed::read(table, id, &mut back, &mut unknown).unwrap();
        let (ours, theirs) = (Value::Object(object), Value::Object(back));
        differences(&ours, &theirs, &format!("{group} {kind}"), &mut found);
    }
    let is_newer = |path: &String| {
        let path = path.replace(".a.", ".*.").replace(".b.", ".*.");
        NEWER_FIELDS.iter().any(|newer| path.ends_with(newer))
    };
    // Fields of our own have no number: readers of protobuf do not meet them (field-gates.md §1).
    let is_own = |path: &String| path.ends_with(".customFeatureGates");
    found.retain(|path| !is_newer(path) && !is_own(path));
    assert_eq!(found, BTreeSet::new());
}

#[test]
fn every_kind_but_the_newest_has_a_witness() {
    let table = Table::builtin();
    let missing: Vec<String> = table
        .types()
        .filter_map(|(id, row)| {
            let (group, version) = table.package(id).served?;
            let is_seen = |seen: &Row| (seen.0, seen.1) == (group, version) && seen.2 == row.name;
            let is_list = row.name.ends_with("List") && row.name != "List";
            (row.is_kind && !is_list && !ROWS.iter().any(is_seen))
                .then(|| format!("{group}/{version} {}", row.name))
        })
        .collect();
    assert_eq!(missing, NEWER_KINDS);
}
