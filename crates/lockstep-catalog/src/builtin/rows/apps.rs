//! Rows of workloads.

use lockstep_object::names::NameRule;

use super::super::{Dependents, PLAIN, Row};
use crate::{LastWrite, SpecialKind, Subresource};

pub(in crate::builtin) const ROWS: &[Row] = &[
    Row {
        group: "apps",
        plural: "deployments",
        singular: "deployment",
        kind: "Deployment",
        short_names: &["deploy"],
        categories: &["all"],
        subresources: &[Subresource::Status, Subresource::Scale],
        bucket: "deployments",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "replicasets",
        singular: "replicaset",
        kind: "ReplicaSet",
        short_names: &["rs"],
        categories: &["all"],
        subresources: &[Subresource::Status, Subresource::Scale],
        bucket: "replicasets",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "statefulsets",
        singular: "statefulset",
        kind: "StatefulSet",
        short_names: &["sts"],
        categories: &["all"],
        subresources: &[Subresource::Status, Subresource::Scale],
        bucket: "statefulsets",
        names: NameRule::Label,
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "daemonsets",
        singular: "daemonset",
        kind: "DaemonSet",
        short_names: &["ds"],
        categories: &["all"],
        subresources: &[Subresource::Status],
        bucket: "daemonsets",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "apps",
        plural: "controllerrevisions",
        singular: "controllerrevision",
        kind: "ControllerRevision",
        bucket: "controllerrevisions",
        ..PLAIN
    },
    Row {
        group: "batch",
        plural: "jobs",
        dependents: Dependents::Orphaned,
        special: SpecialKind::Job,
        singular: "job",
        kind: "Job",
        categories: &["all"],
        subresources: &[Subresource::Status],
        bucket: "jobs",
        server_fields: &[
            &["metadata", "labels"],
            &["metadata", "labels", "batch.kubernetes.io/controller-uid"],
            &["metadata", "labels", "batch.kubernetes.io/job-name"],
            &["metadata", "labels", "controller-uid"],
            &["metadata", "labels", "job-name"],
            &["spec", "selector"],
            &["spec", "template", "metadata", "labels"],
        ],
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "batch",
        plural: "cronjobs",
        singular: "cronjob",
        kind: "CronJob",
        short_names: &["cj"],
        categories: &["all"],
        subresources: &[Subresource::Status],
        bucket: "cronjobs",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "autoscaling",
        plural: "horizontalpodautoscalers",
        singular: "horizontalpodautoscaler",
        kind: "HorizontalPodAutoscaler",
        short_names: &["hpa"],
        categories: &["all"],
        subresources: &[Subresource::Status],
        bucket: "horizontalpodautoscalers",
        versions: &["v2", "v1"],
        ..PLAIN
    },
    Row {
        group: "policy",
        plural: "poddisruptionbudgets",
        singular: "poddisruptionbudget",
        kind: "PodDisruptionBudget",
        short_names: &["pdb"],
        subresources: &[Subresource::Status],
        bucket: "poddisruptionbudgets",
        names: NameRule::PathSegment,
        tracks_generation: true,
        last_write: LastWrite::IsRefused,
        ..PLAIN
    },
];
