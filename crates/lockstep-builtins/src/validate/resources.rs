//! Validation of resource requirements.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::names;

use super::{Errors, push_problems};
use crate::amounts::{PODS, amount};
use crate::look::{entries, text};

/// Standard container resources.
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
/// Other resource names without a domain.
const KNOWN: [&str; 17] = [
    "configmaps",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "persistentvolumeclaims",
    PODS,
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
    "storage",
];

/// True for standard resource names without a domain.
pub(super) fn is_known_name(name: &str) -> bool {
    STANDARD.contains(&name) || KNOWN.contains(&name) || is_quota_huge_pages(name)
}

fn is_huge_pages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Huge pages as quotas name them.
fn is_quota_huge_pages(name: &str) -> bool {
    is_huge_pages(name) || name.starts_with("requests.hugepages-")
}

/// An amount that is zero or more.
pub(super) fn non_negative_amount(value: &Value, path: &Path<'_>, errors: &mut Errors) {
    if amount(value).sign() < 0 {
        let why = "must be greater than or equal to 0";
        errors.push_with(|| FieldError::invalid(path, value, why));
    }
}

/// The name of a resource of any kind.
pub(super) fn resource_name(name: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    let problems = names::qualified_name(name);
    let is_name = problems.is_empty();
    push_problems(problems, name, path, errors);
    let is_known = is_known_name(name);
    if is_name && !name.contains('/') && !is_known {
        let why = "must be a standard resource type or fully qualified";
        errors.push_with(|| FieldError::invalid(path, name, why));
    }
    is_name
}

fn container_resource(name: &str, path: &Path<'_>, errors: &mut Errors) {
    resource_name(name, path, errors);
    if !name.contains('/') && !STANDARD.contains(&name) && !is_huge_pages(name) {
        let why = "must be a standard resource for containers";
        errors.push_with(|| FieldError::invalid(path, name, why));
    }
}

/// True if limits may exceed requests.
fn can_overcommit(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    is_native && !is_huge_pages(name)
}

/// Validates requests and limits.
pub(super) fn requirements(resources: &Value, path: &Path<'_>, errors: &mut Errors) {
    let limits_path = path.field("limits");
    for (name, amount) in entries(resources, "limits") {
        let path = limits_path.key(name);
        container_resource(name, &path, errors);
        quantity(name, amount, &path, errors);
    }
    let requests_path = path.field("requests");
    let limits = resources.get("limits").unwrap_or(&Value::Null);
    for (name, asked) in entries(resources, "requests") {
        let path = requests_path.key(name);
        container_resource(name, &path, errors);
        quantity(name, asked, &path, errors);
        let Some(limit) = limits.get(name) else {
            if !can_overcommit(name) {
                let why = "Limit must be set for non overcommitable resources";
                errors.push_with(|| FieldError::required(&limits_path, why));
            }
            continue;
        };
        let limit_shown = limit.as_str().unwrap_or_default();
        if !can_overcommit(name) && amount(asked) != amount(limit) {
            let why = format!("must be equal to {name} limit of {limit_shown}");
            errors.push_with(|| FieldError::invalid(&requests_path, asked, why));
        } else if amount(asked) > amount(limit) {
            let why = format!("must be less than or equal to {name} limit of {limit_shown}");
            errors.push_with(|| FieldError::invalid(&requests_path, asked, why));
        }
    }
}

fn quantity(name: &str, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    non_negative_amount(value, path, errors);
    let is_whole = name == PODS || (name.contains('/') && !name.contains("kubernetes.io/"));
    if is_whole && amount(value).as_integer().is_err() {
        errors.push_with(|| FieldError::invalid(path, value, "must be an integer"));
    }
}

/// Validates a `resourceFieldRef`.
pub(super) fn field_selector(selector: &Value, path: &Path<'_>, errors: &mut Errors) {
    const KNOWN: [&str; 6] = [
        "limits.cpu",
        "limits.ephemeral-storage",
        "limits.memory",
        "requests.cpu",
        "requests.ephemeral-storage",
        "requests.memory",
    ];
    let resource = text(selector, "resource");
    if resource.is_empty() {
        errors.push_with(|| FieldError::required(&path.field("resource"), ""));
    } else if !KNOWN.contains(&resource)
        && !resource.starts_with("limits.hugepages-")
        && !resource.starts_with("requests.hugepages-")
    {
        let path = path.field("resource");
        errors.push_with(|| FieldError::not_supported(&path, resource, KNOWN));
    }
}
