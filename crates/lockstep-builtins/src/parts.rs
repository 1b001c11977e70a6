//! Subresource strategies: fields that an endpoint must not change are reset to the stored value.

use lockstep_object::{Object, Value};

use crate::look::{list, map_in, maps_in, text};

/// The old object with the resourceVersion and the `managedFields` of the request.
fn old_with_requested_version(object: &Object, old: &Object) -> Object {
    let mut next = old.clone();
    next.set_meta_text("resourceVersion", object.resource_version());
    if let Some(managed) = object.metadata().get("managedFields") {
        let managed = managed.clone();
        next.metadata_mut()
            .insert("managedFields".to_owned(), managed);
    }
    next
}

/// Paths of fields.
pub type FieldPaths = &'static [&'static [&'static str]];

/// Fields that the endpoints of a kind with a status subresource reset to the stored value, and which therefore cannot
/// be owned through them.
#[derive(Clone, Copy, Debug)]
pub struct ResetFields {
    /// Metadata fields that a status update does not change.
    pub status_metadata: &'static [&'static str],
    /// Reset by the status subresource.
    pub status: FieldPaths,
    /// Reset by the approval subresource.
    pub approval: FieldPaths,
    /// Reset by the main endpoint and all other subresources.
    pub other: FieldPaths,
}

impl ResetFields {
    /// The usual fields: a status update changes only `status` and metadata, any other write all but `status`.
    pub const USUAL: Self = Self {
        status_metadata: &[],
        status: &[&["spec"]],
        approval: &[&["status"]],
        other: &[&["status"]],
    };

    /// Those of kinds whose status update leaves the metadata alone.
    pub(crate) const METADATA: Self = Self {
        status_metadata: &["annotations", "finalizers", "labels", "ownerReferences"],
        status: &[&["spec"], &["metadata"]],
        ..Self::USUAL
    };

    pub(crate) const POD: Self = Self {
        status_metadata: &["ownerReferences"],
        status: &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        ..Self::USUAL
    };

    pub(crate) const DEPLOYMENT: Self = Self {
        status_metadata: &["labels"],
        status: &[&["spec"], &["metadata", "labels"]],
        ..Self::USUAL
    };

    /// The spec of a `CertificateSigningRequest` is immutable, and each subresource writes one part of its status.
    pub(crate) const SIGNING_REQUEST: Self = Self {
        status_metadata: &[],
        status: &[&["spec"], &["status", "conditions"]],
        approval: &[&["spec"], &["status", "certificate"]],
        other: &[&["spec"], &["status"]],
    };
}

/// `ephemeralcontainers` of a pod.
pub fn ephemeral_containers(pod: &mut Object, old: &Object) {
    let mut next = old_with_requested_version(pod, old);
    let containers = pod.at(&["spec", "ephemeralContainers"]).cloned();
    let spec = map_in(next.fields_mut(), "spec");
    match containers {
        Some(containers) => drop(spec.insert("ephemeralContainers".to_owned(), containers)),
        None => drop(spec.remove("ephemeralContainers")),
    }
    *pod = next;
}

/// `resize` of a pod: what its containers may use.
pub fn resize(pod: &mut Object, old: &Object) {
    let mut next = old_with_requested_version(pod, old);
    let spec = map_in(next.fields_mut(), "spec");
    let requested = pod.as_value().get("spec").cloned().unwrap_or_default();
    for field in ["containers", "initContainers"] {
        for container in maps_in(spec, field) {
            let name = container.get("name").cloned().unwrap_or_default();
            let mut requested = list(&requested, field).iter();
            let Some(requested) = requested.find(|requested| name == text(requested, "name"))
            else {
                continue;
            };
            for part in ["resources", "resizePolicy"] {
                match requested.get(part) {
                    Some(value) => drop(container.insert(part.to_owned(), value.clone())),
                    None => drop(container.remove(part)),
                }
            }
        }
    }
    *pod = next;
}

/// Conditions that approve or deny a certificate signing request.
const DECISIONS: [&str; 2] = ["Approved", "Denied"];

/// `approval` of a request for a certificate: its conditions and its metadata, and nothing of the certificate.
pub fn approval(request: &mut Object, old: &Object) {
    let mut next = old_with_requested_version(request, old);
    next.metadata_mut().clone_from(request.metadata());
    let conditions = request.at(&["status", "conditions"]).cloned();
    let status = map_in(next.fields_mut(), "status");
    match conditions {
        Some(conditions) => drop(status.insert("conditions".to_owned(), conditions)),
        None => drop(status.remove("conditions")),
    }
    *request = next;
}

/// Sets missing times in the conditions of a `CertificateSigningRequest`; `lastTransitionTime` keeps its value while
/// the condition status is unchanged.
pub fn set_condition_times(request: &mut Object, old: &Object, now: &str) {
    const CHANGED: &str = "lastTransitionTime";
    let before = old.at(&["status", "conditions"]).cloned();
    let before = before.as_ref().and_then(Value::as_array);
    let Some(Value::Object(status)) = request.fields_mut().get_mut("status") else {
        return;
    };
    for condition in maps_in(status, "conditions") {
        let mut before = before.into_iter().flatten();
        let same = before.find(|old| {
            let is = |name: &str| condition.get(name) == old.get(name);
            is("type") && is("status")
        });
        let since = same.and_then(|old| old.get(CHANGED)).cloned();
        let since = since.filter(|time| !time.is_null());
        for (field, time) in [
            ("lastUpdateTime", Value::from(now)),
            (CHANGED, since.unwrap_or_else(|| now.into())),
        ] {
            if condition.get(field).is_none_or(Value::is_null) {
                condition.insert(field.to_owned(), time);
            }
        }
    }
}

/// `status` of a request for a certificate: conditions that decide stay as they are. Where one is added or removed,
/// validation refuses the update.
pub fn signing_status(request: &mut Object, old: &Object) {
    let of = |conditions: &[Value], decision: &str| -> Vec<usize> {
        let named = conditions.iter().enumerate();
        named
            .filter(|(_, condition)| text(condition, "type") == decision)
            .map(|(at, _)| at)
            .collect()
    };
    let stored = list(&old.as_value()["status"], "conditions");
    let Some(Value::Object(status)) = request.fields_mut().get_mut("status") else {
        return;
    };
    let Some(Value::Array(given)) = status.get_mut("conditions") else {
        return;
    };
    for decision in DECISIONS {
        let (before, after) = (of(stored, decision), of(given, decision));
        if before.len() != after.len() {
            continue;
        }
        for (from, to) in before.into_iter().zip(after) {
            given[to] = stored[from].clone();
        }
    }
}
