//! Validation of resource claims of pods and containers.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::{Errors, label, subdomain};
use crate::look::{list, some, text};

/// The claims of a pod.
pub(super) fn of_pod(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("resourceClaims");
    let mut seen = BTreeSet::new();
    for (index, claim) in list(spec, "resourceClaims").iter().enumerate() {
        let (name, path) = (text(claim, "name"), path.index(index));
        let place = path.field("name");
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&place, ""));
        } else if seen.insert(name) {
            label(name, &place, errors);
        } else {
            errors.push_with(|| FieldError::duplicate(&place, name));
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let given = sources.map(|field| some(claim, field).and_then(Value::as_str));
        match given {
            [Some(_), Some(_)] => {
                let why = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                errors.push_with(|| FieldError::invalid(&path, claim, why));
            }
            [None, None] => {
                let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                errors.push_with(|| FieldError::invalid(&path, claim, why));
            }
            _ => {}
        }
        for (field, given) in sources.into_iter().zip(given) {
            if let Some(name) = given {
                subdomain(name, &path.field(field), errors);
            }
        }
    }
}

/// The names of a pod's claims.
pub(super) fn names(spec: &Value) -> BTreeSet<&str> {
    let claims = list(spec, "resourceClaims").iter();
    let names = claims.map(|claim| text(claim, "name"));
    names.filter(|name| !name.is_empty()).collect()
}

/// Requires that a container's claims are declared by its pod.
pub(super) fn of_container(
    resources: &Value,
    claimed: &BTreeSet<&str>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let path = path.field("claims");
    let mut seen = BTreeSet::new();
    for (index, claim) in list(resources, "claims").iter().enumerate() {
        let (name, request) = (text(claim, "name"), text(claim, "request"));
        let path = path.index(index);
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&path, ""));
            continue;
        }
        if !seen.insert((name, request)) {
            let push_problems = if request.is_empty() {
                name.to_owned()
            } else {
                format!("{name}/{request}")
            };
            errors.push_with(|| FieldError::duplicate(&path, push_problems));
        }
        if !claimed.contains(name) {
            errors.push_with(|| FieldError::not_found_because(&path, name, not_claimed(claimed)));
        }
    }
}

fn not_claimed(claimed: &BTreeSet<&str>) -> String {
    let why = "must be one of the names in pod.spec.resourceClaims";
    if claimed.is_empty() {
        return format!("{why} which is empty");
    }
    let names: Vec<&str> = claimed.iter().copied().collect();
    format!("{why}: {}", names.join(", "))
}
