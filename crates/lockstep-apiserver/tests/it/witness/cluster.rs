//! Nodes, volumes, classes and certificates.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_pb::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_pb::api::core::v1::{
    HostPathVolumeSource, Node, NodeSpec, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, PersistentVolumeSource, PersistentVolumeSpec, Taint,
    VolumeResourceRequirements,
};
use k8s_pb::api::node::v1::{Overhead, RuntimeClass};
use k8s_pb::api::scheduling::v1::PriorityClass;
use k8s_pb::api::storage::v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity,
    StorageClass, VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec,
};
use serde_json::json;

use super::{Row, labels, message, named, quantity, row, text};

pub(super) fn rows() -> Vec<Row> {
    [volumes(), drivers(), nodes(), vec![request()]]
        .into_iter()
        .flatten()
        .collect()
}

fn volumes() -> Vec<Row> {
    let class = message!(StorageClass {
        metadata: named("fast"),
        provisioner: text("ex.io/p"),
        parameters: labels([("type", "ssd")]),
        allow_volume_expansion: false,
    });
    let volume = message!(PersistentVolume {
        metadata: named("v"),
        spec: message!(PersistentVolumeSpec {
            capacity: [(text("storage"), quantity("1.5Gi"))],
            access_modes: [text("ReadWriteOnce")],
            persistent_volume_source: message!(PersistentVolumeSource {
                host_path: message!(HostPathVolumeSource { path: text("/v") }),
            }),
        }),
    });
    let claim = message!(PersistentVolumeClaim {
        metadata: named("c"),
        spec: message!(PersistentVolumeClaimSpec {
            access_modes: [text("ReadWriteMany")],
            storage_class_name: text("fast"),
            resources: message!(VolumeResourceRequirements {
                requests: [(text("storage"), quantity("3e9"))]
            }),
        }),
    });
    vec![
        row(
            "/apis/storage.k8s.io/v1/storageclasses",
            "storage.k8s.io/v1",
            "StorageClass",
            &class,
            json!({
                "metadata": {"name": "fast"}, "provisioner": "ex.io/p", "parameters": {"type": "ssd"},
                "allowVolumeExpansion": false,
            }),
        ),
        row(
            "/api/v1/persistentvolumes",
            "v1",
            "PersistentVolume",
            &volume,
            json!({
                "metadata": {"name": "v"},
                "spec": {
                    "capacity": {"storage": "1.5Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/v"},
                },
            }),
        ),
        row(
            "/api/v1/namespaces/default/persistentvolumeclaims",
            "v1",
            "PersistentVolumeClaim",
            &claim,
            json!({
                "metadata": {"name": "c"},
                "spec": {
                    "accessModes": ["ReadWriteMany"], "storageClassName": "fast",
                    "resources": {"requests": {"storage": "3e9"}},
                },
            }),
        ),
    ]
}

fn drivers() -> Vec<Row> {
    let driver = message!(CSIDriver {
        metadata: named("d.ex.io"),
        spec: message!(CSIDriverSpec {
            attach_required: false,
            volume_lifecycle_modes: [text("Ephemeral")]
        }),
    });
    let node = message!(CSINode {
        metadata: named("n"),
        spec: message!(CSINodeSpec {
            drivers: [message!(CSINodeDriver {
                name: text("d.ex.io"),
                node_id: text("x"),
                topology_keys: [text("zone")],
            })],
        }),
    });
    let capacity = message!(CSIStorageCapacity {
        metadata: named("k"),
        storage_class_name: text("fast"),
        capacity: quantity("100Gi"),
    });
    let attachment = message!(VolumeAttachment {
        metadata: named("a"),
        spec: message!(VolumeAttachmentSpec {
            attacher: text("d.ex.io"),
            node_name: text("n"),
            source: message!(VolumeAttachmentSource {
                persistent_volume_name: text("v")
            }),
        }),
    });
    vec![
        row(
            "/apis/storage.k8s.io/v1/csidrivers",
            "storage.k8s.io/v1",
            "CSIDriver",
            &driver,
            json!({
                "metadata": {"name": "d.ex.io"}, "spec": {"attachRequired": false, "volumeLifecycleModes": ["Ephemeral"]},
            }),
        ),
        row(
            "/apis/storage.k8s.io/v1/csinodes",
            "storage.k8s.io/v1",
            "CSINode",
            &node,
            json!({
                "metadata": {"name": "n"},
                "spec": {"drivers": [{"name": "d.ex.io", "nodeID": "x", "topologyKeys": ["zone"]}]},
            }),
        ),
        row(
            "/apis/storage.k8s.io/v1/namespaces/default/csistoragecapacities",
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            &capacity,
            json!({
                "metadata": {"name": "k"}, "storageClassName": "fast", "capacity": "100Gi",
            }),
        ),
        row(
            "/apis/storage.k8s.io/v1/volumeattachments",
            "storage.k8s.io/v1",
            "VolumeAttachment",
            &attachment,
            json!({
                "metadata": {"name": "a"},
                "spec": {"attacher": "d.ex.io", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
            }),
        ),
    ]
}

fn nodes() -> Vec<Row> {
    let taint = message!(Taint {
        key: text("k"),
        value: text(""),
        effect: text("NoSchedule")
    });
    let node = message!(Node {
        metadata: named("n"),
        spec: message!(NodeSpec {
            unschedulable: true,
            provider_id: text("p://n"),
            taints: [taint]
        }),
    });
    let priority = message!(PriorityClass {
        metadata: named("high"),
        value: -5,
        global_default: false,
        description: text("low, really"),
    });
    let runtime = message!(RuntimeClass {
        metadata: named("r"),
        handler: text("h"),
        overhead: message!(Overhead {
            pod_fixed: [(text("cpu"), quantity("0.25"))]
        }),
    });
    vec![
        row(
            "/api/v1/nodes",
            "v1",
            "Node",
            &node,
            json!({
                "metadata": {"name": "n"},
                "spec": {
                    "unschedulable": true, "providerID": "p://n",
                    "taints": [{"key": "k", "value": "", "effect": "NoSchedule"}],
                },
            }),
        ),
        row(
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            "scheduling.k8s.io/v1",
            "PriorityClass",
            &priority,
            json!({
                "metadata": {"name": "high"}, "value": -5, "globalDefault": false, "description": "low, really",
            }),
        ),
        row(
            "/apis/node.k8s.io/v1/runtimeclasses",
            "node.k8s.io/v1",
            "RuntimeClass",
            &runtime,
            json!({
                "metadata": {"name": "r"}, "handler": "h", "overhead": {"podFixed": {"cpu": "0.25"}},
            }),
        ),
    ]
}

fn request() -> Row {
    let key = rcgen::KeyPair::generate().unwrap();
    let request = rcgen::CertificateParams::default()
        .serialize_request(&key)
        .unwrap();
    let request = request.pem().unwrap();
    let message = message!(CertificateSigningRequest {
        metadata: named("csr"),
        spec: message!(CertificateSigningRequestSpec {
            request: request.clone().into_bytes(),
            signer_name: text("ex.io/s"),
            expiration_seconds: 600,
            usages: [text("client auth")],
        }),
    });
    row(
        "/apis/certificates.k8s.io/v1/certificatesigningrequests",
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        &message,
        json!({
            "metadata": {"name": "csr"},
            "spec": {
                "request": STANDARD.encode(request), "signerName": "ex.io/s", "expirationSeconds": 600,
                "usages": ["client auth"],
            },
        }),
    )
}
