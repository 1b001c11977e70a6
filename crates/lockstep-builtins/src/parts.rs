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

/// Metadata fields that a status update of a kind does not change.
pub fn metadata_kept_by_status(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("", "pods") => &["ownerReferences"],
        ("apps", "deployments") => &["labels"],
        ("apiregistration.k8s.io", "apiservices")
        | ("flowcontrol.apiserver.k8s.io", _)
        | ("networking.k8s.io", "servicecidrs")
        | ("resource.k8s.io", "resourceclaims")
        | ("storage.k8s.io", "volumeattachments") => {
            &["annotations", "finalizers", "labels", "ownerReferences"]
        }
        _ => &[],
    }
}

/// Fields that an endpoint resets, and which therefore cannot be owned through it. `subresource` is empty for
/// the main endpoint of a kind with a status subresource.
pub fn reset_fields(
    group: &str,
    plural: &str,
    subresource: &str,
) -> &'static [&'static [&'static str]] {
    match (group, plural, subresource) {
        ("certificates.k8s.io", _, "") => &[&["spec"], &["status"]],
        ("certificates.k8s.io", _, "approval") => &[&["spec"], &["status", "certificate"]],
        ("certificates.k8s.io", _, "status") => &[&["spec"], &["status", "conditions"]],
        ("", "pods", "status") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        ("apps", "deployments", "status") => &[&["spec"], &["metadata", "labels"]],
        (_, _, "status") if metadata_kept_by_status(group, plural).len() > 1 => {
            &[&["spec"], &["metadata"]]
        }
        (_, _, "status") => &[&["spec"]],
        (_, _, _) => &[&["status"]],
    }
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

/// `status` of a request for a certificate: whether it is granted is not decided there.
pub fn signing_status(request: &mut Object, old: &Object) {
    let is_decision = |condition: &Value| DECISIONS.contains(&text(condition, "type"));
    let conditions = |object: &Object| {
        let status = object.as_value().get("status");
        status.map(|status| list(status, "conditions").to_vec())
    };
    let decided = conditions(old).unwrap_or_default();
    let given = conditions(request).unwrap_or_default();
    let mut next: Vec<Value> = decided.into_iter().filter(is_decision).collect();
    next.extend(
        given
            .into_iter()
            .filter(|condition| !is_decision(condition)),
    );
    let status = map_in(request.fields_mut(), "status");
    if next.is_empty() {
        status.remove("conditions");
    } else {
        status.insert("conditions".to_owned(), next.into());
    }
}
