//! Rows of the core group.

use lockstep_object::metadata::Scope;
use lockstep_object::names::NameRule;

use super::super::{DeleteResponse, Dependents, PLAIN, Row};
use crate::Verb;
use crate::{SpecialKind, Subresource};

pub(in crate::builtin) const ROWS: &[Row] = &[
    // Not stored: it changes the pod that it names.
    Row {
        plural: "bindings",
        special: SpecialKind::Binding,
        singular: "binding",
        kind: "Binding",
        verbs: &[Verb::Create],
        ..PLAIN
    },
    // Not stored: computed at each read.
    Row {
        plural: "componentstatuses",
        special: SpecialKind::ComponentStatus,
        singular: "componentstatus",
        kind: "ComponentStatus",
        short_names: &["cs"],
        scope: Scope::Cluster,
        verbs: &[Verb::Get, Verb::List],
        deprecation: "v1 ComponentStatus is deprecated in v1.19+",
        ..PLAIN
    },
    Row {
        plural: "pods",
        special: SpecialKind::Pod,
        singular: "pod",
        kind: "Pod",
        short_names: &["po"],
        categories: &["all"],
        subresources: &[
            Subresource::Status,
            Subresource::Binding,
            Subresource::Eviction,
            Subresource::EphemeralContainers,
            Subresource::Resize,
        ],
        bucket: "pods",
        server_fields: &[
            &["spec", "preemptionPolicy"],
            &["spec", "priority"],
            &["spec", "tolerations"],
        ],
        tracks_generation: true,
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
    Row {
        plural: "services",
        special: SpecialKind::Service,
        singular: "service",
        kind: "Service",
        short_names: &["svc"],
        categories: &["all"],
        subresources: &[Subresource::Status],
        bucket: "services/specs",
        server_fields: &[
            &["spec", "clusterIP"],
            &["spec", "clusterIPs"],
            &["spec", "healthCheckNodePort"],
            &["spec", "ipFamilies"],
            &["spec", "ipFamilyPolicy"],
        ],
        names: NameRule::Label,
        allows_create_on_update: true,
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
    Row {
        plural: "endpoints",
        singular: "endpoints",
        kind: "Endpoints",
        short_names: &["ep"],
        bucket: "services/endpoints",
        allows_create_on_update: true,
        deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ..PLAIN
    },
    Row {
        plural: "nodes",
        special: SpecialKind::Node,
        singular: "node",
        kind: "Node",
        short_names: &["no"],
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "minions",
        server_fields: &[&["spec", "taints"]],
        ..PLAIN
    },
    Row {
        plural: "persistentvolumeclaims",
        special: SpecialKind::PersistentVolumeClaim,
        singular: "persistentvolumeclaim",
        kind: "PersistentVolumeClaim",
        short_names: &["pvc"],
        subresources: &[Subresource::Status],
        bucket: "persistentvolumeclaims",
        server_fields: &[&["spec", "dataSource"], &["spec", "dataSourceRef"]],
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
    Row {
        plural: "persistentvolumes",
        singular: "persistentvolume",
        kind: "PersistentVolume",
        short_names: &["pv"],
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "persistentvolumes",
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
    Row {
        plural: "podtemplates",
        singular: "podtemplate",
        kind: "PodTemplate",
        bucket: "podtemplates",
        tracks_generation: true,
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
    Row {
        plural: "replicationcontrollers",
        dependents: Dependents::Orphaned,
        singular: "replicationcontroller",
        kind: "ReplicationController",
        short_names: &["rc"],
        categories: &["all"],
        subresources: &[Subresource::Status, Subresource::Scale],
        bucket: "controllers",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        plural: "limitranges",
        singular: "limitrange",
        kind: "LimitRange",
        short_names: &["limits"],
        bucket: "limitranges",
        allows_create_on_update: true,
        ..PLAIN
    },
    Row {
        plural: "resourcequotas",
        singular: "resourcequota",
        kind: "ResourceQuota",
        short_names: &["quota"],
        subresources: &[Subresource::Status],
        bucket: "resourcequotas",
        delete_response: DeleteResponse::Object,
        ..PLAIN
    },
];
