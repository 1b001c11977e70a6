//! Default roles for users, and for all authenticated or unauthenticated requests.

use super::{READ, ROLE, Row, WRITE, groups, paths, rule};

pub(super) const ROWS: &[Row] = &[
    Row {
        name: "cluster-admin",
        rules: &[rule("*", "*", "*"), paths("*", "*")],
        bound: groups("system:masters"),
        ..ROLE
    },
    Row {
        name: "system:discovery",
        rules: &[paths(
            "get",
            "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
        )],
        bound: groups("system:authenticated"),
        ..ROLE
    },
    Row {
        name: "system:public-info-viewer",
        rules: &[paths("get", "/healthz /livez /readyz /version /version/")],
        bound: groups("system:authenticated system:unauthenticated"),
        ..ROLE
    },
    Row {
        name: "system:basic-user",
        rules: &[
            rule(
                "create",
                "authorization.k8s.io",
                "selfsubjectaccessreviews selfsubjectrulesreviews",
            ),
            rule("create", "authentication.k8s.io", "selfsubjectreviews"),
        ],
        bound: groups("system:authenticated"),
        ..ROLE
    },
    Row {
        name: "system:monitoring",
        rules: &[
            paths(
                "get",
                "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz",
            ),
            rule("get", "core", "nodes/metrics"),
        ],
        bound: groups("system:monitoring"),
        ..ROLE
    },
    Row {
        name: "system:service-account-issuer-discovery",
        rules: &[paths(
            "get",
            "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/",
        )],
        bound: groups("system:serviceaccounts"),
        ..ROLE
    },
    Row {
        name: "admin",
        aggregates: true,
        ..ROLE
    },
    Row {
        name: "edit",
        aggregates: true,
        gathered_by: "admin",
        ..ROLE
    },
    Row {
        name: "view",
        aggregates: true,
        gathered_by: "edit",
        ..ROLE
    },
    Row {
        name: "system:aggregate-to-admin",
        gathered_by: "admin",
        rules: &[
            rule(
                "create",
                "authorization.k8s.io",
                "localsubjectaccessreviews",
            ),
            rule(
                "create delete deletecollection get list patch update watch",
                "rbac.authorization.k8s.io",
                "rolebindings roles",
            ),
        ],
        ..ROLE
    },
    Row {
        name: "system:aggregate-to-edit",
        gathered_by: "edit",
        rules: &[
            rule(
                READ,
                "core",
                "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
            ),
            rule("impersonate", "core", "serviceaccounts"),
            rule(
                WRITE,
                "core",
                "pods pods/attach pods/exec pods/portforward pods/proxy",
            ),
            rule("create", "core", "pods/eviction"),
            rule(
                WRITE,
                "core",
                "configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy",
            ),
            rule("create", "core", "serviceaccounts/token"),
            rule(WRITE, "core events.k8s.io", "events"),
            rule(
                WRITE,
                "apps",
                "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale",
            ),
            rule(WRITE, "autoscaling", "horizontalpodautoscalers"),
            rule(WRITE, "batch", "cronjobs jobs"),
            rule(
                WRITE,
                "extensions",
                "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
            ),
            rule(WRITE, "policy", "poddisruptionbudgets"),
            rule(WRITE, "networking.k8s.io", "ingresses networkpolicies"),
            rule(
                "create delete deletecollection get list patch update watch",
                "coordination.k8s.io",
                "leases",
            ),
            rule(
                WRITE,
                "resource.k8s.io",
                "resourceclaims resourceclaimtemplates",
            ),
        ],
        ..ROLE
    },
    Row {
        name: "system:aggregate-to-view",
        gathered_by: "view",
        rules: &[
            rule(
                READ,
                "core",
                "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status",
            ),
            rule(
                READ,
                "core",
                "bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status",
            ),
            rule(READ, "core", "namespaces"),
            rule(READ, "core events.k8s.io", "events"),
            rule(READ, "discovery.k8s.io", "endpointslices"),
            rule(
                READ,
                "apps",
                "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
            ),
            rule(
                READ,
                "autoscaling",
                "horizontalpodautoscalers horizontalpodautoscalers/status",
            ),
            rule(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
            rule(
                READ,
                "extensions",
                "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale",
            ),
            rule(
                READ,
                "policy",
                "poddisruptionbudgets poddisruptionbudgets/status",
            ),
            rule(
                READ,
                "networking.k8s.io",
                "ingresses ingresses/status networkpolicies",
            ),
            rule(
                READ,
                "resource.k8s.io",
                "resourceclaims resourceclaims/status resourceclaimtemplates",
            ),
        ],
        ..ROLE
    },
    // Not upstream's: the kinds that only this server has.
    Row {
        name: "lockstep:aggregate-to-view",
        gathered_by: "view",
        rules: &[rule(READ, "lockstep.dev", "featuregates")],
        ..ROLE
    },
];
