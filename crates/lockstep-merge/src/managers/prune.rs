//! Removes fields that a manager no longer applies.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::endpoint::in_version;
use super::{Endpoint, ManagedFields, ManagedFieldsEntry, UpdateError};
use crate::fields::Set;

/// Removes the fields of the manager's last applied configuration that it no longer applies and no other manager owns.
/// `managed` already contains the new applied configuration.
pub(super) fn prune<E: Endpoint>(
    endpoint: &E,
    merged: Value,
    managed: &ManagedFields,
    last: &ManagedFieldsEntry,
    api_version: &str,
) -> Result<Value, UpdateError<E::Error>> {
    let Some(of_last) = endpoint.type_of(&last.api_version) else {
        return Ok(merged);
    };
    let convert = |object, version: &str| {
        in_version(endpoint, object, version)
            .map_err(UpdateError::Convert)
            .map(Cow::into_owned)
    };
    let merged = convert(Cow::Owned(merged), &last.api_version)?;
    let wanted = of_last.with_named_fields(&last.fields);
    let pruned = of_last.without_leaving_null(&merged, &wanted);
    let pruned = add_back_owned(endpoint, &merged, pruned, managed, &last.api_version)?;
    let pruned = convert(Cow::Owned(pruned), &last.api_version)?;
    // Only fields that the manager owned are removed; unowned fields stay.
    let before = of_last.with_named_fields(&of_last.owned(&merged)?);
    let after = of_last.with_named_fields(&of_last.owned(&pruned)?);
    let gone = before.difference(&after).intersection(&wanted);
    if gone.is_empty() {
        return convert(Cow::Owned(merged), api_version);
    }
    let owned = managed
        .entries
        .values()
        .filter(|entry| entry.api_version == last.api_version);
    let owned = owned.fold(Set::default(), |all, entry| all.union(&entry.fields));
    let rest = of_last.without_keeping_owned(&merged, &gone, owned);
    convert(Cow::Owned(rest), api_version)
}

/// Adds back fields with an owner, one version at a time. The pruned version comes first, because conversion to the
/// other versions may need its fields.
fn add_back_owned<E: Endpoint>(
    endpoint: &E,
    merged: &Value,
    pruned: Value,
    managed: &ManagedFields,
    pruned_version: &str,
) -> Result<Value, UpdateError<E::Error>> {
    let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
    for entry in managed.entries.values() {
        let of_version = owned.entry(&entry.api_version).or_default();
        *of_version = of_version.union(&entry.fields);
    }
    let first = owned.remove_entry(pruned_version);
    let (mut merged, mut pruned) = (Cow::Borrowed(merged), pruned);
    for (version, owned) in first.into_iter().chain(owned) {
        let Some(of_version) = endpoint.type_of(version) else {
            continue;
        };
        merged = in_version(endpoint, merged, version).map_err(UpdateError::Convert)?;
        let there = in_version(endpoint, Cow::Owned(pruned), version);
        let there = there.map_err(UpdateError::Convert)?;
        let all = of_version.with_named_fields(&of_version.owned(&merged)?);
        let left = of_version.with_named_fields(&of_version.owned(&there)?);
        let kept = left.union(&of_version.with_named_fields(&owned));
        pruned = of_version.without_leaving_null(&merged, &all.difference(&kept));
    }
    Ok(pruned)
}
