//! Metrics in the annotations of `autoscaling/v1`.

use lockstep_object::{Map, Value};
use serde_json::json;

use crate::look::text;

/// A type of metric: its name, its field, and where each field of the older form is in the newer one.
type Row = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static [&'static str])],
);

/// Fields of `spec.metrics`.
const SPEC: &[Row] = &[
    (
        "Object",
        "object",
        &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("averageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "Pods",
        "pods",
        &[
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "Resource",
        "resource",
        &[
            ("name", &["name"]),
            (
                "targetAverageUtilization",
                &["target", "averageUtilization"],
            ),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "ContainerResource",
        "containerResource",
        &[
            ("name", &["name"]),
            ("container", &["container"]),
            (
                "targetAverageUtilization",
                &["target", "averageUtilization"],
            ),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
    (
        "External",
        "external",
        &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    ),
];

/// Fields of `status.currentMetrics`.
const CURRENT: &[Row] = &[
    (
        "Object",
        "object",
        &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("currentValue", &["current", "value"]),
            ("averageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "Pods",
        "pods",
        &[
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "Resource",
        "resource",
        &[
            ("name", &["name"]),
            (
                "currentAverageUtilization",
                &["current", "averageUtilization"],
            ),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "ContainerResource",
        "containerResource",
        &[
            ("name", &["name"]),
            ("container", &["container"]),
            (
                "currentAverageUtilization",
                &["current", "averageUtilization"],
            ),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
    (
        "External",
        "external",
        &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("currentValue", &["current", "value"]),
            ("currentAverageValue", &["current", "averageValue"]),
        ],
    ),
];

/// Amounts that the older form cannot leave out: by the type of the metric.
const ALWAYS: [(&str, &str); 7] = [
    ("Object", "targetValue"),
    ("Pods", "targetAverageValue"),
    ("Object", "currentValue"),
    ("Pods", "currentAverageValue"),
    ("Resource", "currentAverageValue"),
    ("ContainerResource", "currentAverageValue"),
    ("External", "currentValue"),
];

/// Distinguishes metric specs from current metric values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MetricList {
    Spec,
    Current,
}

impl MetricList {
    fn rows(self) -> &'static [Row] {
        match self {
            Self::Spec => SPEC,
            Self::Current => CURRENT,
        }
    }
}

/// Metrics in the older form.
pub(super) fn to_old(metrics: &[Value], list: MetricList) -> Value {
    metrics
        .iter()
        .map(|metric| old_form(metric, list))
        .collect()
}

fn old_form(metric: &Value, list: MetricList) -> Value {
    let kind = text(metric, "type");
    let Some((_, field, places)) = list.rows().iter().find(|row| row.0 == kind) else {
        return metric.clone();
    };
    let mut source = Map::new();
    for (name, path) in *places {
        let value = path
            .iter()
            .try_fold(&metric[*field], |value, name| value.get(name));
        let value = value.filter(|value| !value.is_null()).cloned();
        let zero = || ALWAYS.contains(&(kind, *name)).then(|| json!("0"));
        if let Some(value) = value.or_else(zero) {
            source.insert((*name).to_owned(), value);
        }
    }
    json!({ "type": kind, *field: source })
}

/// Metrics in the newer form; what is no list of them stays what it is.
pub(super) fn to_new(metrics: &Value, list: MetricList) -> Value {
    let Value::Array(metrics) = metrics else {
        return metrics.clone();
    };
    metrics
        .iter()
        .map(|metric| new_form(metric, list))
        .collect()
}

fn new_form(metric: &Value, list: MetricList) -> Value {
    let kind = text(metric, "type");
    let Some((_, field, places)) = list.rows().iter().find(|row| row.0 == kind) else {
        return metric.clone();
    };
    let mut source = json!({});
    for (name, path) in *places {
        let value = metric[*field].get(*name).filter(|value| !value.is_null());
        match (path, value) {
            ([one], Some(value)) => source[*one] = value.clone(),
            ([outer, inner], Some(value)) => source[*outer][*inner] = value.clone(),
            _ => {}
        }
    }
    if list == MetricList::Spec {
        let target = &mut source["target"];
        if let Value::Object(fields) = target
            && kind == "Object"
            && fields.contains_key("averageValue")
            && fields.get("value") == Some(&json!("0"))
        {
            // It was there because it cannot be left out.
            fields.remove("value");
        }
        let wanted = if target.get("averageUtilization").is_some() {
            "Utilization"
        } else if target.get("averageValue").is_some() {
            "AverageValue"
        } else {
            "Value"
        };
        source["target"]["type"] = wanted.into();
    }
    json!({ "type": kind, *field: source })
}
