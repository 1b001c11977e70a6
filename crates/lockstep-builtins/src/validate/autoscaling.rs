//! Validation of autoscalers.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::{Errors, apps, metrics};
use crate::look::{list, number, text};

pub(crate) fn autoscaler(autoscaler: &Value, errors: &mut Errors) {
    let spec = autoscaler.get("spec").unwrap_or(&Value::Null);
    let path = Path::ROOT.field("spec");
    let least = number(spec, "minReplicas");
    let most = number(spec, "maxReplicas").unwrap_or_default();
    let lowest = 1;
    if let Some(least) = least.filter(|least| *least < lowest) {
        let why = format!("must be greater than or equal to {lowest}");
        errors.push_with(|| FieldError::invalid(&path.field("minReplicas"), least, why));
    }
    let place = path.field("maxReplicas");
    if most == 0 {
        let why = "must be set and greater than 0";
        errors.push_with(|| FieldError::required(&place, why));
    } else if most < 0 {
        let why = "must be greater than or equal to 1";
        errors.push_with(|| FieldError::invalid(&place, most, why));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push_with(|| FieldError::invalid(&place, most, why));
    }
    apps::reference(
        &spec["scaleTargetRef"],
        &path.field("scaleTargetRef"),
        errors,
    );
    all_metrics(spec, least, &path, errors);
    metrics::behavior(spec, &path, errors);
    if let Some(percent) = number(spec, "targetCPUUtilizationPercentage").filter(|it| *it < 1) {
        // The CPU target of `v1` is a metric in the internal version.
        let path = path.field("metrics");
        let path = path.index(0);
        let path = path.field("resource");
        let path = path.field("target");
        let path = path.field("averageUtilization");
        errors.push_with(|| FieldError::invalid(&path, percent, "must be greater than 0"));
    }
}

fn counts_from_outside(spec: &Value) -> bool {
    let mut metrics = list(spec, "metrics").iter();
    metrics.any(|metric| matches!(text(metric, "type"), "Object" | "External"))
}

fn all_metrics(spec: &Value, least: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("metrics");
    for (index, one) in list(spec, "metrics").iter().enumerate() {
        metrics::metric(one, &path.index(index), errors);
    }
    if least == Some(0) && !counts_from_outside(spec) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push_with(|| FieldError::forbidden(&path, why));
    }
}

pub(crate) fn autoscaler_update(new: &Value, _old: &Value, errors: &mut Errors) {
    autoscaler(new, errors);
}
