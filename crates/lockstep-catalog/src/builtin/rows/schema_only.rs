//! Rows of resources that are checked for field types only.

use lockstep_object::metadata::Scope;

use super::super::{PLAIN, Row};
use crate::Subresource;

pub(in crate::builtin) const ROWS: &[Row] = &[
    Row {
        group: "storage.k8s.io",
        plural: "volumeattributesclasses",
        singular: "volumeattributesclass",
        kind: "VolumeAttributesClass",
        short_names: &["vac"],
        scope: Scope::Cluster,
        bucket: "volumeattributesclasses",
        ..PLAIN
    },
    Row {
        group: "resource.k8s.io",
        plural: "deviceclasses",
        singular: "deviceclass",
        kind: "DeviceClass",
        scope: Scope::Cluster,
        bucket: "deviceclasses",
        ..PLAIN
    },
    Row {
        group: "resource.k8s.io",
        plural: "resourceclaims",
        singular: "resourceclaim",
        kind: "ResourceClaim",
        subresources: &[Subresource::Status],
        bucket: "resourceclaims",
        ..PLAIN
    },
    Row {
        group: "resource.k8s.io",
        plural: "resourceclaimtemplates",
        singular: "resourceclaimtemplate",
        kind: "ResourceClaimTemplate",
        bucket: "resourceclaimtemplates",
        ..PLAIN
    },
    Row {
        group: "resource.k8s.io",
        plural: "resourceslices",
        singular: "resourceslice",
        kind: "ResourceSlice",
        scope: Scope::Cluster,
        bucket: "resourceslices",
        ..PLAIN
    },
];
