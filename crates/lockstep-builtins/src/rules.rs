//! The strategy table of built-in kinds.

use lockstep_object::field::FieldErrors;
use lockstep_object::{Object, Value};

use crate::validate::{
    apps, autoscaling, batch, cluster, endpoints, flowcontrol, job_status, limits, network, pods,
    quota as quotas, ranges, services as service, statuses, storage, webhooks,
};
use crate::{autoscaling as conversion, begin, quota, services};

/// The rules of one kind.
#[derive(Clone, Copy, Debug)]
pub struct KindRules {
    group: &'static str,
    kind: &'static str,
    /// Converts an object to the given version; a no-op if it has that version.
    pub convert: fn(&mut Object, &str),
    /// Gives a new object what the server decides.
    pub begin: fn(&mut Object),
    /// Gives the next state of a stored object what the server decides.
    pub next: fn(&mut Object, &Object),
    /// Metadata fields whose changes increment the generation.
    pub counted_metadata: &'static [&'static str],
    create: fn(&Value, &mut FieldErrors),
    update: fn(&Value, &Value, &mut FieldErrors),
    status: fn(&Value, &Value, &mut FieldErrors),
}

/// The strategy of kinds without special behaviour.
const PLAIN: KindRules = KindRules {
    group: "",
    kind: "",
    convert: |_, _| (),
    begin: |_| (),
    next: |_, _| (),
    counted_metadata: &[],
    create: |_, _| (),
    update: |_, _, _| (),
    status: |_, _, _| (),
};

const TABLE: &[KindRules] = &[
    KindRules {
        kind: "Pod",
        begin: begin::pod,
        next: begin::pod_again,
        create: pods::pod,
        update: pods::pod_update,
        status: pods::pod_status,
        ..PLAIN
    },
    KindRules {
        kind: "Service",
        begin: services::begin,
        next: services::next,
        create: service::service,
        update: service::service_update,
        ..PLAIN
    },
    KindRules {
        kind: "PersistentVolume",
        begin: begin::volume,
        create: storage::volume,
        update: storage::volume_update,
        ..PLAIN
    },
    KindRules {
        kind: "PersistentVolumeClaim",
        begin: begin::claim,
        next: |claim, _| begin::same_source(claim),
        create: storage::claim,
        update: storage::claim_update,
        ..PLAIN
    },
    KindRules {
        kind: "ReplicationController",
        create: apps::replication_controller,
        update: apps::replication_controller_update,
        status: statuses::replica_set,
        ..PLAIN
    },
    KindRules {
        kind: "PodTemplate",
        create: apps::pod_template,
        update: apps::pod_template_update,
        ..PLAIN
    },
    KindRules {
        group: "apps",
        kind: "Deployment",
        counted_metadata: &["annotations"],
        create: apps::deployment,
        update: apps::deployment_update,
        status: statuses::deployment,
        ..PLAIN
    },
    KindRules {
        group: "apps",
        kind: "ReplicaSet",
        create: apps::replica_set,
        update: apps::replica_set_update,
        status: statuses::replica_set,
        ..PLAIN
    },
    KindRules {
        group: "apps",
        kind: "StatefulSet",
        create: apps::stateful_set,
        update: apps::stateful_set_update,
        status: statuses::stateful_set,
        ..PLAIN
    },
    KindRules {
        group: "apps",
        kind: "DaemonSet",
        begin: begin::daemon_set,
        next: begin::daemon_set_again,
        create: apps::daemon_set,
        update: apps::daemon_set_update,
        status: statuses::daemon_set,
        ..PLAIN
    },
    KindRules {
        group: "apps",
        kind: "ControllerRevision",
        create: apps::revision,
        update: apps::revision_update,
        ..PLAIN
    },
    KindRules {
        group: "batch",
        kind: "Job",
        begin: begin::job,
        create: batch::job,
        update: batch::job_update,
        status: job_status::check,
        ..PLAIN
    },
    KindRules {
        group: "batch",
        kind: "CronJob",
        create: batch::cron_job,
        update: batch::cron_job_update,
        ..PLAIN
    },
    KindRules {
        group: "autoscaling",
        kind: "HorizontalPodAutoscaler",
        convert: conversion::convert,
        create: autoscaling::autoscaler,
        update: autoscaling::autoscaler_update,
        status: statuses::autoscaler,
        ..PLAIN
    },
    KindRules {
        group: "policy",
        kind: "PodDisruptionBudget",
        create: apps::budget,
        update: apps::budget_update,
        ..PLAIN
    },
    KindRules {
        kind: "Endpoints",
        create: endpoints::endpoints,
        update: endpoints::endpoints_update,
        ..PLAIN
    },
    KindRules {
        kind: "Node",
        begin: begin::node,
        next: |node, _| begin::align_node(node),
        create: cluster::node,
        update: cluster::node_update,
        ..PLAIN
    },
    KindRules {
        kind: "LimitRange",
        create: limits::limits,
        update: limits::limits_update,
        ..PLAIN
    },
    KindRules {
        kind: "ResourceQuota",
        next: quota::keep_what_still_counts,
        create: quotas::quota,
        update: quotas::quota_update,
        status: quotas::quota_status,
        ..PLAIN
    },
    KindRules {
        group: "discovery.k8s.io",
        kind: "EndpointSlice",
        counted_metadata: &["labels"],
        create: endpoints::slice,
        update: endpoints::slice_update,
        ..PLAIN
    },
    KindRules {
        group: "networking.k8s.io",
        kind: "Ingress",
        create: network::ingress,
        update: network::ingress_update,
        ..PLAIN
    },
    KindRules {
        group: "networking.k8s.io",
        kind: "IngressClass",
        create: network::ingress_class,
        update: network::ingress_class_update,
        ..PLAIN
    },
    KindRules {
        group: "networking.k8s.io",
        kind: "NetworkPolicy",
        create: network::policy,
        update: network::policy_update,
        ..PLAIN
    },
    KindRules {
        group: "networking.k8s.io",
        kind: "IPAddress",
        create: ranges::address,
        update: ranges::address_update,
        ..PLAIN
    },
    KindRules {
        group: "networking.k8s.io",
        kind: "ServiceCIDR",
        create: ranges::range,
        update: ranges::range_update,
        ..PLAIN
    },
    KindRules {
        group: "storage.k8s.io",
        kind: "StorageClass",
        create: storage::class,
        update: storage::class_update,
        ..PLAIN
    },
    KindRules {
        group: "storage.k8s.io",
        kind: "VolumeAttributesClass",
        create: storage::attributes,
        update: storage::attributes_update,
        ..PLAIN
    },
    KindRules {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        update: storage::driver_update,
        ..PLAIN
    },
    KindRules {
        group: "storage.k8s.io",
        kind: "CSINode",
        create: storage::node_drivers,
        update: storage::node_drivers_update,
        ..PLAIN
    },
    KindRules {
        group: "storage.k8s.io",
        kind: "CSIStorageCapacity",
        create: storage::capacity,
        update: storage::capacity_update,
        ..PLAIN
    },
    KindRules {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        create: storage::attachment,
        update: storage::attachment_update,
        ..PLAIN
    },
    KindRules {
        group: "scheduling.k8s.io",
        kind: "PriorityClass",
        create: cluster::priority,
        update: cluster::priority_update,
        ..PLAIN
    },
    KindRules {
        group: "node.k8s.io",
        kind: "RuntimeClass",
        create: cluster::runtime,
        update: cluster::runtime_update,
        ..PLAIN
    },
    KindRules {
        group: "certificates.k8s.io",
        kind: "CertificateSigningRequest",
        create: cluster::signing_request,
        update: cluster::signing_request_update,
        ..PLAIN
    },
    KindRules {
        group: "admissionregistration.k8s.io",
        kind: "MutatingWebhookConfiguration",
        create: webhooks::configuration,
        update: webhooks::configuration_update,
        ..PLAIN
    },
    KindRules {
        group: "admissionregistration.k8s.io",
        kind: "ValidatingWebhookConfiguration",
        create: webhooks::configuration,
        update: webhooks::configuration_update,
        ..PLAIN
    },
    KindRules {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "FlowSchema",
        create: flowcontrol::schema,
        update: |new, _, errors| flowcontrol::schema(new, errors),
        ..PLAIN
    },
    KindRules {
        group: "flowcontrol.apiserver.k8s.io",
        kind: "PriorityLevelConfiguration",
        create: flowcontrol::level,
        update: |new, _, errors| flowcontrol::level(new, errors),
        ..PLAIN
    },
];

impl KindRules {
    /// The strategy of a kind; the plain one if it has none.
    pub fn of(group: &str, kind: &str) -> &'static Self {
        let found = TABLE
            .iter()
            .find(|row| (row.group, row.kind) == (group, kind));
        found.unwrap_or(&PLAIN)
    }

    /// Validates a new object, or the result of an update through an endpoint.
    pub fn check(&self, object: &Value, old: Option<&Value>, part: Part) -> FieldErrors {
        let mut errors = FieldErrors::new();
        match (old, part) {
            (None, _) => (self.create)(object, &mut errors),
            (Some(old), Part::Whole) => (self.update)(object, old, &mut errors),
            (Some(old), Part::EphemeralContainers) => {
                pods::ephemeral_update(object, old, &mut errors);
            }
            (Some(_), Part::Resources) => pods::resized(object, &mut errors),
            (Some(old), Part::Status) => (self.status)(object, old, &mut errors),
            (Some(_), Part::Unchecked) => {}
        }
        errors
    }
}

/// The endpoint of a write, which limits the fields it may change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Whatever may change at all.
    Whole,
    /// The containers that are added to a pod that runs.
    EphemeralContainers,
    /// The resize subresource of pods.
    Resources,
    /// The status.
    Status,
    /// Writes by the server itself, and subresources without validation.
    Unchecked,
}
