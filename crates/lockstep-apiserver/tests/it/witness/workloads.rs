//! Pods, and what makes them.

use k8s_pb::api::apps::v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, Deployment,
    DeploymentSpec, DeploymentStrategy, ReplicaSet, ReplicaSetSpec, RollingUpdateDaemonSet,
    RollingUpdateDeployment, StatefulSet, StatefulSetSpec,
};
use k8s_pb::api::autoscaling::{v1 as autoscaling, v2 as autoscaling_v2};
use k8s_pb::api::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use k8s_pb::api::core::v1::{
    ConfigMapKeySelector, Container, ContainerPort, EmptyDirVolumeSource, EnvVar, EnvVarSource,
    HttpGetAction, LimitRange, LimitRangeItem, LimitRangeSpec, LocalObjectReference,
    PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodSecurityContext, PodSpec,
    PodTemplate, PodTemplateSpec, Probe, ProbeHandler, ReplicationController,
    ReplicationControllerSpec, ResourceRequirements, Toleration, Volume, VolumeMount,
    VolumeResourceRequirements, VolumeSource,
};
use k8s_pb::api::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec};
use k8s_pb::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_pb::apimachinery::pkg::runtime::RawExtension;
use serde_json::{Value, json};

use super::{Row, labels, message, named, number, quantity, row, selector, text, word};

pub(super) fn rows() -> Vec<Row> {
    [plain(), sets(), jobs(), around()]
        .into_iter()
        .flatten()
        .collect()
}

fn container() -> Container {
    let probe = message!(Probe {
        handler: message!(ProbeHandler {
            http_get: message!(HttpGetAction {
                path: text("/ok"),
                port: word("http")
            }),
        }),
        period_seconds: 3,
    });
    let key = message!(ConfigMapKeySelector {
        local_object_reference: LocalObjectReference {
            name: Some(text("m"))
        },
        key: text("k"),
        optional: false,
    });
    message!(Container {
        name: text("c"),
        image: text("i:1"),
        args: [text("-v")],
        ports: [message!(ContainerPort {
            name: text("http"),
            container_port: 80
        })],
        env: [
            message!(EnvVar {
                name: text("A"),
                value: text("")
            }),
            message!(EnvVar {
                name: text("B"),
                value_from: message!(EnvVarSource {
                    config_map_key_ref: key
                }),
            }),
        ],
        resources: message!(ResourceRequirements {
            limits: [
                (text("cpu"), quantity("1500m")),
                (text("memory"), quantity("1024Mi"))
            ],
        }),
        volume_mounts: [message!(VolumeMount {
            name: text("v"),
            mount_path: text("/v")
        })],
        readiness_probe: probe,
        stdin: false,
    })
}

fn pod_spec() -> PodSpec {
    message!(PodSpec {
        containers: [container()],
        volumes: [message!(Volume {
            name: text("v"),
            volume_source: message!(VolumeSource {
                empty_dir: message!(EmptyDirVolumeSource {
                    size_limit: quantity("0.5Gi")
                }),
            }),
        })],
        automount_service_account_token: false,
        host_network: false,
        termination_grace_period_seconds: 0_i64,
        security_context: message!(PodSecurityContext {
            run_as_user: 0_i64,
            supplemental_groups: [7_i64, 0]
        }),
        tolerations: [message!(Toleration {
            key: text("k"),
            operator: text("Exists"),
            effect: text("NoExecute"),
            toleration_seconds: 0_i64,
        })],
        node_selector: labels([("disk", "fast")]),
    })
}

fn pod_spec_json() -> Value {
    json!({
        "containers": [{
            "name": "c", "image": "i:1", "args": ["-v"], "ports": [{"name": "http", "containerPort": 80}],
            "env": [
                {"name": "A", "value": ""},
                {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "m", "key": "k", "optional": false}}},
            ],
            "resources": {"limits": {"cpu": "1500m", "memory": "1024Mi"}},
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            "readinessProbe": {"httpGet": {"path": "/ok", "port": "http"}, "periodSeconds": 3},
            "stdin": false,
        }],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "0.5Gi"}}],
        "automountServiceAccountToken": false, "hostNetwork": false, "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsUser": 0, "supplementalGroups": [7, 0]},
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
        "nodeSelector": {"disk": "fast"},
    })
}

fn template() -> PodTemplateSpec {
    message!(PodTemplateSpec {
        metadata: message!(ObjectMeta {
            labels: labels([("app", "a")])
        }),
        spec: pod_spec(),
    })
}

fn template_json() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": pod_spec_json()})
}

fn plain() -> Vec<Row> {
    let metadata = message!(ObjectMeta {
        name: text("p"),
        labels: labels([("app", "a"), ("empty", "")]),
        annotations: labels([("note", "ü")]),
        finalizers: [text("ex.io/f")],
    });
    let pod = message!(Pod {
        metadata: metadata,
        spec: pod_spec()
    });
    let pod_json = json!({
        "metadata": {
            "name": "p", "labels": {"app": "a", "empty": ""}, "annotations": {"note": "ü"}, "finalizers": ["ex.io/f"],
        },
        "spec": pod_spec_json(),
    });
    let pod_template = message!(PodTemplate {
        metadata: named("t"),
        template: template()
    });
    let controller = message!(ReplicationController {
        metadata: named("r"),
        spec: message!(ReplicationControllerSpec {
            replicas: 0,
            selector: labels([("app", "a")]),
            template: template(),
        }),
    });
    vec![
        row(
            "/api/v1/namespaces/default/pods",
            "v1",
            "Pod",
            &pod,
            pod_json,
        ),
        row(
            "/api/v1/namespaces/default/podtemplates",
            "v1",
            "PodTemplate",
            &pod_template,
            json!({"metadata": {"name": "t"}, "template": template_json()}),
        ),
        row(
            "/api/v1/namespaces/default/replicationcontrollers",
            "v1",
            "ReplicationController",
            &controller,
            json!({
                "metadata": {"name": "r"},
                "spec": {"replicas": 0, "selector": {"app": "a"}, "template": template_json()},
            }),
        ),
    ]
}

fn sets() -> Vec<Row> {
    let app = || selector("app", "a");
    let chosen = json!({"matchLabels": {"app": "a"}});
    let deployment = message!(Deployment {
        metadata: named("d"),
        spec: message!(DeploymentSpec {
            replicas: 0,
            selector: app(),
            template: template(),
            strategy: message!(DeploymentStrategy {
                r#type: text("RollingUpdate"),
                rolling_update: message!(RollingUpdateDeployment {
                    max_surge: number(2),
                    max_unavailable: word("10%"),
                }),
            }),
        }),
    });
    let replica_set = message!(ReplicaSet {
        metadata: named("rs"),
        spec: message!(ReplicaSetSpec {
            min_ready_seconds: 4,
            selector: app(),
            template: template()
        }),
    });
    let claim = message!(PersistentVolumeClaim {
        metadata: named("data"),
        spec: message!(PersistentVolumeClaimSpec {
            access_modes: [text("ReadWriteOnce")],
            storage_class_name: text(""),
            resources: message!(VolumeResourceRequirements {
                requests: [(text("storage"), quantity("1G"))]
            }),
        }),
    });
    let stateful_set = message!(StatefulSet {
        metadata: named("ss"),
        spec: message!(StatefulSetSpec {
            selector: app(),
            template: template(),
            service_name: text("s"),
            volume_claim_templates: [claim],
        }),
    });
    let daemon_set = message!(DaemonSet {
        metadata: named("ds"),
        spec: message!(DaemonSetSpec {
            selector: app(),
            template: template(),
            update_strategy: message!(DaemonSetUpdateStrategy {
                r#type: text("RollingUpdate"),
                rolling_update: message!(RollingUpdateDaemonSet {
                    max_unavailable: word("30%")
                }),
            }),
        }),
    });
    let revision = message!(ControllerRevision {
        metadata: named("cr"),
        data: message!(RawExtension {
            raw: br#"{"any":["thing",1]}"#.to_vec()
        }),
        revision: 3_i64,
    });
    vec![
        row(
            "/apis/apps/v1/namespaces/default/deployments",
            "apps/v1",
            "Deployment",
            &deployment,
            json!({
                "metadata": {"name": "d"},
                "spec": {
                    "replicas": 0, "selector": chosen, "template": template_json(),
                    "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 2, "maxUnavailable": "10%"}},
                },
            }),
        ),
        row(
            "/apis/apps/v1/namespaces/default/replicasets",
            "apps/v1",
            "ReplicaSet",
            &replica_set,
            json!({
                "metadata": {"name": "rs"},
                "spec": {"minReadySeconds": 4, "selector": chosen, "template": template_json()},
            }),
        ),
        row(
            "/apis/apps/v1/namespaces/default/statefulsets",
            "apps/v1",
            "StatefulSet",
            &stateful_set,
            json!({
                "metadata": {"name": "ss"},
                "spec": {
                    "selector": chosen, "template": template_json(), "serviceName": "s",
                    "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
                        "accessModes": ["ReadWriteOnce"], "storageClassName": "", "resources": {"requests": {"storage": "1G"}},
                    }}],
                },
            }),
        ),
        row(
            "/apis/apps/v1/namespaces/default/daemonsets",
            "apps/v1",
            "DaemonSet",
            &daemon_set,
            json!({
                "metadata": {"name": "ds"},
                "spec": {
                    "selector": chosen, "template": template_json(),
                    "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "30%"}},
                },
            }),
        ),
        row(
            "/apis/apps/v1/namespaces/default/controllerrevisions",
            "apps/v1",
            "ControllerRevision",
            &revision,
            json!({
                "metadata": {"name": "cr"}, "data": {"any": ["thing", 1]}, "revision": 3,
            }),
        ),
    ]
}

fn jobs() -> Vec<Row> {
    let mut template = template();
    template.spec.as_mut().unwrap().restart_policy = Some(text("Never"));
    let mut template_json = template_json();
    template_json["spec"]["restartPolicy"] = json!("Never");
    let spec = message!(JobSpec {
        template: template,
        completions: 3,
        completion_mode: text("Indexed"),
        backoff_limit: 0,
        suspend: false,
        active_deadline_seconds: 60_i64,
    });
    let spec_json = json!({
        "template": template_json, "completions": 3, "completionMode": "Indexed", "backoffLimit": 0, "suspend": false,
        "activeDeadlineSeconds": 60,
    });
    let job = message!(Job {
        metadata: named("j"),
        spec: spec.clone()
    });
    let cron_job = message!(CronJob {
        metadata: named("cj"),
        spec: message!(CronJobSpec {
            schedule: text("*/5 * * * *"),
            time_zone: text("Europe/Berlin"),
            failed_jobs_history_limit: 0,
            job_template: message!(JobTemplateSpec { spec: spec }),
        }),
    });
    vec![
        row(
            "/apis/batch/v1/namespaces/default/jobs",
            "batch/v1",
            "Job",
            &job,
            json!({
                "metadata": {"name": "j"}, "spec": spec_json,
            }),
        ),
        row(
            "/apis/batch/v1/namespaces/default/cronjobs",
            "batch/v1",
            "CronJob",
            &cron_job,
            json!({
                "metadata": {"name": "cj"},
                "spec": {
                    "schedule": "*/5 * * * *", "timeZone": "Europe/Berlin", "failedJobsHistoryLimit": 0,
                    "jobTemplate": {"spec": spec_json},
                },
            }),
        ),
    ]
}

fn around() -> Vec<Row> {
    let limits = message!(LimitRange {
        metadata: named("l"),
        spec: message!(LimitRangeSpec {
            limits: [message!(LimitRangeItem {
                r#type: text("Container"),
                default: [(text("cpu"), quantity("2"))],
                max_limit_request_ratio: [(text("cpu"), quantity("2.50"))],
            })],
        }),
    });
    let budget = message!(PodDisruptionBudget {
        metadata: named("b"),
        spec: message!(PodDisruptionBudgetSpec {
            max_unavailable: word("0%"),
            selector: selector("app", "a")
        }),
    });
    vec![
        row(
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            "policy/v1",
            "PodDisruptionBudget",
            &budget,
            json!({
                "metadata": {"name": "b"}, "spec": {"maxUnavailable": "0%", "selector": {"matchLabels": {"app": "a"}}},
            }),
        ),
        row(
            "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
            "autoscaling/v1",
            "HorizontalPodAutoscaler",
            &old_scaler(),
            json!({
                "metadata": {"name": "h1"},
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                    "maxReplicas": 4, "targetCPUUtilizationPercentage": 70,
                },
            }),
        ),
        row(
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            &scaler(),
            json!({
                "metadata": {"name": "h2"},
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
                    "minReplicas": 2, "maxReplicas": 4,
                    "metrics": [{"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "AverageValue", "averageValue": "500m"},
                    }}],
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0, "selectPolicy": "Disabled"}},
                },
            }),
        ),
        // Last, since the limit range sets defaults on pods that are created after it.
        row(
            "/api/v1/namespaces/default/limitranges",
            "v1",
            "LimitRange",
            &limits,
            json!({
                "metadata": {"name": "l"},
                "spec": {"limits": [{"type": "Container", "default": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "2.50"}}]},
            }),
        ),
    ]
}

fn old_scaler() -> autoscaling::HorizontalPodAutoscaler {
    use autoscaling::{
        CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec,
    };
    message!(HorizontalPodAutoscaler {
        metadata: named("h1"),
        spec: message!(HorizontalPodAutoscalerSpec {
            scale_target_ref: message!(CrossVersionObjectReference {
                kind: text("Deployment"),
                name: text("d"),
                api_version: text("apps/v1"),
            }),
            max_replicas: 4,
            target_cpu_utilization_percentage: 70,
        }),
    })
}

fn scaler() -> autoscaling_v2::HorizontalPodAutoscaler {
    use autoscaling_v2::{
        CrossVersionObjectReference, HorizontalPodAutoscaler, HorizontalPodAutoscalerBehavior,
        HorizontalPodAutoscalerSpec, HpaScalingRules, MetricSpec, MetricTarget,
        ResourceMetricSource,
    };
    message!(HorizontalPodAutoscaler {
        metadata: named("h2"),
        spec: message!(HorizontalPodAutoscalerSpec {
            scale_target_ref: message!(CrossVersionObjectReference {
                kind: text("Deployment"),
                name: text("d"),
                api_version: text("apps/v1"),
            }),
            min_replicas: 2,
            max_replicas: 4,
            metrics: [message!(MetricSpec {
                r#type: text("Resource"),
                resource: message!(ResourceMetricSource {
                    name: text("cpu"),
                    target: message!(MetricTarget {
                        r#type: text("AverageValue"),
                        average_value: quantity("500m"),
                    }),
                }),
            })],
            behavior: message!(HorizontalPodAutoscalerBehavior {
                scale_down: message!(HpaScalingRules {
                    stabilization_window_seconds: 0,
                    select_policy: text("Disabled"),
                }),
            }),
        }),
    })
}
