//! Field ownership of fields with disabled gates: their `managedFields` stay as stored, in every version.
//!
//! Under a conversion webhook, the paths of gates are known in the encoding version only. The gated fields of another
//! version are those whose values change if the stored object is converted without its gated fields. The webhook is
//! called only for versions whose `managedFields` entries differ from the stored ones, once per version.

use std::collections::{BTreeMap, BTreeSet};

use lockstep_fieldgate::{Gates, ObjectStates, difference, frozen_in_version};
use lockstep_merge::fields::Set;
use lockstep_merge::managers::{ManagedFields, ManagedFieldsEntry};
use lockstep_object::{Object, Value};

use super::InFlight;
use super::field_gates::Gated;
use super::managed_fields::{encode_managed_fields, stored_managed_fields, write_managed_fields};

/// Maximal number of `managedFields` entries per write that are converted to the version that their manager now
/// writes. An apply changes the version of one entry; a client that writes `managedFields` may change any number.
const MOVED_MAX: usize = 4;

/// Gated fields by `apiVersion`, for versions that only a conversion webhook can map.
type FrozenFields = BTreeMap<String, Set>;

/// A write whose field ownership is adjusted to field gates.
struct OwnershipRestore<'a> {
    request: &'a InFlight<'a>,
    gates: &'a Gates,
    /// Current object, in the version of the request.
    live: Option<&'a Object>,
    /// Next state of the object, in the same version.
    object: &'a Object,
    step: &'a Gated,
}

impl InFlight<'_> {
    /// True if the ownership of gated fields may differ from the stored `managedFields`.
    pub(super) fn changes_gated_ownership(
        &self,
        gates: &Gates,
        object: &Object,
        live: Option<&Object>,
    ) -> bool {
        let stored = live.map_or(&[][..], Object::managed_fields);
        let knows = |version: &str| self.has_paths(version);
        let entries = object.managed_fields();
        let is_converted = self.served.resource.strategy.converter().is_some();
        gates.changes_frozen_ownership(entries, stored, knows)
            || (is_converted && entries != stored)
    }

    /// Restores the stored ownership of gated fields where gate paths apply, which saves the gate step from parsing
    /// and adjusting `managedFields` again. Ownership of absent fields is left to the gate step, which may restore
    /// these fields.
    pub(super) fn with_stored_ownership(
        &self,
        managed: ManagedFields,
        stored: &ManagedFields,
        object: &Value,
    ) -> ManagedFields {
        let strategy = &self.served.resource.strategy;
        match strategy.gates() {
            Some(gates) if strategy.converter().is_none() => managed.restore_frozen_ownership(
                stored,
                |_, fields| gates.frozen(fields),
                |_, fields| fields.present_in(object),
            ),
            _ => managed,
        }
    }

    /// Resets the ownership of gated fields to the stored `managedFields`.
    pub(super) async fn restore_gated_ownership(
        &self,
        gates: &Gates,
        object: &mut Object,
        live: Option<&Object>,
        step: &Gated,
    ) {
        let Ok(managed) = ManagedFields::read(object.managed_fields()) else {
            return;
        };
        let restore = OwnershipRestore {
            request: self,
            gates,
            live,
            object,
            step,
        };
        let restored = restore.restored(managed, stored_managed_fields(live)).await;
        write_managed_fields(object, encode_managed_fields(live, object, &restored));
    }
}

impl OwnershipRestore<'_> {
    async fn restored(&self, managed: ManagedFields, stored: ManagedFields) -> ManagedFields {
        let is_converted = self.request.served.resource.strategy.converter().is_some();
        let (frozen, stored) = if is_converted {
            let frozen = self.frozen_fields(&managed, &stored).await;
            let stored = self.in_written_versions(&managed, stored, &frozen).await;
            (frozen, stored)
        } else {
            (FrozenFields::new(), stored)
        };
        managed.restore_frozen_ownership(
            &stored,
            |version, fields| self.frozen(&frozen, version, fields),
            |version, fields| self.present(version, fields),
        )
    }

    /// Gated fields among the given ones, in a version.
    fn frozen(&self, frozen: &FrozenFields, version: &str, fields: &Set) -> Set {
        if self.request.has_paths(version) {
            return self.gates.frozen(fields);
        }
        let frozen = frozen.get(version);
        frozen.map_or_else(Set::default, |frozen| {
            fields.difference(&fields.without(frozen))
        })
    }

    /// Subset of fields that exist in the object. For a version under a conversion webhook all are returned, since
    /// their positions in the object are unknown.
    fn present(&self, version: &str, fields: Set) -> Set {
        if !self.request.has_paths(version) {
            return fields;
        }
        let next = self.step.stored.as_ref().unwrap_or(self.object);
        fields.present_in(next.as_value())
    }

    /// Computes the gated fields of versions whose `managedFields` entries differ from the stored ones.
    async fn frozen_fields(&self, managed: &ManagedFields, stored: &ManagedFields) -> FrozenFields {
        let mut found = FrozenFields::new();
        let own = self.request.api_version();
        if !self.request.has_paths(&own) {
            let changed = self
                .live
                .map(|live| self.request.difference(live, self.object));
            let restored = self.step.changed.without(&changed.unwrap_or_default());
            found.insert(own, restored);
        }
        let without_closed = self
            .stored()
            .and_then(|stored| self.gates.without_closed_fields(stored.as_value()));
        let Some(without_closed) =
            without_closed.and_then(|without_closed| Object::from_value(without_closed).ok())
        else {
            return found;
        };
        for version in differing(managed, stored) {
            if self.request.has_paths(version) {
                continue;
            }
            if let Some(frozen) = self.frozen_fields_in(version, &without_closed).await {
                let all = found.entry(version.to_owned()).or_default();
                *all = all.union(&frozen);
            }
        }
        found
    }

    async fn frozen_fields_in(&self, version: &str, without_closed: &Object) -> Option<Set> {
        let next = self.step.stored.as_ref().unwrap_or(self.object);
        let objects = [self.stored()?.clone(), without_closed.clone(), next.clone()];
        let [stored, without_closed, next] = self.converted(&objects, version).await?;
        let resource = &self.request.served.resource;
        let of_version = resource
            .strategy
            .merge_type(resource.version_of(version)?)?;
        let states = ObjectStates {
            stored: stored.as_value(),
            without_closed: without_closed.as_value(),
            next: next.as_value(),
        };
        Some(frozen_in_version(of_version, states))
    }

    /// Converts stored `managedFields` entries, reduced to gated fields, to the versions that their managers now
    /// write.
    async fn in_written_versions(
        &self,
        managed: &ManagedFields,
        mut stored: ManagedFields,
        frozen: &FrozenFields,
    ) -> ManagedFields {
        let moved = managed.entries().filter_map(|(owner, entry)| {
            let before = stored.entry(owner)?;
            let (from, to) = (&before.api_version, &entry.api_version);
            let is_same =
                from == to || (self.request.has_paths(from) && self.request.has_paths(to));
            (!is_same).then(|| (owner.clone(), before.clone(), to.clone()))
        });
        let moved: Vec<_> = moved.collect();
        for (at, (owner, before, to)) in moved.into_iter().enumerate() {
            let frozen = self.frozen(frozen, &before.api_version, &before.fields);
            let mut fields = None;
            if at < MOVED_MAX && !frozen.is_empty() {
                fields = self.counterpart(&frozen, &before.api_version, &to).await;
            }
            let entry = ManagedFieldsEntry {
                api_version: to,
                fields: fields.unwrap_or_default(),
                time: before.time,
            };
            stored.insert(owner, entry);
        }
        stored
    }

    /// Maps fields of one version to another: the fields that change if the object is converted without them.
    async fn counterpart(&self, fields: &Set, from: &str, to: &str) -> Option<Set> {
        let resource = &self.request.served.resource;
        let (from_version, to_version) = (resource.version_of(from)?, resource.version_of(to)?);
        let stored = self.stored()?.clone();
        let whole = if from_version == resource.encoding_version().index() {
            stored
        } else {
            let [whole] = self.converted(&[stored], from).await?;
            whole
        };
        let less = resource.strategy.merge_type(from_version)?;
        let less = less.without(whole.as_value(), fields);
        let objects = [whole, Object::from_value(less).ok()?];
        let [whole, less] = self.converted(&objects, to).await?;
        let of_version = resource.strategy.merge_type(to_version)?;
        Some(difference(of_version, whole.as_value(), less.as_value()))
    }

    /// Current object in the encoding version.
    fn stored(&self) -> Option<&Object> {
        self.step.replaced.as_ref().or(self.live)
    }

    /// Converts objects by webhook, without defaulting. `None` if the webhook fails: it may reject an artificial
    /// object that was never stored, and that must not fail the write.
    async fn converted<const N: usize>(
        &self,
        objects: &[Object; N],
        version: &str,
    ) -> Option<[Object; N]> {
        let resource = &self.request.served.resource;
        resource.strategy.converter()?;
        let made = self
            .request
            .io()
            .convert(resource, objects.to_vec(), version)
            .await;
        made.ok()?.try_into().ok()
    }
}

/// Versions of the `managedFields` entries that differ between two states.
fn differing<'m>(now: &'m ManagedFields, before: &'m ManagedFields) -> BTreeSet<&'m str> {
    let others = |entries: &'m ManagedFields, other: &'m ManagedFields| {
        let others = entries.entries().filter(move |(owner, entry)| {
            other.entry(owner).is_none_or(|same| {
                (&same.api_version, &same.fields) != (&entry.api_version, &entry.fields)
            })
        });
        others.map(|(_, entry)| entry.api_version.as_str())
    };
    others(now, before).chain(others(before, now)).collect()
}
