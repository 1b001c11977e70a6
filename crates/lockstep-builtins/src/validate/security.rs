//! Validation of security contexts.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::scalar::{between, path_below};
use super::{Errors, hosts, one_of_or_none};
use crate::look::{list, number, some, text};

/// The highest number of a user or group.
const ID_MAX: i64 = i32::MAX as i64;

fn id(context: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let id = number(context, field);
    if let Some(id) = id.filter(|id| !(0..=ID_MAX).contains(id)) {
        errors.push_with(|| FieldError::invalid(&path.field(field), id, between(0, ID_MAX)));
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
            errors.push_with(|| FieldError::invalid(&path, number, between(0, ID_MAX)));
        }
    }
    if is_true(spec, "shareProcessNamespace") && is_true(spec, "hostPID") {
        let path = path.field("shareProcessNamespace");
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push_with(|| FieldError::invalid(&path, true, why));
    }
    hosts::sysctls(spec, &path, errors);
    known(
        context,
        "fsGroupChangePolicy",
        &["Always", "OnRootMismatch"],
        &path,
        errors,
    );
    seccomp(context, &path, errors);
    app_armor(context, &path, errors);
    known(
        context,
        "supplementalGroupsPolicy",
        &["Merge", "Strict"],
        &path,
        errors,
    );
    known(
        context,
        "seLinuxChangePolicy",
        &["Recursive"],
        &path,
        errors,
    );
}

/// A text that is one of these, if it is there.
fn known(context: &Value, field: &str, known: &[&str], path: &Path<'_>, errors: &mut Errors) {
    let given = some(context, field).and_then(Value::as_str);
    if let Some(given) = given.filter(|given| !known.contains(given)) {
        let known = known.iter().copied();
        errors.push_with(|| FieldError::not_supported(&path.field(field), given, known));
    }
}

/// Kinds of profiles; only the first has a file.
const PROFILES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];

fn seccomp(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(profile) = some(context, "seccompProfile") else {
        return;
    };
    let path = path.field("seccompProfile");
    let kind = text(profile, "type");
    if kind.is_empty() {
        let why = "type is required when seccompProfile is set";
        errors.push_with(|| FieldError::required(&path.field("type"), why));
    }
    one_of_or_none(kind, &PROFILES, &path.field("type"), errors);
    let place = path.field("localhostProfile");
    match (
        kind,
        some(profile, "localhostProfile").and_then(Value::as_str),
    ) {
        ("Localhost", None) => {
            let why = "must be set when seccomp type is Localhost";
            errors.push_with(|| FieldError::required(&place, why));
        }
        ("Localhost", Some(file)) => path_below(file, &place, errors),
        (_, Some(_)) => {
            let why = "can only be set when seccomp type is Localhost";
            errors.push_with(|| FieldError::invalid(&place, profile, why));
        }
        (_, None) => {}
    }
}

fn app_armor(context: &Value, path: &Path<'_>, errors: &mut Errors) {
    let Some(profile) = some(context, "appArmorProfile") else {
        return;
    };
    let path = path.field("appArmorProfile");
    let kind = text(profile, "type");
    let place = path.field("localhostProfile");
    match (
        kind,
        some(profile, "localhostProfile").and_then(Value::as_str),
    ) {
        ("Localhost", None | Some("")) => {
            let why = "must be set when AppArmor type is Localhost";
            errors.push_with(|| FieldError::required(&place, why));
        }
        ("Localhost", Some(file)) if file.trim() != file => {
            let why = "must not be padded with whitespace";
            errors.push_with(|| FieldError::invalid(&place, file, why));
        }
        ("RuntimeDefault" | "Unconfined", Some(file)) => {
            let why = "can only be set when AppArmor type is Localhost";
            errors.push_with(|| FieldError::invalid(&place, file, why));
        }
        ("", _) => {
            let why = "type is required when appArmorProfile is set";
            errors.push_with(|| FieldError::required(&path.field("type"), why));
        }
        (other, _) => one_of_or_none(other, &PROFILES, &path.field("type"), errors),
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
    known(
        context,
        "procMount",
        &["Default", "Unmasked"],
        &path,
        errors,
    );
    seccomp(context, &path, errors);
    let may_not_escalate = context.get("allowPrivilegeEscalation") == Some(&Value::Bool(false));
    if may_not_escalate && is_true(context, "privileged") {
        let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        errors.push_with(|| FieldError::invalid(&path, context, why));
    }
    let added = list(&context["capabilities"], "add");
    if may_not_escalate && added.iter().any(|added| added == "CAP_SYS_ADMIN") {
        let why =
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        errors.push_with(|| FieldError::invalid(&path, context, why));
    }
    app_armor(context, &path, errors);
}
