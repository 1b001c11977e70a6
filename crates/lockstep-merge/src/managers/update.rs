//! What becomes of claims when an object changes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::endpoint::in_version;
use super::{Claim, Conflicts, Endpoint, Managed, Operation, Owner, Writer};
use crate::fields::Set;
use crate::typed::{Comparison, TypeErrors};

/// Why claims cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError<E> {
    /// The version that is written has no type.
    #[error("no corresponding type for {0}")]
    NoType(String),
    /// An object is not of its type.
    #[error(transparent)]
    Type(#[from] TypeErrors),
    /// An object cannot be had in the version of a claim.
    #[error("failed to convert an object")]
    Convert(E),
}

/// What nobody owns: it is the server's, or names the object.
static NOBODYS: LazyLock<Set> = LazyLock::new(|| {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
        &["metadata", "deletionTimestamp"],
        &["metadata", "deletionGracePeriodSeconds"],
    ])
});

/// The claims after somebody made a new object of a live one, or a first one. What changed is owned by the writer, and
/// by nobody else any more. A live object that is not tracked stays so.
pub fn update<E: Endpoint>(
    endpoint: &E,
    live: Option<&Value>,
    new: &Value,
    managed: Managed,
    writer: &Writer<'_>,
) -> Result<Managed, UpdateError<E::Error>> {
    if managed.is_empty() && live.is_some() {
        return Ok(managed);
    }
    track(endpoint, live, new, managed, writer)
}

/// The same for an object that is to be tracked.
pub(super) fn track<E: Endpoint>(
    endpoint: &E,
    live: Option<&Value>,
    new: &Value,
    managed: Managed,
    writer: &Writer<'_>,
) -> Result<Managed, UpdateError<E::Error>> {
    let nothing = live.is_none().then(|| endpoint.empty(writer.api_version));
    let nothing = nothing.unwrap_or_default();
    let is_new = live.is_none();
    let live = live.unwrap_or(&nothing);
    let mut managed = reconcile(endpoint, managed);
    let mut comparisons = Comparisons::new(endpoint, live, new);
    if !is_new {
        comparisons = comparisons.without_impossible(writer.api_version)?;
    }
    lose(&mut managed, &mut comparisons, None)?;
    let changed = comparisons.at(writer.api_version)?;
    let changed = changed.ok_or_else(|| UpdateError::NoType(writer.api_version.to_owned()))?;
    let own = endpoint.owned(writer.api_version, changed.changed());
    let own = own.difference(&NOBODYS);
    if !own.is_empty() {
        let owner = writer.owner(Operation::Update);
        let claim = managed.claims.entry(owner).or_insert_with(|| Claim {
            api_version: writer.api_version.to_owned(),
            fields: Set::default(),
            time: None,
        });
        claim.fields = claim.fields.union(&own);
        claim.time = Some(writer.now);
    }
    managed.cap_updates();
    Ok(managed)
}

/// Takes out what nobody owns; a claim with nothing else goes.
pub(super) fn strip(managed: &mut Managed, owner: &Owner) {
    if let Some(claim) = managed.claims.get_mut(owner) {
        claim.fields = claim.fields.difference(&NOBODYS);
        if claim.fields.is_empty() {
            managed.claims.remove(owner);
        }
    }
}

/// Claims in versions that are no longer known go, and the others are made those of the types of today.
pub(super) fn reconcile<E: Endpoint>(endpoint: &E, mut managed: Managed) -> Managed {
    managed.claims.retain(|_, claim| {
        let of_version = endpoint.type_of(&claim.api_version);
        if let Some(of_version) = of_version {
            claim.fields = of_version.reconcile(&claim.fields);
        }
        of_version.is_some()
    });
    managed
}

/// How an object changed, in each version that somebody claims fields of.
pub(super) struct Comparisons<'a, E> {
    endpoint: &'a E,
    old: &'a Value,
    new: Cow<'a, Value>,
    known: BTreeMap<String, Option<Comparison>>,
}

impl<'a, E: Endpoint> Comparisons<'a, E> {
    pub(super) fn new(endpoint: &'a E, old: &'a Value, new: &'a Value) -> Self {
        Self {
            endpoint,
            old,
            new: Cow::Borrowed(new),
            known: BTreeMap::new(),
        }
    }

    /// The same without what cannot change, for objects of a version.
    pub(super) fn without_impossible(
        mut self,
        api_version: &str,
    ) -> Result<Self, UpdateError<E::Error>> {
        let (endpoint, old, new) = (self.endpoint, self.old, self.new.clone());
        // Objects that cannot be compared have no claims that this could save.
        let kept = match self.at(api_version) {
            Ok(Some(change)) if !change.is_empty() => endpoint
                .kept(old, &new, change)
                .map_err(UpdateError::Convert)?,
            _ => None,
        };
        if let Some(kept) = kept {
            self.new = Cow::Owned(kept);
            self.known.clear();
        }
        Ok(self)
    }

    /// The change in a version; none if that is no longer known.
    fn at(&mut self, api_version: &str) -> Result<Option<&Comparison>, UpdateError<E::Error>> {
        if !self.known.contains_key(api_version) {
            let comparison = self.compare(api_version)?;
            self.known.insert(api_version.to_owned(), comparison);
        }
        Ok(self.known.get(api_version).and_then(Option::as_ref))
    }

    fn compare(&self, api_version: &str) -> Result<Option<Comparison>, UpdateError<E::Error>> {
        let Some(of_version) = self.endpoint.type_of(api_version) else {
            return Ok(None);
        };
        let converted = |object| {
            in_version(self.endpoint, Cow::Borrowed(object), api_version)
                .map_err(UpdateError::Convert)
        };
        let (old, new) = (converted(self.old)?, converted(&self.new)?);
        let comparison = of_version.compare(&old, &new)?;
        let owned = comparison.map(|set| self.endpoint.owned(api_version, set.clone()));
        Ok(Some(owned))
    }
}

/// Everybody but one loses what changed. Returns what of it others than that one had.
pub(super) fn lose<E: Endpoint>(
    managed: &mut Managed,
    comparisons: &mut Comparisons<'_, E>,
    except: Option<&Owner>,
) -> Result<Option<Conflicts>, UpdateError<E::Error>> {
    let mut lost: BTreeMap<Owner, Set> = BTreeMap::new();
    let mut kept = BTreeMap::new();
    for (owner, mut claim) in std::mem::take(&mut managed.claims) {
        if except == Some(&owner) {
            kept.insert(owner, claim);
            continue;
        }
        let Some(comparison) = comparisons.at(&claim.api_version)? else {
            continue;
        };
        let conflicting = claim.fields.intersection(&comparison.changed());
        if !conflicting.is_empty() {
            claim.fields = claim.fields.difference(&conflicting);
            lost.insert(owner.clone(), conflicting);
        }
        if !comparison.removed.is_empty() {
            claim.fields = claim.fields.difference(&comparison.removed);
        }
        if !claim.fields.is_empty() {
            kept.insert(owner, claim);
        }
    }
    managed.claims = kept;
    Ok((!lost.is_empty()).then(|| Conflicts::of(&lost)))
}
