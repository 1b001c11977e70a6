//! What goes from an object because whoever applied it does not want it any more.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use super::endpoint::in_version;
use super::{Claim, Endpoint, Managed, UpdateError};
use crate::fields::Set;

/// A merged object without what the applier wanted last time, wants no more, and nobody else owns. `managed` has what
/// it wants now.
pub(super) fn prune<E: Endpoint>(
    endpoint: &E,
    merged: Value,
    managed: &Managed,
    last: &Claim,
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
    let wanted = of_last.with_named(&last.fields);
    let pruned = of_last.emptied_of(&merged, &wanted);
    let pruned = add_back_owned(endpoint, &merged, pruned, managed, &last.api_version)?;
    let pruned = convert(Cow::Owned(pruned), &last.api_version)?;
    // Only what was the applier's goes; what nobody owns stays.
    let before = of_last.with_named(&of_last.owned(&merged)?);
    let after = of_last.with_named(&of_last.owned(&pruned)?);
    let gone = before.difference(&after).intersection(&wanted);
    if gone.is_empty() {
        return convert(Cow::Owned(merged), api_version);
    }
    let owned = managed
        .claims
        .values()
        .filter(|claim| claim.api_version == last.api_version);
    let owned = owned.fold(Set::default(), |all, claim| all.union(&claim.fields));
    let rest = of_last.given_up(&merged, &gone, owned);
    convert(Cow::Owned(rest), api_version)
}

/// Puts back what somebody owns, version by version, beginning with the one that was pruned: what another version
/// needs to be converted may be among it.
fn add_back_owned<E: Endpoint>(
    endpoint: &E,
    merged: &Value,
    pruned: Value,
    managed: &Managed,
    pruned_version: &str,
) -> Result<Value, UpdateError<E::Error>> {
    let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
    for claim in managed.claims.values() {
        let of_version = owned.entry(&claim.api_version).or_default();
        *of_version = of_version.union(&claim.fields);
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
        let all = of_version.with_named(&of_version.owned(&merged)?);
        let left = of_version.with_named(&of_version.owned(&there)?);
        let kept = left.union(&of_version.with_named(&owned));
        pruned = of_version.emptied_of(&merged, &all.difference(&kept));
    }
    Ok(pruned)
}
