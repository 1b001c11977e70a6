//! Autoscalers.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::{Errors, apps};
use crate::look::{list, number, text};

pub(crate) fn autoscaler(autoscaler: &Value, errors: &mut Errors) {
    let spec = autoscaler.get("spec").unwrap_or(&Value::Null);
    let path = Path::ROOT.field("spec");
    let least = number(spec, "minReplicas");
    let most = number(spec, "maxReplicas").unwrap_or_default();
    // Nothing may run only where something from outside tells when to start.
    let lowest = 1;
    if let Some(least) = least.filter(|least| *least < lowest && !counts_from_outside(spec)) {
        let why = format!("must be greater than or equal to {lowest}");
        errors.push(FieldError::invalid(&path.field("minReplicas"), least, why));
    }
    let place = path.field("maxReplicas");
    if most == 0 {
        let why = "must be set and greater than 0";
        errors.push(FieldError::required(&place, why));
    } else if most < 0 {
        let why = "must be greater than or equal to 1";
        errors.push(FieldError::invalid(&place, most, why));
    }
    if least.is_some_and(|least| most < least) {
        let why = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid(&place, most, why));
    }
    apps::reference(
        &spec["scaleTargetRef"],
        &path.field("scaleTargetRef"),
        errors,
    );
    metrics(spec, least, &path, errors);
}

fn counts_from_outside(spec: &Value) -> bool {
    let mut metrics = list(spec, "metrics").iter();
    metrics.any(|metric| matches!(text(metric, "type"), "Object" | "External"))
}

fn metrics(spec: &Value, least: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    const TYPES: [&str; 5] = [
        "ContainerResource",
        "External",
        "Object",
        "Pods",
        "Resource",
    ];
    let path = path.field("metrics");
    if least == Some(0) && !counts_from_outside(spec) {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(FieldError::forbidden(&path, why));
    }
    for (index, metric) in list(spec, "metrics").iter().enumerate() {
        let path = path.index(index);
        let kind = text(metric, "type");
        super::one_of(kind, &TYPES, &path.field("type"), errors);
    }
}

pub(crate) fn autoscaler_update(new: &Value, _old: &Value, errors: &mut Errors) {
    autoscaler(new, errors);
}
