//! What pods and containers are allowed to do.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::Errors;
use super::scalar::between;
use crate::look::{list, number, some};

/// The highest number of a user or group.
const ID_MAX: i64 = i32::MAX as i64;

fn id(context: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let id = number(context, field);
    if let Some(id) = id.filter(|id| !(0..=ID_MAX).contains(id)) {
        errors.push(FieldError::invalid(
            &path.field(field),
            id,
            between(0, ID_MAX),
        ));
    }
}

fn is_true(value: &Value, field: &str) -> bool {
    value.get(field) == Some(&Value::Bool(true))
}

/// Of a pod.
pub(super) fn of_pod(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(context) = some(spec, "securityContext") else {
        return;
    };
    let path = path.field("securityContext");
    id(context, "fsGroup", &path, errors);
    id(context, "runAsUser", &path, errors);
    id(context, "runAsGroup", &path, errors);
    let groups = path.field("supplementalGroups");
    for (index, group) in list(context, "supplementalGroups").iter().enumerate() {
        let number = group.as_i64().unwrap_or_default();
        if !(0..=ID_MAX).contains(&number) {
            let path = groups.index(index);
            errors.push(FieldError::invalid(&path, number, between(0, ID_MAX)));
        }
    }
    if is_true(spec, "shareProcessNamespace") && is_true(spec, "hostPID") {
        let path = path.field("shareProcessNamespace");
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(&path, true, why));
    }
}

/// Of a container.
pub(super) fn of_container(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(context) = some(container, "securityContext") else {
        return;
    };
    let path = path.field("securityContext");
    id(context, "runAsUser", &path, errors);
    id(context, "runAsGroup", &path, errors);
    let may_not_escalate = context.get("allowPrivilegeEscalation") == Some(&Value::Bool(false));
    if may_not_escalate && is_true(context, "privileged") {
        let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push(FieldError::invalid(&path, context.clone(), why));
    }
}
