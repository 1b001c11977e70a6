//! Table of structs whose defaults depend on other fields.

use super::{Fields, pods, services, workloads};

/// Package, type, and what is filled in once the table's defaults are.
type Row = (&'static str, &'static str, fn(&mut Fields));

pub(super) const TABLE: &[Row] = &[
    ("core/v1", "Pod", pods::pod),
    ("core/v1", "PodSpec", pods::pod_spec),
    ("core/v1", "Container", pods::container),
    ("core/v1", "EphemeralContainer", pods::container),
    ("core/v1", "Volume", pods::volume),
    ("core/v1", "NodeStatus", services::node_status),
    ("core/v1", "LimitRangeItem", services::limit_range_item),
    ("core/v1", "ServiceSpec", services::service_spec),
    ("core/v1", "ServicePort", services::service_port),
    (
        "core/v1",
        "ReplicationController",
        workloads::replication_controller,
    ),
    (
        "apps/v1",
        "DeploymentStrategy",
        workloads::rolling_update_unless_other,
    ),
    (
        "apps/v1",
        "DaemonSetUpdateStrategy",
        workloads::rolling_update_unless_other,
    ),
    (
        "apps/v1",
        "StatefulSetUpdateStrategy",
        workloads::stateful_set_strategy,
    ),
    ("apps/v1", "StatefulSetSpec", workloads::stateful_set_spec),
    ("batch/v1", "Job", workloads::job),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscalerSpec",
        workloads::autoscaler_spec,
    ),
    (
        "autoscaling/v2",
        "HorizontalPodAutoscalerBehavior",
        workloads::autoscaler_behavior,
    ),
    (
        "networking/v1",
        "NetworkPolicySpec",
        services::network_policy_spec,
    ),
    (
        "flowcontrol/v1",
        "PriorityLevelConfigurationSpec",
        services::priority_level_spec,
    ),
];

/// The function of a type.
pub(super) fn of(package: &str, name: &str) -> Option<fn(&mut Fields)> {
    let found = TABLE.iter().find(|row| (row.0, row.1) == (package, name));
    found.map(|row| row.2)
}
