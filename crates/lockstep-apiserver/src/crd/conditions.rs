//! What the server says about a CRD: whether its names are its own, and whether it is served.

use std::collections::BTreeSet;

use lockstep_object::metadata::Seconds;
use lockstep_object::{Object, Value};
use serde_json::json;

use lockstep_schema::Approval;

use super::Definition;
use crate::resources::Resource;

/// The condition that groups of the community have.
const APPROVED: &str = "KubernetesAPIApprovalPolicyConformant";

/// The condition of a CRD that goes away.
const TERMINATING: &str = "Terminating";

/// Names of one group that others have.
#[derive(Default)]
pub(super) struct Taken {
    resources: BTreeSet<Box<str>>,
    kinds: BTreeSet<Box<str>>,
}

impl Taken {
    /// The names of these resources.
    pub(super) fn by<'r>(resources: impl Iterator<Item = &'r Resource>) -> Self {
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

    /// The first name of a CRD that somebody else has: the reason and the text of the condition.
    pub(super) fn conflict(&self, crd: Definition<'_>) -> Option<(&'static str, String)> {
        let told = |name: &str| format!("{name:?} is already in use");
        let rows = [
            ("plural", &self.resources, "PluralConflict"),
            ("singular", &self.resources, "SingularConflict"),
            ("kind", &self.kinds, "KindConflict"),
            ("listKind", &self.kinds, "ListKindConflict"),
        ];
        for (which, taken, reason) in rows {
            let name = crd.names(which);
            if taken.contains(name) {
                return Some((reason, told(name)));
            }
        }
        let short = crd.name_list("shortNames").into_iter();
        let mut taken = short.filter(|name| self.resources.contains(*name));
        taken.next().map(|name| ("ShortNamesConflict", told(name)))
    }
}

/// What there is to say about a CRD.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    /// It is served under its names.
    Served,
    /// Its webhook could not be called.
    InvalidBundle,
    /// Somebody else has one of its names.
    Conflict {
        reason: &'static str,
        message: String,
    },
}

/// Writes names and conditions into the status. Times move only with what they are about.
pub(super) fn write(crd: &mut Object, verdict: &Verdict, now: Seconds) {
    let names = crd.at(&["spec", "names"]).cloned().unwrap_or_default();
    let old = crd.fields().get("status").cloned().unwrap_or_default();
    let conditions = match verdict {
        Verdict::Served => vec![
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            (
                "Established",
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
        ],
        Verdict::InvalidBundle => vec![
            ("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
            (
                "Established",
                "False",
                "InvalidCABundle",
                "The conversion webhook CABundle is invalid",
            ),
        ],
        Verdict::Conflict { reason, message } => vec![
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
    let going = Definition::of(crd).is_cleaned();
    let status = crd
        .fields_mut()
        .entry("status")
        .or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    if matches!(verdict, Verdict::Served | Verdict::InvalidBundle) {
        status["acceptedNames"] = names;
    }
    let mut kept: Vec<Value> = old["conditions"].as_array().cloned().unwrap_or_default();
    for (kind, value, reason, message) in conditions {
        // What was established once stays so: its objects are there.
        if kind == "Established" && value == "False" && was_established {
            continue;
        }
        set(&mut kept, kind, value, reason, message, now);
    }
    if let Some(approval) = approval {
        let is_given = matches!(approval, Approval::Given(_));
        let value = if is_given { "True" } else { "False" };
        let (reason, message) = (approval.reason(), approval.to_string());
        set(&mut kept, APPROVED, value, reason, &message, now);
    }
    let is_told = kept
        .iter()
        .any(|known| known["type"] == TERMINATING && known["status"] == "True");
    if going && !is_told {
        Cleanup::InProgress.write_into(&mut kept, now);
    }
    status["conditions"] = kept.into();
}

/// How the objects of a CRD go that goes away.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Cleanup {
    /// They are being deleted.
    InProgress,
    /// Somebody holds some of them for long.
    Waits,
    /// Some cannot be deleted.
    Failed(String),
    /// None is left.
    Completed,
    /// There never was one.
    NeverEstablished,
}

impl Cleanup {
    /// Writes it into the status of the CRD.
    pub(super) fn write(&self, crd: &mut Object, now: Seconds) {
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

/// Sets one condition among others.
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
