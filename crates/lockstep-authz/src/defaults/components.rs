//! Default roles of cluster components.

use super::{Bound, EVENTS, READ, ROLE, Row, UNBOUND, named, rule, users};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "system:auth-delegator",
        rules: &[
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
        ],
        ..ROLE
    },
    Row {
        name: "system:heapster",
        rules: &[
            rule(READ, "core", "events namespaces nodes pods"),
            rule(READ, "extensions", "deployments"),
        ],
        ..ROLE
    },
    Row {
        name: "system:kube-aggregator",
        rules: &[rule(READ, "core", "endpoints services")],
        ..ROLE
    },
    Row {
        name: "system:kube-controller-manager",
        rules: &[
            EVENTS,
            rule("create", "coordination.k8s.io", "leases"),
            named(
                "get update",
                "coordination.k8s.io",
                "leases",
                "kube-controller-manager",
            ),
            rule("create", "core", "secrets serviceaccounts"),
            rule("delete", "core", "secrets"),
            rule(
                "get",
                "core",
                "configmaps namespaces secrets serviceaccounts",
            ),
            rule("update", "core", "secrets serviceaccounts"),
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            rule("list watch", "*", "*"),
            rule("create", "core", "serviceaccounts/token"),
        ],
        bound: users("system:kube-controller-manager"),
        ..ROLE
    },
    Row {
        name: "system:kube-dns",
        rules: &[rule("list watch", "core", "endpoints services")],
        bound: Bound {
            accounts: "kube-dns",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        name: "system:kube-scheduler",
        rules: &[
            EVENTS,
            rule("create", "coordination.k8s.io", "leases"),
            named(
                "get list update watch",
                "coordination.k8s.io",
                "leases",
                "kube-scheduler",
            ),
            rule(
                "create delete deletecollection get list patch update watch",
                "coordination.k8s.io",
                "leasecandidates",
            ),
            rule(READ, "core", "nodes"),
            rule("delete get list watch", "core", "pods"),
            rule("create", "core", "bindings pods/binding"),
            rule("patch update", "core", "pods/status"),
            rule(READ, "core", "replicationcontrollers services"),
            rule(READ, "apps extensions", "replicasets"),
            rule(READ, "apps", "statefulsets"),
            rule(READ, "policy", "poddisruptionbudgets"),
            rule(READ, "core", "persistentvolumeclaims persistentvolumes"),
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule("create", "authorization.k8s.io", "subjectaccessreviews"),
            rule(READ, "storage.k8s.io", "csinodes"),
            rule(READ, "storage.k8s.io", "volumeattachments"),
            rule(READ, "core", "namespaces"),
            rule(READ, "storage.k8s.io", "csidrivers"),
            rule(READ, "storage.k8s.io", "csistoragecapacities"),
            rule(READ, "resource.k8s.io", "deviceclasses"),
            rule(
                "get list patch update watch",
                "resource.k8s.io",
                "resourceclaims",
            ),
            rule(
                "get list patch update watch",
                "resource.k8s.io",
                "resourceclaims/status",
            ),
            rule("update", "core", "pods/finalizers"),
            rule(READ, "resource.k8s.io", "resourceslices"),
            rule("create delete", "resource.k8s.io", "resourceclaims"),
            rule("patch update", "resource.k8s.io", "resourceclaims/binding"),
        ],
        bound: users("system:kube-scheduler"),
        ..ROLE
    },
    Row {
        name: "system:kubelet-api-admin",
        rules: &[
            rule(READ, "core", "nodes"),
            rule("proxy", "core", "nodes"),
            rule(
                "*",
                "core",
                "nodes/log nodes/metrics nodes/proxy nodes/stats",
            ),
            rule("*", "core", "nodes/configz nodes/healthz nodes/pods"),
        ],
        ..ROLE
    },
    Row {
        name: "system:node",
        rules: &[
            rule("create", "authentication.k8s.io", "tokenreviews"),
            rule(
                "create",
                "authorization.k8s.io",
                "localsubjectaccessreviews subjectaccessreviews",
            ),
            rule(READ, "core", "services"),
            rule("create get list watch", "core", "nodes"),
            rule("patch update", "core", "nodes/status"),
            rule("patch update", "core", "nodes"),
            EVENTS,
            rule(READ, "core", "pods"),
            rule("create delete", "core", "pods"),
            rule("patch update", "core", "pods/status"),
            rule("create", "core", "pods/eviction"),
            rule(READ, "core", "configmaps secrets"),
            rule("get", "core", "persistentvolumeclaims persistentvolumes"),
            rule("get", "core", "endpoints"),
            rule(
                "create get list watch",
                "certificates.k8s.io",
                "certificatesigningrequests",
            ),
            rule(
                "create delete get patch update",
                "coordination.k8s.io",
                "leases",
            ),
            rule("get", "storage.k8s.io", "volumeattachments"),
            rule("create", "core", "serviceaccounts/token"),
            rule("get patch update", "core", "persistentvolumeclaims/status"),
            rule(READ, "storage.k8s.io", "csidrivers"),
            rule(
                "create delete get patch update",
                "storage.k8s.io",
                "csinodes",
            ),
            rule(READ, "node.k8s.io", "runtimeclasses"),
            rule("get", "resource.k8s.io", "resourceclaims"),
            rule("deletecollection", "resource.k8s.io", "resourceslices"),
            rule("get", "core", "serviceaccounts"),
        ],
        // Nodes are authorized by the node authorizer; clusters without one add the group `system:nodes` here.
        bound: Bound {
            name: "system:node",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        name: "system:node-bootstrapper",
        rules: &[rule(
            "create get list watch",
            "certificates.k8s.io",
            "certificatesigningrequests",
        )],
        ..ROLE
    },
    Row {
        name: "system:node-problem-detector",
        rules: &[
            rule("get", "core", "nodes"),
            rule("patch", "core", "nodes/status"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:node-proxier",
        rules: &[
            rule("list watch", "core", "endpoints services"),
            rule(READ, "core", "nodes"),
            EVENTS,
            rule("list watch", "networking.k8s.io", "servicecidrs"),
            rule("list watch", "discovery.k8s.io", "endpointslices"),
        ],
        bound: users("system:kube-proxy"),
        ..ROLE
    },
    Row {
        name: "system:persistent-volume-provisioner",
        rules: &[
            rule("create delete get list watch", "core", "persistentvolumes"),
            rule("get list update watch", "core", "persistentvolumeclaims"),
            rule(READ, "storage.k8s.io", "storageclasses"),
            rule("watch", "core", "events"),
            EVENTS,
        ],
        ..ROLE
    },
    Row {
        name: "system:volume-scheduler",
        rules: &[
            rule("get list patch update watch", "core", "persistentvolumes"),
            rule(READ, "storage.k8s.io", "storageclasses"),
            rule(
                "get list patch update watch",
                "core",
                "persistentvolumeclaims",
            ),
        ],
        bound: users("system:kube-scheduler"),
        ..ROLE
    },
    Row {
        name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient",
        rules: &[rule(
            "create",
            "certificates.k8s.io",
            "certificatesigningrequests/nodeclient",
        )],
        ..ROLE
    },
    Row {
        name: "system:certificates.k8s.io:certificatesigningrequests:selfnodeclient",
        rules: &[rule(
            "create",
            "certificates.k8s.io",
            "certificatesigningrequests/selfnodeclient",
        )],
        ..ROLE
    },
    Row {
        name: "system:certificates.k8s.io:kube-apiserver-client-approver",
        rules: &[named(
            "approve",
            "certificates.k8s.io",
            "signers",
            "kubernetes.io/kube-apiserver-client",
        )],
        ..ROLE
    },
    Row {
        name: "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver",
        rules: &[named(
            "approve",
            "certificates.k8s.io",
            "signers",
            "kubernetes.io/kube-apiserver-client-kubelet",
        )],
        ..ROLE
    },
    Row {
        name: "system:certificates.k8s.io:kubelet-serving-approver",
        rules: &[named(
            "approve",
            "certificates.k8s.io",
            "signers",
            "kubernetes.io/kubelet-serving",
        )],
        ..ROLE
    },
    Row {
        name: "system:certificates.k8s.io:legacy-unknown-approver",
        rules: &[named(
            "approve",
            "certificates.k8s.io",
            "signers",
            "kubernetes.io/legacy-unknown",
        )],
        ..ROLE
    },
];

/// Roles of single namespaces.
pub(super) const ROLES: &[Row] = &[
    Row {
        namespace: "kube-system",
        name: "extension-apiserver-authentication-reader",
        rules: &[named(
            READ,
            "core",
            "configmaps",
            "extension-apiserver-authentication",
        )],
        bound: Bound {
            name: "system::extension-apiserver-authentication-reader",
            users: "system:kube-controller-manager system:kube-scheduler",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        namespace: "kube-system",
        name: "system::leader-locking-kube-controller-manager",
        rules: &[
            rule(
                "create get list update watch",
                "coordination.k8s.io",
                "leases",
            ),
            rule(
                "create get list update watch",
                "coordination.k8s.io",
                "leasecandidates",
            ),
        ],
        bound: Bound {
            users: "system:kube-controller-manager",
            accounts: "kube-controller-manager leader-election-controller",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        namespace: "kube-system",
        name: "system::leader-locking-kube-scheduler",
        rules: &[
            rule(
                "create get list update watch",
                "coordination.k8s.io",
                "leases",
            ),
            rule(
                "create get list update watch",
                "coordination.k8s.io",
                "leasecandidates",
            ),
        ],
        bound: Bound {
            users: "system:kube-scheduler",
            accounts: "kube-scheduler",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        namespace: "kube-system",
        name: "system:controller:bootstrap-signer",
        rules: &[rule(READ, "core", "secrets")],
        bound: Bound {
            accounts: "bootstrap-signer",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        namespace: "kube-system",
        name: "system:controller:cloud-provider",
        rules: &[rule("create get list watch", "core", "configmaps")],
        bound: Bound {
            accounts: "cloud-provider",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        namespace: "kube-system",
        name: "system:controller:token-cleaner",
        rules: &[rule("delete get list watch", "core", "secrets"), EVENTS],
        bound: Bound {
            accounts: "token-cleaner",
            ..UNBOUND
        },
        ..ROLE
    },
    Row {
        namespace: "kube-public",
        name: "system:controller:bootstrap-signer",
        rules: &[
            rule(READ, "core", "configmaps"),
            named("update", "core", "configmaps", "cluster-info"),
            EVENTS,
        ],
        bound: Bound {
            accounts: "bootstrap-signer",
            ..UNBOUND
        },
        ..ROLE
    },
];
