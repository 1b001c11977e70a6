//! Server-side apply: merges an applied configuration into a live object.

use serde_json::Value;

use super::update::{Comparisons, reconcile, remove_changed_from_others, strip, track};
use super::{
    Conflicts, Endpoint, ManagedFields, ManagedFieldsEntry, Operation, UpdateError, Writer,
    last_applied, prune,
};
use crate::typed::{Duplicates, TypeErrors};

/// Manager that owns the existing fields when an untracked object is applied for the first time.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// Conflict handling for fields that other managers own with different values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// Takes ownership of conflicting fields.
    Yes,
    /// Fails with the conflicts.
    No,
}

/// Result of a successful apply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The merged object; none if it equals the live object.
    pub object: Option<Value>,
    /// All managedFields entries after the apply.
    pub managed: ManagedFields,
}

/// Errors of [`apply`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError<E> {
    /// The applied configuration does not match its type.
    #[error(transparent)]
    Type(TypeErrors),
    /// Other managers own applied fields with different values.
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// Updating the managedFields entries failed.
    #[error(transparent)]
    Update(#[from] UpdateError<E>),
}

/// Merges an applied configuration into a live object, or creates one, and updates field ownership.
///
/// Fields that the manager applied last time and no longer applies are removed unless another manager owns them.
/// Neither object contains `managedFields`; those of the live object are in `managed`.
pub fn apply<E: Endpoint>(
    endpoint: &E,
    live: Option<&Value>,
    wanted: &Value,
    managed: ManagedFields,
    writer: &Writer<'_>,
    force: Force,
) -> Result<Applied, ApplyError<E::Error>> {
    let of_version = endpoint.type_of(writer.api_version);
    let of_version =
        of_version.ok_or_else(|| UpdateError::NoType(writer.api_version.to_owned()))?;
    of_version
        .validate(wanted, Duplicates::Refused)
        .map_err(ApplyError::Type)?;
    let managed = match live {
        Some(live) if managed.is_empty() => {
            let before = Writer {
                manager: BEFORE_FIRST_APPLY,
                ..*writer
            };
            track(endpoint, None, live, managed, &before)?
        }
        _ => managed,
    };
    let nothing = serde_json::json!({
        "apiVersion": wanted.get("apiVersion"),
        "kind": wanted.get("kind"),
    });
    let live = live.unwrap_or(&nothing);
    let attempt = |force| merge(endpoint, live, wanted, managed.clone(), writer, force);
    let mut applied = match attempt(force) {
        Err(ApplyError::Conflicts(conflicts)) if writer.manager == last_applied::KUBECTL => {
            match last_applied::remaining(of_version, live, conflicts, writer.api_version) {
                Some(conflicts) => return Err(conflicts.into()),
                None => attempt(Force::Yes)?,
            }
        }
        outcome => outcome?,
    };
    if writer.manager == last_applied::KUBECTL {
        last_applied::renew(&mut applied, live, wanted);
    }
    Ok(applied)
}

fn merge<E: Endpoint>(
    endpoint: &E,
    live: &Value,
    wanted: &Value,
    managed: ManagedFields,
    writer: &Writer<'_>,
    force: Force,
) -> Result<Applied, ApplyError<E::Error>> {
    let version = writer.api_version;
    let of_version = endpoint.type_of(version);
    let of_version = of_version.ok_or_else(|| UpdateError::NoType(version.to_owned()))?;
    let mut managed = reconcile(endpoint, managed);
    let merged = of_version
        .merge_valid(live, wanted)
        .map_err(ApplyError::Type)?;
    let fields = of_version.owned(wanted).map_err(ApplyError::Type)?;
    let fields = endpoint.owned(version, fields);
    let owner = writer.owner(Operation::Apply);
    let entry = ManagedFieldsEntry {
        api_version: version.to_owned(),
        fields,
        time: managed.entries.get(&owner).and_then(|entry| entry.time),
    };
    let is_wanted = |last: &ManagedFieldsEntry| {
        last.api_version == version && last.fields.difference(&entry.fields).is_empty()
    };
    let last = managed.entries.get(&owner).cloned();
    let last = last.filter(|last| !is_wanted(last));
    managed.entries.insert(owner.clone(), entry);
    let object = match last {
        Some(last) => {
            let pruned = prune::prune(endpoint, merged, &managed, &last, version)?;
            // A map or list that is applied empty stays, even if pruning removed all its members.
            of_version
                .merge_valid(&pruned, wanted)
                .map_err(ApplyError::Type)?
        }
        None => merged,
    };
    let mut comparisons = Comparisons::new(endpoint, live, &object);
    if managed.entries.len() > 1 {
        comparisons = comparisons.without_refused_changes(version)?;
    }
    let conflicts = remove_changed_from_others(&mut managed, &mut comparisons, Some(&owner))?;
    if let (Some(conflicts), Force::No) = (conflicts, force) {
        return Err(conflicts.into());
    }
    strip(&mut managed, &owner);
    let object = (!crate::fields::equal(live, &object)).then_some(object);
    if let (Some(_), Some(entry)) = (&object, managed.entries.get_mut(&owner)) {
        entry.time = Some(writer.now);
    }
    Ok(Applied { object, managed })
}
