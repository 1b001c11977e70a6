//! Updates managedFields entries after an object changed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::endpoint::in_version;
use super::{Conflicts, Endpoint, ManagedFields, ManagedFieldsEntry, Operation, Owner, Writer};
use crate::fields::Set;
use crate::typed::{Comparison, TypeErrors};

/// Errors of updating managedFields entries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError<E> {
    /// The written version has no type.
    #[error("no corresponding type for {0}")]
    NoType(String),
    /// An object does not match its type.
    #[error(transparent)]
    Type(#[from] TypeErrors),
    /// Conversion of an object to the version of an entry failed.
    #[error("failed to convert an object")]
    Convert(E),
}

/// Fields without an owner: object identity and metadata that the server sets.
static UNOWNED_FIELDS: LazyLock<Set> = LazyLock::new(|| {
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

/// Updates the entries after a create or update: the writer becomes the only owner of the changed fields. An untracked
/// live object stays untracked.
pub fn update<E: Endpoint>(
    endpoint: &E,
    live: Option<&Value>,
    new: &Value,
    managed: ManagedFields,
    writer: &Writer<'_>,
) -> Result<ManagedFields, UpdateError<E::Error>> {
    if managed.is_empty() && live.is_some() {
        return Ok(managed);
    }
    track(endpoint, live, new, managed, writer)
}

/// Form of [`update`] that also starts tracking an untracked object.
pub(super) fn track<E: Endpoint>(
    endpoint: &E,
    live: Option<&Value>,
    new: &Value,
    managed: ManagedFields,
    writer: &Writer<'_>,
) -> Result<ManagedFields, UpdateError<E::Error>> {
    let nothing = live.is_none().then(|| endpoint.empty(writer.api_version));
    let nothing = nothing.unwrap_or_default();
    let is_new = live.is_none();
    let live = live.unwrap_or(&nothing);
    let mut managed = reconcile(endpoint, managed);
    let mut comparisons = Comparisons::new(endpoint, live, new);
    if !is_new {
        comparisons = comparisons.without_refused_changes(writer.api_version)?;
    }
    remove_changed_from_others(&mut managed, &mut comparisons, None)?;
    let changed = comparisons.at(writer.api_version)?;
    let changed = changed.ok_or_else(|| UpdateError::NoType(writer.api_version.to_owned()))?;
    let own = endpoint.owned(writer.api_version, changed.changed());
    let own = own.difference(&UNOWNED_FIELDS);
    if !own.is_empty() {
        let owner = writer.owner(Operation::Update);
        let entry = managed
            .entries
            .entry(owner)
            .or_insert_with(|| ManagedFieldsEntry {
                api_version: writer.api_version.to_owned(),
                fields: Set::default(),
                time: None,
            });
        entry.fields = entry.fields.union(&own);
        entry.time = Some(writer.now);
    }
    managed.cap_updates();
    Ok(managed)
}

/// Removes [`UNOWNED_FIELDS`] from an entry, and the entry if it becomes empty.
pub(super) fn strip(managed: &mut ManagedFields, owner: &Owner) {
    if let Some(entry) = managed.entries.get_mut(owner) {
        entry.fields = entry.fields.difference(&UNOWNED_FIELDS);
        if entry.fields.is_empty() {
            managed.entries.remove(owner);
        }
    }
}

/// Drops entries of unknown versions and adapts the others to the current types.
pub(super) fn reconcile<E: Endpoint>(endpoint: &E, mut managed: ManagedFields) -> ManagedFields {
    managed.entries.retain(|_, entry| {
        let of_version = endpoint.type_of(&entry.api_version);
        if let Some(of_version) = of_version {
            entry.fields = of_version.reconcile(&entry.fields);
        }
        of_version.is_some()
    });
    managed
}

/// Differences between two states of an object, computed lazily for each version that has entries.
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

    /// Resets changes that the endpoint does not accept at present (see [`Endpoint::with_frozen_fields`]) before comparing.
    pub(super) fn without_refused_changes(
        mut self,
        api_version: &str,
    ) -> Result<Self, UpdateError<E::Error>> {
        let (endpoint, old, new) = (self.endpoint, self.old, self.new.clone());
        // Without a comparison there is no ownership to preserve.
        let kept = match self.at(api_version) {
            Ok(Some(change)) if !change.is_empty() => endpoint
                .with_frozen_fields(old, &new, change)
                .map_err(UpdateError::Convert)?,
            _ => None,
        };
        if let Some(kept) = kept {
            self.new = Cow::Owned(kept);
            self.known.clear();
        }
        Ok(self)
    }

    /// The differences in a version; none if the version is not served any more.
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

/// Removes the changed fields from all entries except one. Returns the removed ownership as conflicts.
pub(super) fn remove_changed_from_others<E: Endpoint>(
    managed: &mut ManagedFields,
    comparisons: &mut Comparisons<'_, E>,
    except: Option<&Owner>,
) -> Result<Option<Conflicts>, UpdateError<E::Error>> {
    let mut lost: BTreeMap<Owner, Set> = BTreeMap::new();
    let mut kept = BTreeMap::new();
    for (owner, mut entry) in std::mem::take(&mut managed.entries) {
        if except == Some(&owner) {
            kept.insert(owner, entry);
            continue;
        }
        let Some(comparison) = comparisons.at(&entry.api_version)? else {
            continue;
        };
        let conflicting = entry.fields.intersection(&comparison.changed());
        if !conflicting.is_empty() {
            entry.fields = entry.fields.difference(&conflicting);
            lost.insert(owner.clone(), conflicting);
        }
        if !comparison.removed.is_empty() {
            entry.fields = entry.fields.difference(&comparison.removed);
        }
        if !entry.fields.is_empty() {
            kept.insert(owner, entry);
        }
    }
    managed.entries = kept;
    Ok((!lost.is_empty()).then(|| Conflicts::of(lost)))
}
