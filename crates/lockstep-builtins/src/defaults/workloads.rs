//! Defaults of workloads and autoscalers.

use lockstep_object::{Map, Value};
use serde_json::json;

use super::Fields;
use crate::look::{fill, map_in, maps_in};

/// The labels of the template of a kind that makes pods.
fn template_labels(object: &Fields) -> Map<String, Value> {
    let labels = ["spec", "template", "metadata", "labels"];
    let mut names = labels.iter().skip(1);
    let spec = object.get("spec");
    let found = spec.and_then(|spec| names.try_fold(spec, |value, name| value.get(name)));
    found
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

/// Labels default to those of the pod template.
fn label_like_template(object: &mut Fields, labels: &Map<String, Value>) {
    let metadata = map_in(object, "metadata");
    let own = metadata.get("labels").and_then(Value::as_object);
    if own.is_none_or(Map::is_empty) && !labels.is_empty() {
        metadata.insert("labels".to_owned(), labels.clone().into());
    }
}

/// It selects the pods that it makes.
pub(super) fn replication_controller(controller: &mut Fields) {
    let labels = template_labels(controller);
    let spec = map_in(controller, "spec");
    let selector = spec.get("selector").and_then(Value::as_object);
    if selector.is_none_or(Map::is_empty) && !labels.is_empty() {
        spec.insert("selector".to_owned(), labels.clone().into());
    }
    label_like_template(controller, &labels);
}

fn is_rolling(strategy: &Fields) -> bool {
    strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate")
}

pub(super) fn rolling_update_unless_other(strategy: &mut Fields) {
    if is_rolling(strategy) {
        map_in(strategy, "rollingUpdate");
    }
}

/// Defaults `partition` to zero. `maxUnavailable` has no default, because its feature gate is off.
pub(super) fn stateful_set_strategy(strategy: &mut Fields) {
    let is_rolling = is_rolling(strategy);
    if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate") {
        rolling.remove("maxUnavailable");
        if is_rolling {
            fill(rolling, "partition", 0);
        }
    }
}

/// The update strategy defaults to `RollingUpdate`. Claim templates are defaulted as whole objects.
pub(super) fn stateful_set_spec(spec: &mut Fields) {
    let strategy = map_in(spec, "updateStrategy");
    let kind = strategy.get("type").and_then(Value::as_str);
    if kind.unwrap_or_default().is_empty() {
        map_in(strategy, "rollingUpdate");
    }
    for claim in maps_in(spec, "volumeClaimTemplates") {
        claim.insert("apiVersion".to_owned(), "v1".into());
        claim.insert("kind".to_owned(), "PersistentVolumeClaim".into());
    }
}

/// Backoff limit of jobs with a limit per index.
const UNLIMITED: i64 = i32::MAX as i64;

pub(super) fn job(job: &mut Fields) {
    let labels = template_labels(job);
    let spec = map_in(job, "spec");
    let is_set = |spec: &Fields, field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    if !is_set(spec, "completions") && !is_set(spec, "parallelism") {
        fill(spec, "completions", 1);
    }
    fill(spec, "parallelism", 1);
    let retries = if is_set(spec, "backoffLimitPerIndex") {
        UNLIMITED
    } else {
        6
    };
    fill(spec, "backoffLimit", retries);
    fill(spec, "completionMode", "NonIndexed");
    fill(spec, "suspend", false);
    let replaced = if is_set(spec, "podFailurePolicy") {
        "Failed"
    } else {
        "TerminatingOrFailed"
    };
    fill(spec, "podReplacementPolicy", replaced);
    fill(spec, "manualSelector", false);
    label_like_template(job, &labels);
}

/// Without metrics, the use of the processor counts.
pub(super) fn autoscaler_spec(spec: &mut Fields) {
    let metrics = spec.get("metrics").and_then(Value::as_array);
    if metrics.is_none_or(Vec::is_empty) {
        let cpu =
            json!({ "name": "cpu", "target": { "type": "Utilization", "averageUtilization": 80 } });
        let metrics = json!([{ "type": "Resource", "resource": cpu }]);
        spec.insert("metrics".to_owned(), metrics);
    }
}

/// If one scaling direction has rules, both get all their defaults.
pub(super) fn autoscaler_behavior(behavior: &mut Fields) {
    let policy = |kind: &str, value: i64, seconds: i64| json!({ "type": kind, "value": value, "periodSeconds": seconds });
    let up = [policy("Pods", 4, 15), policy("Percent", 100, 15)];
    scaling_rules(map_in(behavior, "scaleUp"), Some(0), up.into());
    let down = vec![policy("Percent", 100, 15)];
    scaling_rules(map_in(behavior, "scaleDown"), None, down);
}

fn scaling_rules(rules: &mut Fields, stabilization: Option<i64>, policies: Vec<Value>) {
    if let Some(seconds) = stabilization {
        fill(rules, "stabilizationWindowSeconds", seconds);
    }
    fill(rules, "selectPolicy", "Max");
    fill(rules, "policies", policies);
}
