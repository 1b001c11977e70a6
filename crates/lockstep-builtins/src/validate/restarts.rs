//! Validation of container restart policies, restart rules and resize policies.

use std::collections::BTreeSet;

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::Errors;
use crate::look::{list, some, text};

const POLICIES: [&str; 3] = ["Always", "Never", "OnFailure"];
const ACTIONS: [&str; 2] = ["Restart", "RestartAllContainers"];

/// The policy of a container, and the exceptions from it.
pub(super) fn policy(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let rules = list(container, "restartPolicyRules");
    let place = path.field("restartPolicy");
    match some(container, "restartPolicy").and_then(Value::as_str) {
        None if rules.is_empty() => return,
        None => {
            let why = "must specify restartPolicy when restart rules are used";
            errors.push_with(|| FieldError::required(&place, why));
        }
        Some(policy) if !POLICIES.contains(&policy) => {
            errors.push_with(|| FieldError::not_supported(&place, policy, POLICIES));
        }
        Some(_) => {}
    }
    let path = path.field("restartPolicyRules");
    for (index, rule) in rules.iter().enumerate() {
        let (action, path) = (text(rule, "action"), path.index(index));
        if !ACTIONS.contains(&action) {
            let place = path.field("action");
            errors.push_with(|| FieldError::not_supported(&place, action, ACTIONS));
        }
        let path = path.field("exitCodes");
        match some(rule, "exitCodes") {
            None => errors.push_with(|| FieldError::required(&path, "must be specified")),
            Some(codes) => {
                let (operator, known) = (text(codes, "operator"), ["In", "NotIn"]);
                if !known.contains(&operator) {
                    let place = path.field("operator");
                    errors.push_with(|| FieldError::not_supported(&place, operator, known));
                }
            }
        }
    }
}

/// Validates the resize policies of a container.
pub(super) fn resize(container: &Value, of_pod: &str, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("resizePolicy");
    let mut seen = BTreeSet::new();
    for (index, rule) in list(container, "resizePolicy").iter().enumerate() {
        let (name, policy) = (text(rule, "resourceName"), text(rule, "restartPolicy"));
        if !seen.insert(name) {
            errors.push_with(|| FieldError::duplicate(&path.index(index), name));
        }
        super::one_of(name, &["cpu", "memory"], &path, errors);
        super::one_of(policy, &["NotRequired", "RestartContainer"], &path, errors);
        if of_pod == "Never" && policy != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push_with(|| FieldError::invalid(&path, policy, why));
        }
    }
}
