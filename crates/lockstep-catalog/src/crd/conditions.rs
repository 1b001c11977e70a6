//! Conditions of a CRD: accepted names, establishment, API approval and termination.

use std::collections::BTreeSet;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use lockstep_schema::Approval;

use super::Definition;
use crate::Resource;

/// The condition type of CRDs in protected groups, such as `*.k8s.io`.
const APPROVED: &str = "KubernetesAPIApprovalPolicyConformant";

/// The condition type of a CRD that is being deleted.
const TERMINATING: &str = "Terminating";

/// Names of a group that other resources use.
#[derive(Default)]
pub struct TakenNames {
    resources: BTreeSet<Box<str>>,
    kinds: BTreeSet<Box<str>>,
}

impl TakenNames {
    /// The names of these resources.
    pub fn by<'r>(resources: impl Iterator<Item = &'r Resource>) -> Self {
        let mut taken = Self::default();
        for resource in resources {
            taken.resources.insert(resource.plural.clone());
            taken.resources.insert(resource.singular.clone());
            taken.resources.extend(resource.short_names.iter().cloned());
            taken.kinds.insert(resource.kind.clone());
            taken.kinds.insert(resource.list_kind.clone());
        }
        taken
    }

    /// The first name of a CRD that another resource uses, as reason and message of the condition.
    pub fn conflict(&self, crd: Definition<'_>) -> Option<(&'static str, String)> {
        let message = |name: &str| format!("{name:?} is already in use");
        let rows = [
            ("plural", &self.resources, "PluralConflict"),
            ("singular", &self.resources, "SingularConflict"),
            ("kind", &self.kinds, "KindConflict"),
            ("listKind", &self.kinds, "ListKindConflict"),
        ];
        for (which, taken, reason) in rows {
            let name = crd.names(which);
            if taken.contains(name) {
                return Some((reason, message(name)));
            }
        }
        let short = crd.name_list("shortNames").into_iter();
        let mut taken = short.filter(|name| self.resources.contains(*name));
        taken
            .next()
            .map(|name| ("ShortNamesConflict", message(name)))
    }
}

/// Acceptance of a CRD's names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acceptance {
    /// The names are accepted, and the resource is served.
    Served,
    /// The CA bundle of the conversion webhook is unusable.
    InvalidBundle,
    /// Another resource uses one of the names.
    Conflict {
        /// The reason of the condition.
        reason: &'static str,
        /// The message of the condition.
        message: String,
    },
}

/// Writes accepted names and conditions to the status. A transition time changes only with the status of its condition.
pub fn write(crd: &mut Object, acceptance: &Acceptance, now: Seconds) {
    let names = crd.at(&["spec", "names"]).cloned().unwrap_or_default();
    let old = crd.fields().get("status").cloned().unwrap_or_default();
    let conditions = match acceptance {
        Acceptance::Served => vec![
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            (
                "Established",
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ],
        Acceptance::InvalidBundle => vec![
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            (
                "Established",
                "False",
                "InvalidCABundle",
                "The conversion webhook CABundle is invalid",
            ),
        ],
        Acceptance::Conflict { reason, message } => vec![
            ("NamesAccepted", "False", *reason, message.as_str()),
            (
                "Established",
                "False",
                "NotAccepted",
                "not all names are accepted",
            ),
        ],
    };
    let approval = Approval::of(crd);
    let was_established = Definition::of(crd).is("Established");
    let is_terminating = Definition::of(crd).is_cleaned();
    let status = crd
        .fields_mut()
        .entry("status")
        .or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    if matches!(acceptance, Acceptance::Served | Acceptance::InvalidBundle) {
        status["acceptedNames"] = names;
    }
    let mut conditions_now: Vec<Value> = old["conditions"].as_array().cloned().unwrap_or_default();
    for (kind, value, reason, message) in conditions {
        // An established CRD stays established, because it may have objects.
        if kind == "Established" && value == "False" && was_established {
            continue;
        }
        set(&mut conditions_now, kind, value, reason, message, now);
    }
    if let Some(approval) = approval {
        let is_given = matches!(approval, Approval::Given(_));
        let value = if is_given { "True" } else { "False" };
        let (reason, message) = (approval.reason(), approval.to_string());
        set(&mut conditions_now, APPROVED, value, reason, &message, now);
    }
    let is_written = conditions_now
        .iter()
        .any(|known| known["type"] == TERMINATING && known["status"] == "True");
    if is_terminating && !is_written {
        Cleanup::InProgress.write_into(&mut conditions_now, now);
    }
    status["conditions"] = conditions_now.into();
}

/// Progress of deleting the objects of a terminating CRD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cleanup {
    /// Objects are being deleted.
    InProgress,
    /// Finalizers have kept some objects for long.
    Waits,
    /// Some objects cannot be deleted.
    Failed(String),
    /// All objects are deleted.
    Completed,
    /// The CRD was never established, so it has no objects.
    NeverEstablished,
}

impl Cleanup {
    /// Writes the condition `Terminating` to the status of the CRD.
    pub fn write(&self, crd: &mut Object, now: Seconds) {
        let status = crd.fields().get("status");
        let conditions = status.and_then(|status| status["conditions"].as_array());
        let mut conditions = conditions.cloned().unwrap_or_default();
        self.write_into(&mut conditions, now);
        let fields = crd.fields_mut();
        let status = fields.entry("status").or_insert_with(|| json!({}));
        status["conditions"] = conditions.into();
    }

    fn write_into(&self, conditions: &mut Vec<Value>, now: Seconds) {
        let (value, reason, message) = match self {
            Self::InProgress => (
                "True",
                "InstanceDeletionInProgress",
                "CustomResource deletion is in progress".to_owned(),
            ),
            Self::Waits => (
                "True",
                "InstanceDeletionCheck",
                "could not confirm zero CustomResources remaining: context deadline exceeded"
                    .to_owned(),
            ),
            Self::Failed(why) => (
                "True",
                "InstanceDeletionFailed",
                format!("could not issue all deletes: {why}"),
            ),
            Self::Completed => (
                "False",
                "InstanceDeletionCompleted",
                "removed all instances".to_owned(),
            ),
            Self::NeverEstablished => (
                "False",
                "NeverEstablished",
                "resource was never established".to_owned(),
            ),
        };
        set(conditions, TERMINATING, value, reason, &message, now);
    }
}

/// Adds or replaces a condition.
pub(super) fn set(
    conditions: &mut Vec<Value>,
    kind: &str,
    value: &str,
    reason: &str,
    message: &str,
    now: Seconds,
) {
    let found = conditions.iter_mut().find(|known| known["type"] == kind);
    let since = match &found {
        Some(known) if known["status"] == value => known["lastTransitionTime"].clone(),
        _ => now.to_string().into(),
    };
    let condition = json!({
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": since,
    });
    match found {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}
