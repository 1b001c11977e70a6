//! Rows of cluster configuration: storage, priorities, certificates, webhooks, policies.

use lockstep_object::metadata::Scope;
use lockstep_object::names::NameRule;

use super::super::{DeleteResponse, PLAIN, Row, policies, webhooks};
use crate::{LastWrite, SpecialKind, Subresource};

/// The defaults of admission policies and their bindings.
const POLICY: Row = Row {
    group: "admissionregistration.k8s.io",
    special: SpecialKind::AdmissionConfiguration,
    categories: &["api-extensions"],
    scope: Scope::Cluster,
    tracks_generation: true,
    last_write: LastWrite::IsRefused,
    ..PLAIN
};

pub(in crate::builtin) const ROWS: &[Row] = &[
    Row {
        group: "storage.k8s.io",
        plural: "storageclasses",
        singular: "storageclass",
        kind: "StorageClass",
        short_names: &["sc"],
        scope: Scope::Cluster,
        bucket: "storageclasses",
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
    Row {
        group: "storage.k8s.io",
        plural: "volumeattachments",
        singular: "volumeattachment",
        kind: "VolumeAttachment",
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "volumeattachments",
        delete_response: DeleteResponse::Object,
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
    Row {
        group: "storage.k8s.io",
        plural: "csidrivers",
        singular: "csidriver",
        kind: "CSIDriver",
        scope: Scope::Cluster,
        bucket: "csidrivers",
        delete_response: DeleteResponse::Object,
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
    Row {
        group: "storage.k8s.io",
        plural: "csinodes",
        singular: "csinode",
        kind: "CSINode",
        scope: Scope::Cluster,
        bucket: "csinodes",
        delete_response: DeleteResponse::Object,
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
    Row {
        group: "storage.k8s.io",
        plural: "csistoragecapacities",
        singular: "csistoragecapacity",
        kind: "CSIStorageCapacity",
        bucket: "csistoragecapacities",
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
    Row {
        group: "scheduling.k8s.io",
        plural: "priorityclasses",
        singular: "priorityclass",
        kind: "PriorityClass",
        short_names: &["pc"],
        scope: Scope::Cluster,
        bucket: "priorityclasses",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "node.k8s.io",
        plural: "runtimeclasses",
        singular: "runtimeclass",
        kind: "RuntimeClass",
        scope: Scope::Cluster,
        bucket: "runtimeclasses",
        allows_create_on_update: true,
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
    Row {
        group: "certificates.k8s.io",
        plural: "certificatesigningrequests",
        special: SpecialKind::CertificateSigningRequest,
        singular: "certificatesigningrequest",
        kind: "CertificateSigningRequest",
        short_names: &["csr"],
        scope: Scope::Cluster,
        subresources: &[Subresource::Approval, Subresource::Status],
        bucket: "certificatesigningrequests",
        names: NameRule::PathSegment,
        ..PLAIN
    },
    Row {
        group: "admissionregistration.k8s.io",
        plural: "mutatingwebhookconfigurations",
        special: SpecialKind::AdmissionConfiguration,
        singular: "mutatingwebhookconfiguration",
        kind: "MutatingWebhookConfiguration",
        categories: &["api-extensions"],
        scope: Scope::Cluster,
        bucket: "mutatingwebhookconfigurations",
        tracks_generation: true,
        last_write: LastWrite::IsRefused,
        validate: webhooks::validate,
        ..PLAIN
    },
    Row {
        group: "admissionregistration.k8s.io",
        plural: "validatingwebhookconfigurations",
        special: SpecialKind::AdmissionConfiguration,
        singular: "validatingwebhookconfiguration",
        kind: "ValidatingWebhookConfiguration",
        categories: &["api-extensions"],
        scope: Scope::Cluster,
        bucket: "validatingwebhookconfigurations",
        tracks_generation: true,
        last_write: LastWrite::IsRefused,
        validate: webhooks::validate,
        ..PLAIN
    },
    Row {
        plural: "mutatingadmissionpolicies",
        singular: "mutatingadmissionpolicy",
        kind: "MutatingAdmissionPolicy",
        bucket: "mutatingadmissionpolicies",
        versions: &["v1", "v1beta1", "v1alpha1"],
        subresources: &[Subresource::Status],
        normalize: |object, _| policies::normalize(policies::MUTATING, object),
        validate: |new, old, version| policies::validate(policies::MUTATING, new, old, version),
        warnings: |new, _, _| policies::warnings(policies::MUTATING, new),
        ..POLICY
    },
    Row {
        plural: "mutatingadmissionpolicybindings",
        singular: "mutatingadmissionpolicybinding",
        kind: "MutatingAdmissionPolicyBinding",
        bucket: "mutatingadmissionpolicybindings",
        versions: &["v1", "v1beta1", "v1alpha1"],
        normalize: |object, _| policies::normalize(policies::MUTATING_BINDING, object),
        validate: |new, old, version| {
            policies::validate(policies::MUTATING_BINDING, new, old, version)
        },
        warnings: |new, _, _| policies::warnings(policies::MUTATING_BINDING, new),
        ..POLICY
    },
    Row {
        plural: "validatingadmissionpolicies",
        singular: "validatingadmissionpolicy",
        kind: "ValidatingAdmissionPolicy",
        bucket: "validatingadmissionpolicies",
        subresources: &[Subresource::Status],
        normalize: |object, _| policies::normalize(policies::VALIDATING, object),
        validate: |new, old, version| policies::validate(policies::VALIDATING, new, old, version),
        warnings: |new, _, _| policies::warnings(policies::VALIDATING, new),
        ..POLICY
    },
    Row {
        plural: "validatingadmissionpolicybindings",
        singular: "validatingadmissionpolicybinding",
        kind: "ValidatingAdmissionPolicyBinding",
        bucket: "validatingadmissionpolicybindings",
        normalize: |object, _| policies::normalize(policies::VALIDATING_BINDING, object),
        validate: |new, old, version| {
            policies::validate(policies::VALIDATING_BINDING, new, old, version)
        },
        warnings: |new, _, _| policies::warnings(policies::VALIDATING_BINDING, new),
        ..POLICY
    },
    Row {
        group: "flowcontrol.apiserver.k8s.io",
        plural: "flowschemas",
        special: SpecialKind::FlowControl,
        singular: "flowschema",
        kind: "FlowSchema",
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "flowschemas",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "flowcontrol.apiserver.k8s.io",
        plural: "prioritylevelconfigurations",
        special: SpecialKind::FlowControl,
        singular: "prioritylevelconfiguration",
        kind: "PriorityLevelConfiguration",
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "prioritylevelconfigurations",
        tracks_generation: true,
        ..PLAIN
    },
];
