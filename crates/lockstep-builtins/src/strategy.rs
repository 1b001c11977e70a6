//! The strategy table of built-in kinds.

use lockstep_object::field::FieldErrors;
use lockstep_object::{Object, Value};

use crate::parts::ResetFields;
use crate::validate::{
    apps, autoscaling, batch, certificates, cluster, endpoints, flowcontrol, job_status, limits,
    network, pods, quota as quotas, ranges, services as service, statuses, storage, webhooks,
};
use crate::{autoscaling as conversion, prepare, quota, services, statuses as kept_statuses};

/// The strategy of one kind.
#[derive(Clone, Copy, Debug)]
pub struct KindStrategy {
    group: &'static str,
    kind: &'static str,
    /// Converts an object to the given version; a no-op if it has that version.
    pub convert: fn(&mut Object, &str),
    /// Sets the fields of a new object that the server decides.
    pub prepare_for_create: fn(&mut Object),
    /// Sets the fields of an updated object that the server decides.
    pub prepare_for_update: fn(&mut Object, &Object),
    /// Metadata fields whose changes increment the generation.
    pub counted_metadata: &'static [&'static str],
    /// Fields that an endpoint cannot change.
    pub reset_fields: ResetFields,
    /// Restores status fields that a status update omitted unintentionally. Takes the time of the update.
    pub preserve_status: fn(&mut Object, &Object, &str),
    create: fn(&Value, &mut FieldErrors),
    update: fn(&Value, &Value, &mut FieldErrors),
    status: fn(&Value, &Value, &mut FieldErrors),
}

/// The strategy of kinds without special behaviour.
const PLAIN: KindStrategy = KindStrategy {
    group: "",
    kind: "",
    convert: |_, _| (),
    prepare_for_create: |_| (),
    prepare_for_update: |_, _| (),
    counted_metadata: &[],
    reset_fields: ResetFields::USUAL,
    preserve_status: |_, _, _| (),
    create: |_, _| (),
    update: |_, _, _| (),
    status: |_, _, _| (),
};

const TABLE: &[KindStrategy] = &[
    KindStrategy {
        kind: "Pod",
        reset_fields: ResetFields::POD,
        preserve_status: kept_statuses::pod,
        prepare_for_create: prepare::pod,
        prepare_for_update: prepare::pod_again,
        create: pods::pod,
        update: pods::pod_update,
        status: pods::pod_status,
        ..PLAIN
    },
    KindStrategy {
        kind: "Service",
        prepare_for_create: services::prepare_for_create,
        prepare_for_update: services::prepare_for_update,
        create: service::service,
        update: service::service_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "PersistentVolume",
        preserve_status: kept_statuses::volume,
        prepare_for_create: prepare::volume,
        create: storage::volume,
        update: storage::volume_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "PersistentVolumeClaim",
        prepare_for_create: prepare::claim,
        prepare_for_update: |claim, _| prepare::same_source(claim),
        create: storage::claim,
        update: storage::claim_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "ReplicationController",
        create: apps::replication_controller,
        update: apps::replication_controller_update,
        status: statuses::replica_set,
        ..PLAIN
    },
    KindStrategy {
        kind: "PodTemplate",
        create: apps::pod_template,
        update: apps::pod_template_update,
        ..PLAIN
    },
    KindStrategy {
        group: "apps",
        kind: "Deployment",
        reset_fields: ResetFields::DEPLOYMENT,
        counted_metadata: &["annotations"],
        create: apps::deployment,
        update: apps::deployment_update,
        status: statuses::deployment,
        ..PLAIN
    },
    KindStrategy {
        group: "apps",
        kind: "ReplicaSet",
        create: apps::replica_set,
        update: apps::replica_set_update,
        status: statuses::replica_set,
        ..PLAIN
    },
    KindStrategy {
        group: "apps",
        kind: "StatefulSet",
        create: apps::stateful_set,
        update: apps::stateful_set_update,
        status: statuses::stateful_set,
        ..PLAIN
    },
    KindStrategy {
        group: "apps",
        kind: "DaemonSet",
        prepare_for_create: prepare::daemon_set,
        prepare_for_update: prepare::daemon_set_again,
        create: apps::daemon_set,
        update: apps::daemon_set_update,
        status: statuses::daemon_set,
        ..PLAIN
    },
    KindStrategy {
        group: "apps",
        kind: "ControllerRevision",
        create: apps::revision,
        update: apps::revision_update,
        ..PLAIN
    },
    KindStrategy {
        group: "batch",
        kind: "Job",
        prepare_for_create: prepare::job,
        create: batch::job,
        update: batch::job_update,
        status: job_status::check,
        ..PLAIN
    },
    KindStrategy {
        group: "batch",
        kind: "CronJob",
        create: batch::cron_job,
        update: batch::cron_job_update,
        ..PLAIN
    },
    KindStrategy {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        convert: conversion::convert,
        create: autoscaling::autoscaler,
        update: autoscaling::autoscaler_update,
        status: statuses::autoscaler,
        ..PLAIN
    },
    KindStrategy {
        group: "policy",
        kind: "PodDisruptionBudget",
        create: apps::budget,
        update: apps::budget_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "Endpoints",
        create: endpoints::endpoints,
        update: endpoints::endpoints_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "Node",
        prepare_for_create: prepare::node,
        prepare_for_update: |node, _| prepare::align_node(node),
        create: cluster::node,
        update: cluster::node_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "LimitRange",
        create: limits::limits,
        update: limits::limits_update,
        ..PLAIN
    },
    KindStrategy {
        kind: "ResourceQuota",
        prepare_for_update: quota::keep_what_still_counts,
        create: quotas::quota,
        update: quotas::quota_update,
        status: quotas::quota_status,
        ..PLAIN
    },
    KindStrategy {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        counted_metadata: &["labels"],
        create: endpoints::slice,
        update: endpoints::slice_update,
        ..PLAIN
    },
    KindStrategy {
        group: "networking.k8s.io",
        kind: "Ingress",
        create: network::ingress,
        update: network::ingress_update,
        ..PLAIN
    },
    KindStrategy {
        group: "networking.k8s.io",
        kind: "IngressClass",
        create: network::ingress_class,
        update: network::ingress_class_update,
        ..PLAIN
    },
    KindStrategy {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        create: network::policy,
        update: network::policy_update,
        ..PLAIN
    },
    KindStrategy {
        group: "networking.k8s.io",
        kind: "IPAddress",
        create: ranges::address,
        update: ranges::address_update,
        ..PLAIN
    },
    KindStrategy {
        group: "networking.k8s.io",
        kind: "ServiceCIDR",
        reset_fields: ResetFields::METADATA,
        create: ranges::range,
        update: ranges::range_update,
        ..PLAIN
    },
    KindStrategy {
        group: "storage.k8s.io",
        kind: "StorageClass",
        create: storage::class,
        update: storage::class_update,
        ..PLAIN
    },
    KindStrategy {
        group: "storage.k8s.io",
        kind: "VolumeAttributesClass",
        create: storage::attributes,
        update: storage::attributes_update,
        ..PLAIN
    },
    KindStrategy {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        update: storage::driver_update,
        ..PLAIN
    },
    KindStrategy {
        group: "storage.k8s.io",
        kind: "CSINode",
        create: storage::node_drivers,
        update: storage::node_drivers_update,
        ..PLAIN
    },
    KindStrategy {
        group: "storage.k8s.io",
        kind: "CSIStorageCapacity",
        create: storage::capacity,
        update: storage::capacity_update,
        ..PLAIN
    },
    KindStrategy {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        reset_fields: ResetFields::METADATA,
        create: storage::attachment,
        update: storage::attachment_update,
        ..PLAIN
    },
    KindStrategy {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        create: cluster::priority,
        update: cluster::priority_update,
        ..PLAIN
    },
    KindStrategy {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        create: cluster::runtime,
        update: cluster::runtime_update,
        ..PLAIN
    },
    KindStrategy {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        reset_fields: ResetFields::SIGNING_REQUEST,
        create: certificates::signing_request,
        update: certificates::signing_request_update,
        status: certificates::signing_request_status,
        ..PLAIN
    },
    KindStrategy {
        group: "admissionregistration.k8s.io",
        kind: "MutatingWebhookConfiguration",
        create: webhooks::configuration,
        update: webhooks::configuration_update,
        ..PLAIN
    },
    KindStrategy {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingWebhookConfiguration",
        create: webhooks::configuration,
        update: webhooks::configuration_update,
        ..PLAIN
    },
    KindStrategy {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "FlowSchema",
        reset_fields: ResetFields::METADATA,
        create: flowcontrol::schema,
        update: |new, _, errors| flowcontrol::schema(new, errors),
        ..PLAIN
    },
    KindStrategy {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "PriorityLevelConfiguration",
        reset_fields: ResetFields::METADATA,
        create: flowcontrol::level,
        update: |new, _, errors| flowcontrol::level(new, errors),
        ..PLAIN
    },
    KindStrategy {
        group: "apiregistration.k8s.io",
        kind: "APIService",
        reset_fields: ResetFields::METADATA,
        ..PLAIN
    },
    KindStrategy {
        group: "resource.k8s.io",
        kind: "ResourceClaim",
        reset_fields: ResetFields::METADATA,
        ..PLAIN
    },
];

impl KindStrategy {
    /// The strategy of a kind; the plain one if it has none.
    pub fn of(group: &str, kind: &str) -> &'static Self {
        let found = TABLE
            .iter()
            .find(|row| (row.group, row.kind) == (group, kind));
        found.unwrap_or(&PLAIN)
    }

    /// Validates a new object, or the result of an update through an endpoint.
    pub fn check(
        &self,
        object: &Value,
        old: Option<&Value>,
        endpoint: WriteEndpoint,
    ) -> FieldErrors {
        let mut errors = FieldErrors::new();
        match (old, endpoint) {
            (None, _) => (self.create)(object, &mut errors),
            (Some(old), WriteEndpoint::Main) => (self.update)(object, old, &mut errors),
            (Some(old), WriteEndpoint::EphemeralContainers) => {
                pods::ephemeral_update(object, old, &mut errors);
            }
            (Some(_), WriteEndpoint::Resize) => pods::resized(object, &mut errors),
            (Some(old), WriteEndpoint::Status) => (self.status)(object, old, &mut errors),
            (Some(_), WriteEndpoint::Unchecked) => {}
        }
        errors
    }
}

/// The endpoint of a write, which limits the fields it may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteEndpoint {
    /// The main endpoint: all mutable fields.
    Main,
    /// The ephemeralcontainers subresource of pods.
    EphemeralContainers,
    /// The resize subresource of pods.
    Resize,
    /// The status subresource.
    Status,
    /// Writes by the server itself, and subresources without validation.
    Unchecked,
}
