//! Default roles of controllers, each bound to the service account of that name.

use super::{EVENTS, READ, ROLE, Row, account, bind, named, rule};
use lockstep_object::Object;

/// Name prefix of controller roles.
const PREFIX: &str = "system:controller:";

/// Gives a role to the service account it is for.
pub(super) fn binding(row: &Row) -> Object {
    let controller = row.name.strip_prefix(PREFIX).unwrap_or(row.name);
    bind(row, row.name, vec![account(controller)])
}

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "system:controller:attachdetach-controller",
        rules: &[
            rule(
                "list watch",
                "core",
                "persistentvolumeclaims persistentvolumes",
            ),
            rule(READ, "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("list watch", "core", "pods"),
            EVENTS,
            rule(
                "create delete get list watch",
                "storage.k8s.io",
                "volumeattachments",
            ),
            rule(READ, "storage.k8s.io", "csidrivers"),
            rule(READ, "storage.k8s.io", "csinodes"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:certificate-controller",
        rules: &[
            rule(
                "delete get list watch",
                "certificates.k8s.io",
                "certificatesigningrequests",
            ),
            rule(
                "update",
                "certificates.k8s.io",
                "certificatesigningrequests/approval certificatesigningrequests/status",
            ),
            named(
                "approve",
                "certificates.k8s.io",
                "signers",
                "kubernetes.io/kube-apiserver-client-kubelet",
            ),
            named(
                "sign",
                "certificates.k8s.io",
                "signers",
                "kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown",
            ),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:clusterrole-aggregation-controller",
        rules: &[rule(
            "escalate get list patch update watch",
            "rbac.authorization.k8s.io",
            "clusterroles",
        )],
        ..ROLE
    },
    Row {
        name: "system:controller:cronjob-controller",
        rules: &[
            rule("get list update watch", "batch", "cronjobs"),
            rule("create delete get list patch update watch", "batch", "jobs"),
            rule("update", "batch", "cronjobs/status"),
            rule("update", "batch", "cronjobs/finalizers"),
            rule("delete list watch", "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:daemon-set-controller",
        rules: &[
            rule(READ, "apps extensions", "daemonsets"),
            rule("update", "apps extensions", "daemonsets/status"),
            rule("update", "apps extensions", "daemonsets/finalizers"),
            rule("list watch", "core", "nodes"),
            rule("create delete list patch watch", "core", "pods"),
            rule("create", "core", "pods/binding"),
            rule(
                "create delete get list patch update watch",
                "apps",
                "controllerrevisions",
            ),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:deployment-controller",
        rules: &[
            rule("get list update watch", "apps extensions", "deployments"),
            rule("update", "apps extensions", "deployments/status"),
            rule("update", "apps extensions", "deployments/finalizers"),
            rule(
                "create delete get list patch update watch",
                "apps extensions",
                "replicasets",
            ),
            rule("get list update watch", "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:device-taint-eviction-controller",
        rules: &[
            rule("delete get list watch", "core", "pods"),
            rule("patch update", "core", "pods/status"),
            rule(READ, "resource.k8s.io", "resourceclaims"),
            rule(READ, "resource.k8s.io", "resourceslices"),
            rule(READ, "resource.k8s.io", "deviceclasses"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:disruption-controller",
        rules: &[
            rule(READ, "apps extensions", "deployments"),
            rule(READ, "apps extensions", "replicasets"),
            rule(READ, "core", "replicationcontrollers"),
            rule(READ, "policy", "poddisruptionbudgets"),
            rule(READ, "apps", "statefulsets"),
            rule("update", "policy", "poddisruptionbudgets/status"),
            rule("patch update", "core", "pods/status"),
            rule("get", "*", "*/scale"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:endpoint-controller",
        rules: &[
            rule(READ, "core", "pods services"),
            rule("create delete get list update watch", "core", "endpoints"),
            rule("create", "core", "endpoints/restricted"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:endpointslice-controller",
        rules: &[
            rule(READ, "core", "nodes pods services"),
            rule("update", "core", "services/finalizers"),
            rule(
                "create delete get list update watch",
                "discovery.k8s.io",
                "endpointslices",
            ),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:endpointslicemirroring-controller",
        rules: &[
            rule(READ, "core", "endpoints services"),
            rule("update", "core", "services/finalizers"),
            rule("update", "core", "endpoints/finalizers"),
            rule(
                "create delete get list update watch",
                "discovery.k8s.io",
                "endpointslices",
            ),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:ephemeral-volume-controller",
        rules: &[
            rule(READ, "core", "pods"),
            rule("update", "core", "pods/finalizers"),
            rule("create get list watch", "core", "persistentvolumeclaims"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:expand-controller",
        rules: &[
            rule("get list patch update watch", "core", "persistentvolumes"),
            rule("patch update", "core", "persistentvolumeclaims/status"),
            rule(READ, "core", "persistentvolumeclaims"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:generic-garbage-collector",
        rules: &[rule("delete get list patch update watch", "*", "*"), EVENTS],
        ..ROLE
    },
    Row {
        name: "system:controller:horizontal-pod-autoscaler",
        rules: &[
            rule(READ, "autoscaling", "horizontalpodautoscalers"),
            rule("update", "autoscaling", "horizontalpodautoscalers/status"),
            rule("get update", "*", "*/scale"),
            rule("list watch", "core", "pods"),
            rule("list watch", "metrics.k8s.io", "pods"),
            rule(READ, "custom.metrics.k8s.io", "*"),
            rule(READ, "external.metrics.k8s.io", "*"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:job-controller",
        rules: &[
            rule("get list patch update watch", "batch", "jobs"),
            rule("update", "batch", "jobs/status"),
            rule("update", "batch", "jobs/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:legacy-service-account-token-cleaner",
        rules: &[
            named(
                "get",
                "core",
                "configmaps",
                "kube-apiserver-legacy-service-account-token-tracking",
            ),
            rule("delete patch", "core", "secrets"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:namespace-controller",
        rules: &[
            rule("delete get list watch", "core", "namespaces"),
            rule("update", "core", "namespaces/finalize namespaces/status"),
            rule("delete deletecollection get list watch", "*", "*"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:node-controller",
        rules: &[
            rule("delete get list patch update watch", "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("patch update", "core", "pods/status"),
            rule("delete get list watch", "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:persistent-volume-binder",
        rules: &[
            rule(
                "create delete get list update watch",
                "core",
                "persistentvolumes",
            ),
            rule("update", "core", "persistentvolumes/status"),
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("update", "core", "persistentvolumeclaims/status"),
            rule("create delete get list watch", "core", "pods"),
            rule(READ, "storage.k8s.io", "storageclasses"),
            rule("list watch", "core", "nodes"),
            EVENTS,
            rule("watch", "core", "events"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:pod-garbage-collector",
        rules: &[
            rule("delete list watch", "core", "pods"),
            rule(READ, "core", "nodes"),
            rule("patch", "core", "pods/status"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:pv-protection-controller",
        rules: &[
            rule("get list update watch", "core", "persistentvolumes"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:pvc-protection-controller",
        rules: &[
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule("update", "core", "persistentvolumeclaims/status"),
            rule(READ, "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:replicaset-controller",
        rules: &[
            rule("get list update watch", "apps extensions", "replicasets"),
            rule("update", "apps extensions", "replicasets/status"),
            rule("update", "apps extensions", "replicasets/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:replication-controller",
        rules: &[
            rule("get list update watch", "core", "replicationcontrollers"),
            rule("update", "core", "replicationcontrollers/status"),
            rule("update", "core", "replicationcontrollers/finalizers"),
            rule("create delete list patch watch", "core", "pods"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:resource-claim-controller",
        rules: &[
            rule(READ, "core", "pods"),
            rule("update", "core", "pods/finalizers"),
            rule(
                "create delete get list watch",
                "resource.k8s.io",
                "resourceclaims",
            ),
            rule(
                "patch update",
                "resource.k8s.io",
                "resourceclaims resourceclaims/status",
            ),
            rule("patch update", "core", "pods/status"),
            EVENTS,
            rule("patch update", "resource.k8s.io", "resourceclaims/binding"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:resourcequota-controller",
        rules: &[
            rule("list watch", "*", "*"),
            rule("update", "core", "resourcequotas/status"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:root-ca-cert-publisher",
        rules: &[rule("create update", "core", "configmaps"), EVENTS],
        ..ROLE
    },
    Row {
        name: "system:controller:route-controller",
        rules: &[
            rule("list watch", "core", "nodes"),
            rule("patch", "core", "nodes/status"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:selinux-warning-controller",
        rules: &[
            EVENTS,
            rule(READ, "core", "persistentvolumes"),
            rule(READ, "core", "persistentvolumeclaims"),
            rule(READ, "core", "pods"),
            rule(READ, "storage.k8s.io", "csidrivers"),
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:service-account-controller",
        rules: &[rule("create", "core", "serviceaccounts"), EVENTS],
        ..ROLE
    },
    Row {
        name: "system:controller:service-cidrs-controller",
        rules: &[
            rule(
                "get list patch update watch",
                "networking.k8s.io",
                "servicecidrs",
            ),
            rule(
                "patch update",
                "networking.k8s.io",
                "servicecidrs/finalizers",
            ),
            rule("patch update", "networking.k8s.io", "servicecidrs/status"),
            rule(READ, "networking.k8s.io", "ipaddresses"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:service-controller",
        rules: &[
            rule(READ, "core", "services"),
            rule("patch update", "core", "services/status"),
            rule("list watch", "core", "nodes"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:statefulset-controller",
        rules: &[
            rule("list watch", "core", "pods"),
            rule(READ, "apps", "statefulsets"),
            rule("update", "apps", "statefulsets/status"),
            rule("update", "apps", "statefulsets/finalizers"),
            rule("create delete get patch update", "core", "pods"),
            rule(
                "create delete get list patch update watch",
                "apps",
                "controllerrevisions",
            ),
            rule("create get list watch", "core", "persistentvolumeclaims"),
            rule("delete update", "core", "persistentvolumeclaims"),
            rule("update", "core", "pods/finalizers"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:ttl-after-finished-controller",
        rules: &[rule("delete get list watch", "batch", "jobs"), EVENTS],
        ..ROLE
    },
    Row {
        name: "system:controller:ttl-controller",
        rules: &[rule("list patch update watch", "core", "nodes"), EVENTS],
        ..ROLE
    },
    Row {
        name: "system:controller:validatingadmissionpolicy-status-controller",
        rules: &[
            rule(
                READ,
                "admissionregistration.k8s.io",
                "validatingadmissionpolicies",
            ),
            rule(
                "get patch update",
                "admissionregistration.k8s.io",
                "validatingadmissionpolicies/status",
            ),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:controller:volumeattributesclass-protection-controller",
        rules: &[
            rule(READ, "core", "persistentvolumeclaims"),
            rule(READ, "core", "persistentvolumes"),
            rule(
                "get list update watch",
                "storage.k8s.io",
                "volumeattributesclasses",
            ),
            EVENTS,
        ],
        ..ROLE
    },
];
