//! Validation of pod templates and their selectors.

use lockstep_object::field::{FieldError, Path};
use lockstep_object::selector::{from_label_selector, validate_label_selector};
use lockstep_object::{Map, Value};

use super::{Errors, annotations, labels, pod_spec};
use crate::look::{list, some};

/// A template of pods.
pub(super) fn template(template: &Value, path: &Path<'_>, errors: &mut Errors) {
    labels(
        &template["metadata"]["labels"],
        &path.field("labels"),
        errors,
    );
    let notes = &template["metadata"]["annotations"];
    annotations(notes, &path.field("annotations"), errors);
    let spec_path = path.field("spec");
    pod_spec::check(&template["spec"], &spec_path, errors);
    if !list(&template["spec"], "ephemeralContainers").is_empty() {
        let why = "ephemeral containers not allowed in pod template";
        errors.push_with(|| FieldError::forbidden(&spec_path.field("ephemeralContainers"), why));
    }
}

/// Pod templates of long-running workloads: `restartPolicy: Always` and no `activeDeadlineSeconds`.
pub(super) fn lasting(template: &Value, kind: &str, path: &Path<'_>, errors: &mut Errors) {
    let spec = &template["spec"];
    let path = path.field("spec");
    if spec["restartPolicy"] != "Always" {
        let path = path.field("restartPolicy");
        let policy = spec["restartPolicy"].clone();
        errors.push_with(|| FieldError::not_supported(&path, &policy, ["Always"]));
    }
    if some(spec, "activeDeadlineSeconds").is_some() {
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push_with(|| FieldError::forbidden(&path.field("activeDeadlineSeconds"), why));
    }
}

/// True if a selector matches the labels of a template; an absent one matches nothing. None if it is invalid.
pub(super) fn selects(selector: Option<&Value>, template: &Value) -> Option<bool> {
    let Some(selector) = selector else {
        return Some(false);
    };
    let selector = from_label_selector(selector).ok()?;
    let empty = Map::new();
    let labels = template["metadata"]["labels"].as_object();
    Some(selector.matches(labels.unwrap_or(&empty)))
}

/// The fault of a template whose pods are not selected.
pub(super) fn unselected(template: &Value, path: &Path<'_>) -> FieldError {
    let metadata = path.field("metadata");
    let labels = template["metadata"]["labels"].clone();
    let why = "`selector` does not match template `labels`";
    FieldError::invalid(&metadata.field("labels"), &labels, why)
}

/// A selector that has to be there, and to select something in particular.
pub(super) fn selector(spec: &Value, kind: &str, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("selector");
    let Some(selector) = some(spec, "selector") else {
        errors.push_with(|| FieldError::required(&path, ""));
        return;
    };
    errors.append(validate_label_selector(selector, &path));
    if is_empty(selector) {
        let why = format!("empty selector is invalid for {kind}");
        errors.push_with(|| FieldError::invalid(&path, selector, why));
    }
}

/// True for the empty selector.
pub(super) fn is_empty(selector: &Value) -> bool {
    let labels = selector["matchLabels"].as_object();
    labels.is_none_or(Map::is_empty) && list(selector, "matchExpressions").is_empty()
}
