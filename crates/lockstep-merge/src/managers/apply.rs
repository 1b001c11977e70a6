//! Server-side apply: an object, and what somebody wants of it.

use serde_json::Value;

use super::update::{Comparisons, lose, reconcile, strip, track};
use super::{
    Claim, Conflicts, Endpoint, Managed, Operation, UpdateError, Writer, last_applied, prune,
};
use crate::typed::{Duplicates, TypeErrors};

/// Who owns what was there before the first apply of an object that was not tracked.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// What becomes of fields that others own with other values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// They are taken.
    Yes,
    /// The apply fails.
    No,
}

/// What an apply makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The object; none if it is as it was.
    pub object: Option<Value>,
    /// All claims on it.
    pub managed: Managed,
}

/// Why nothing is applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError<E> {
    /// What is wanted is not of the type.
    #[error(transparent)]
    Type(TypeErrors),
    /// Others want something else.
    #[error(transparent)]
    Conflicts(#[from] Conflicts),
    /// The live object cannot be compared with what it would become.
    #[error(transparent)]
    Update(#[from] UpdateError<E>),
}

/// Merges what somebody wants into a live object, or into nothing, and follows who owns what.
///
/// What the writer wanted last time and wants no more goes, unless somebody else owns it. Neither object has
/// `managedFields`; those of the live one are in `managed`.
pub fn apply<E: Endpoint>(
    endpoint: &E,
    live: Option<&Value>,
    wanted: &Value,
    managed: Managed,
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
    managed: Managed,
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
    let claim = Claim {
        api_version: version.to_owned(),
        fields,
        time: managed.claims.get(&owner).and_then(|claim| claim.time),
    };
    let is_wanted = |last: &Claim| {
        last.api_version == version && last.fields.difference(&claim.fields).is_empty()
    };
    let last = managed.claims.get(&owner).cloned();
    let last = last.filter(|last| !is_wanted(last));
    managed.claims.insert(owner.clone(), claim);
    let object = match last {
        Some(last) => {
            let pruned = prune::prune(endpoint, merged, &managed, &last, version)?;
            // What is wanted empty stays, though everything in it went.
            of_version
                .merge_valid(&pruned, wanted)
                .map_err(ApplyError::Type)?
        }
        None => merged,
    };
    let mut comparisons = Comparisons::new(endpoint, live, &object);
    if managed.claims.len() > 1 {
        comparisons = comparisons.without_impossible(version)?;
    }
    let conflicts = lose(&mut managed, &mut comparisons, Some(&owner))?;
    if let (Some(conflicts), Force::No) = (conflicts, force) {
        return Err(conflicts.into());
    }
    strip(&mut managed, &owner);
    let object = (!crate::fields::equal(live, &object)).then_some(object);
    if let (Some(_), Some(claim)) = (&object, managed.claims.get_mut(&owner)) {
        claim.time = Some(writer.now);
    }
    Ok(Applied { object, managed })
}
