//! Conversion of `HorizontalPodAutoscaler`: fields that `v1` lacks are stored in annotations.

mod annotations;
mod metrics;

use lockstep_object::{Map, Object, Value, json};
use serde_json::json;

use crate::look::{map_in, text};
use metrics::MetricList;

/// Annotations of `v1` with the `v2` fields they represent.
const KEPT: [(&str, &str, &str); 4] = [
    ("autoscaling.alpha.kubernetes.io/metrics", "spec", "metrics"),
    (
        "autoscaling.alpha.kubernetes.io/behavior",
        "spec",
        "behavior",
    ),
    (
        "autoscaling.alpha.kubernetes.io/current-metrics",
        "status",
        "currentMetrics",
    ),
    (
        "autoscaling.alpha.kubernetes.io/conditions",
        "status",
        "conditions",
    ),
];

/// Annotations of older servers, which clients may not set.
const LEGACY_ANNOTATIONS: [&str; 2] = [
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// Makes an autoscaler one of a version.
pub(crate) fn convert(autoscaler: &mut Object, version: &str) {
    match version {
        "v1" => to_old(autoscaler),
        _ => to_new(autoscaler),
    }
}

/// True for the CPU utilization metric, which `v1` has a field for.
fn is_cpu_use(metric: &Value) -> bool {
    text(metric, "type") == "Resource"
        && metric["resource"]["name"] == "cpu"
        && metric["resource"]["target"]["averageUtilization"].is_number()
}

fn to_old(autoscaler: &mut Object) {
    let fields = autoscaler.fields_mut();
    let spec = map_in(fields, "spec");
    let mut annotations = Map::new();
    if let Some(Value::Array(mut metrics)) = spec.remove("metrics") {
        if let Some(cpu) = metrics.iter().find(|metric| is_cpu_use(metric)) {
            let percent = cpu["resource"]["target"]["averageUtilization"].clone();
            spec.insert("targetCPUUtilizationPercentage".to_owned(), percent);
        }
        metrics.retain(|metric| !is_cpu_use(metric));
        let metrics = metrics::to_old(&metrics, MetricList::Spec);
        keep(&mut annotations, KEPT[0].0, &metrics);
    }
    if let Some(behavior @ Value::Object(_)) = spec.remove("behavior") {
        let text = annotations::behavior(&behavior);
        annotations.insert(KEPT[1].0.to_owned(), text.into());
    }
    if let Some(Value::Object(status)) = fields.get_mut("status") {
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics") {
            let is_cpu = |metric: &&Value| {
                text(metric, "type") == "Resource" && metric["resource"]["name"] == "cpu"
            };
            let percent = metrics.iter().filter(is_cpu);
            let mut percent = percent.map(|cpu| &cpu["resource"]["current"]["averageUtilization"]);
            if let Some(percent) = percent.rfind(|percent| percent.is_number()) {
                let percent = percent.clone();
                status.insert("currentCPUUtilizationPercentage".to_owned(), percent);
            }
            let metrics = metrics::to_old(&metrics, MetricList::Current);
            keep(&mut annotations, KEPT[2].0, &metrics);
        }
        if let Some(conditions) = status.remove("conditions") {
            keep(&mut annotations, KEPT[3].0, &conditions);
        }
    }
    if !annotations.is_empty() {
        map_in(autoscaler.metadata_mut(), "annotations").extend(annotations);
    }
}

fn keep(annotations: &mut Map<String, Value>, name: &str, value: &Value) {
    let is_empty = value.as_array().is_some_and(Vec::is_empty) || value.is_null();
    if !is_empty {
        annotations.insert(name.to_owned(), annotations::list(value).into());
    }
}

fn to_new(autoscaler: &mut Object) {
    let mut kept = Vec::new();
    if let Some(Value::Object(annotations)) = autoscaler.metadata_mut().get_mut("annotations") {
        for (annotation, place, field) in KEPT {
            let text = annotations.remove(annotation);
            let value = text.as_ref().and_then(Value::as_str).map(str::as_bytes);
            let value = value.and_then(|text| json::decode(text).ok());
            kept.extend(value.map(|decoded| (place, field, decoded.value)));
        }
        for annotation in LEGACY_ANNOTATIONS {
            annotations.remove(annotation);
        }
    }
    let fields = autoscaler.fields_mut();
    for (place, field, value) in kept {
        let value = match field {
            "metrics" => metrics::to_new(&value, MetricList::Spec),
            "currentMetrics" => metrics::to_new(&value, MetricList::Current),
            "behavior" => annotations::behavior_of(value),
            _ => value,
        };
        if annotations::fits(place, field, &value) {
            let place = map_in(fields, place);
            place.entry(field).or_insert(value);
        }
    }
    let spec = map_in(fields, "spec");
    if let Some(percent) = spec.remove("targetCPUUtilizationPercentage") {
        let target = json!({ "type": "Utilization", "averageUtilization": percent });
        let metric = json!({ "type": "Resource", "resource": { "name": "cpu", "target": target } });
        match spec.get_mut("metrics") {
            Some(Value::Array(metrics)) => metrics.push(metric),
            _ => drop(spec.insert("metrics".to_owned(), json!([metric]))),
        }
    }
    let status = fields.get_mut("status").and_then(Value::as_object_mut);
    let percent = status.and_then(|status| status.remove("currentCPUUtilizationPercentage"));
    if let Some(percent) = percent {
        let status = map_in(fields, "status");
        if !status.contains_key("currentMetrics") {
            let current = json!({ "averageUtilization": percent });
            let cpu = json!({ "name": "cpu", "current": current });
            let metrics = json!([{ "type": "Resource", "resource": cpu }]);
            status.insert("currentMetrics".to_owned(), metrics);
        }
    }
}
