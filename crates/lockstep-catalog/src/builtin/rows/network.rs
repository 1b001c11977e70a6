//! Rows of network resources.

use lockstep_object::metadata::Scope;
use lockstep_object::names::NameRule;

use super::super::{PLAIN, Row};
use crate::{SpecialKind, Subresource};

pub(in crate::builtin) const ROWS: &[Row] = &[
    Row {
        group: "networking.k8s.io",
        plural: "ingresses",
        special: SpecialKind::Ingress,
        singular: "ingress",
        kind: "Ingress",
        short_names: &["ing"],
        subresources: &[Subresource::Status],
        bucket: "ingress",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "networking.k8s.io",
        plural: "ingressclasses",
        singular: "ingressclass",
        kind: "IngressClass",
        scope: Scope::Cluster,
        bucket: "ingressclasses",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "networking.k8s.io",
        plural: "networkpolicies",
        singular: "networkpolicy",
        kind: "NetworkPolicy",
        short_names: &["netpol"],
        bucket: "networkpolicies",
        tracks_generation: true,
        ..PLAIN
    },
    Row {
        group: "networking.k8s.io",
        plural: "ipaddresses",
        singular: "ipaddress",
        kind: "IPAddress",
        short_names: &["ip"],
        scope: Scope::Cluster,
        bucket: "ipaddresses",
        // The validation of the kind requires an IP address.
        names: NameRule::PathSegment,
        ..PLAIN
    },
    Row {
        group: "networking.k8s.io",
        plural: "servicecidrs",
        singular: "servicecidr",
        kind: "ServiceCIDR",
        scope: Scope::Cluster,
        subresources: &[Subresource::Status],
        bucket: "servicecidrs",
        ..PLAIN
    },
    Row {
        group: "discovery.k8s.io",
        plural: "endpointslices",
        singular: "endpointslice",
        kind: "EndpointSlice",
        bucket: "endpointslices",
        tracks_generation: true,
        ..PLAIN
    },
];
