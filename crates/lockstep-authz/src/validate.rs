//! Validation of roles and bindings, except metadata.

use crate::GROUP;
use lockstep_object::Object;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::names::{self, NameRule, Part};
use serde_json::Value;

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    let list = value.get(field).and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// Validates the rules of a Role or `ClusterRole`.
pub fn validate_role(role: &Object) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let is_namespaced = role.kind() == "Role";
    let path = Path::ROOT.field("rules");
    for (index, rule) in list(role.as_value(), "rules").iter().enumerate() {
        validate_rule(rule, is_namespaced, &path.index(index), &mut errors);
    }
    if !is_namespaced {
        validate_aggregation(role, &mut errors);
    }
    errors
}

fn validate_rule(rule: &Value, is_namespaced: bool, path: &Path<'_>, errors: &mut FieldErrors) {
    let empty = |field: &str| list(rule, field).is_empty();
    if empty("verbs") {
        errors.push(FieldError::required(
            &path.field("verbs"),
            "verbs must contain at least one value",
        ));
    }
    if !empty("nonResourceURLs") {
        let path = path.field("nonResourceURLs");
        let urls = list(rule, "nonResourceURLs");
        if is_namespaced {
            let problem = "namespaced rules cannot apply to non-resource URLs";
            errors.push(FieldError::invalid(&path, urls, problem));
        }
        if !(empty("apiGroups") && empty("resources") && empty("resourceNames")) {
            let problem = "rules cannot apply to both regular resources and non-resource URLs";
            errors.push(FieldError::invalid(&path, urls, problem));
        }
        return;
    }
    if empty("apiGroups") {
        let problem = "resource rules must supply at least one api group";
        errors.push(FieldError::required(&path.field("apiGroups"), problem));
    }
    if empty("resources") {
        let problem = "resource rules must supply at least one resource";
        errors.push(FieldError::required(&path.field("resources"), problem));
    }
}

fn validate_aggregation(role: &Object, errors: &mut FieldErrors) {
    let aggregation = role.at(&["aggregationRule"]);
    let Some(aggregation) = aggregation.filter(|value| !value.is_null()) else {
        return;
    };
    let path = Path::ROOT.field("aggregationRule");
    let path = path.field("clusterRoleSelectors");
    let selectors = list(aggregation, "clusterRoleSelectors");
    if selectors.is_empty() {
        let problem = "at least one clusterRoleSelector required if aggregationRule is non-nil";
        errors.push(FieldError::required(&path, problem));
    }
    for (index, selector) in selectors.iter().enumerate() {
        let path = path.index(index);
        errors.append(lockstep_object::selector::validate_label_selector(
            selector, &path,
        ));
    }
}

/// Validates a `RoleBinding` or `ClusterRoleBinding`.
pub fn validate_binding(binding: &Object) -> FieldErrors {
    let mut errors = FieldErrors::new();
    let is_namespaced = binding.kind() == "RoleBinding";
    let role_ref = binding.at(&["roleRef"]).unwrap_or(&Value::Null);
    validate_role_ref(role_ref, is_namespaced, &mut errors);
    let path = Path::ROOT.field("subjects");
    for (index, subject) in list(binding.as_value(), "subjects").iter().enumerate() {
        validate_subject(subject, is_namespaced, &path.index(index), &mut errors);
    }
    errors
}

/// Validates the update of a binding: `roleRef` is immutable.
pub fn validate_binding_update(binding: &Object, stored: &Object) -> FieldErrors {
    let mut errors = validate_binding(binding);
    if binding.at(&["roleRef"]) != stored.at(&["roleRef"]) {
        let role_ref = binding.at(&["roleRef"]).cloned().unwrap_or_default();
        errors.push(FieldError::invalid(
            &Path::ROOT.field("roleRef"),
            &role_ref,
            "cannot change roleRef",
        ));
    }
    errors
}

fn validate_role_ref(role_ref: &Value, is_namespaced: bool, errors: &mut FieldErrors) {
    let path = Path::ROOT.field("roleRef");
    let group = text(role_ref, "apiGroup");
    if group != GROUP {
        errors.push(FieldError::not_supported(
            &path.field("apiGroup"),
            group,
            [GROUP],
        ));
    }
    let kinds: &[&str] = if is_namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = text(role_ref, "kind");
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported(
            &path.field("kind"),
            kind,
            kinds.iter().copied(),
        ));
    }
    let path = path.field("name");
    match text(role_ref, "name") {
        "" => errors.push(FieldError::required(&path, "")),
        name => {
            let problems = NameRule::PathSegment.check(name, Part::Whole).into_iter();
            errors.extend(problems.map(|problem| FieldError::invalid(&path, name, problem)));
        }
    }
}

fn validate_subject(
    subject: &Value,
    is_namespaced: bool,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    let (name, group) = (text(subject, "name"), text(subject, "apiGroup"));
    let (name_path, group_path) = (path.field("name"), path.field("apiGroup"));
    if name.is_empty() {
        errors.push(FieldError::required(&name_path, ""));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                let problems = names::dns1123_subdomain(name).into_iter();
                errors
                    .extend(problems.map(|problem| FieldError::invalid(&name_path, name, problem)));
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(&group_path, group, [""]));
            }
            if !is_namespaced && text(subject, "namespace").is_empty() {
                errors.push(FieldError::required(&path.field("namespace"), ""));
            }
        }
        kind @ ("User" | "Group") => {
            if name.is_empty() {
                let problem = format!("{} name cannot be empty", kind.to_lowercase());
                errors.push(FieldError::invalid(&name_path, name, problem));
            }
            if group != GROUP {
                errors.push(FieldError::not_supported(&group_path, group, [GROUP]));
            }
        }
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(FieldError::not_supported(&path.field("kind"), other, kinds));
        }
    }
}
