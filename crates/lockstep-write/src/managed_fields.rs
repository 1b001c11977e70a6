//! Field ownership: computes the `managedFields` of written objects.

use std::cell::RefCell;
use std::collections::BTreeMap;

use lockstep_fieldgate::Gates;
use lockstep_merge::fields::{Element, Set};
use lockstep_merge::managers::{Endpoint, ManagedFields, UpdateError, Writer, update};
use lockstep_merge::typed::Comparison;
use lockstep_merge::types::Type;
use lockstep_object::{ApiError, Map, Object, Value, json};

use super::codec::Current;
use super::ownable::{empty, ownable};
use super::{InFlight, Origin, Subresource};

/// Maximal number of webhook conversions to the versions of `managedFields` entries, per write.
const CONVERSIONS_MAX: usize = 64;

/// Source of the `managedFields` of a write.
#[derive(Clone)]
pub(super) enum FieldOwnership {
    /// Computed: the writer becomes the owner of the fields that it changes.
    FromChange,
    /// Given, by server-side apply.
    FromApply(ManagedFields),
}

/// Cache of webhook conversions within one write.
#[derive(Default)]
pub(super) struct Conversions {
    known: BTreeMap<(Box<str>, Vec<u8>), Value>,
}

/// Implementation of `Endpoint` for one request.
pub(super) struct RequestEndpoint<'a> {
    request: &'a InFlight<'a>,
    subresource: Option<Subresource>,
    /// The current object in the encoding version, if field gates must be evaluated there.
    stored: Option<&'a Object>,
    conversions: &'a Conversions,
    missing: RefCell<Option<(Value, Box<str>)>>,
}

/// Reasons for which an object is not available in another version.
#[derive(Clone, Debug)]
pub(super) enum ConversionError {
    /// A conversion webhook must be called first.
    WebhookNeeded,
    /// The resource does not define the version.
    UnknownVersion,
}

impl Endpoint for RequestEndpoint<'_> {
    type Error = ConversionError;

    fn type_of(&self, api_version: &str) -> Option<Type<'_>> {
        let resource = &self.request.served.resource;
        let version = resource.version_of(api_version)?;
        let is_served = resource.versions[version].is_served;
        let strategy = &resource.strategy;
        is_served.then(|| strategy.merge_type(version)).flatten()
    }

    fn convert(&self, object: &Value, api_version: &str) -> Result<Value, ConversionError> {
        let resource = &self.request.served.resource;
        let version = resource.version_of(api_version);
        let version = version.ok_or(ConversionError::UnknownVersion)?;
        let mut converted =
            Object::from_value(object.clone()).map_err(|_| ConversionError::UnknownVersion)?;
        if resource.strategy.converter().is_some() {
            let key = (api_version.into(), json::encode(object));
            let known = self.conversions.known.get(&key).cloned();
            return known.ok_or_else(|| {
                *self.missing.borrow_mut() = Some((object.clone(), key.0));
                ConversionError::WebhookNeeded
            });
        }
        let fields = converted.fields_mut();
        fields.insert("apiVersion".to_owned(), api_version.into());
        resource
            .strategy
            .project_to_version(version, &mut converted);
        Ok(converted.into_value())
    }

    fn empty(&self, api_version: &str) -> Value {
        empty(&self.request.served.resource, api_version)
    }

    /// Restores gated fields before ownership is computed. Changes by mutating admission are not known at this point.
    fn with_frozen_fields(
        &self,
        live: &Value,
        next: &Value,
        change: &Comparison,
    ) -> Result<Option<Value>, ConversionError> {
        let resource = &self.request.served.resource;
        let Some(gates) = resource.strategy.gates() else {
            return Ok(None);
        };
        let own = self.request.api_version();
        if self.request.has_paths(&own) {
            let is_concerned = gates.concerns(change);
            return Ok(is_concerned
                .then(|| gated(gates, next.clone(), live))
                .flatten());
        }
        let Some(stored) = self.stored else {
            return Ok(None);
        };
        let mut shaped =
            Object::from_value(next.clone()).map_err(|_| ConversionError::UnknownVersion)?;
        let version = self.request.served.version;
        resource
            .strategy
            .prune_and_default(version, &mut shaped, None);
        let storage = resource.api_version(resource.encoding_version().index());
        let there = self.convert(shaped.as_value(), &storage)?;
        match gated(gates, there, stored.as_value()) {
            Some(there) => self.convert(&there, &own).map(Some),
            None => Ok(None),
        }
    }

    fn owned(&self, api_version: &str, fields: Set) -> Set {
        ownable(
            &self.request.served.resource,
            api_version,
            self.subresource,
            fields,
        )
    }
}

impl<'a> InFlight<'a> {
    /// Runs an ownership computation. Whenever it lacks an object in another version, calls the conversion webhook
    /// and restarts it.
    pub(super) async fn with_conversions<T, E>(
        &'a self,
        subresource: Option<Subresource>,
        current: Option<&Current>,
        run: impl Fn(&RequestEndpoint<'_>) -> Result<T, E>,
        is_missing: impl Fn(&E) -> bool,
    ) -> Result<Result<T, E>, ApiError> {
        let mut conversions = Conversions::default();
        let stored = match current {
            Some(current) if self.is_gated_elsewhere() => {
                Some(self.current_in_storage(current).await?)
            }
            _ => None,
        };
        for _ in 0..CONVERSIONS_MAX {
            let endpoint = RequestEndpoint {
                request: self,
                subresource,
                stored: stored.as_ref(),
                conversions: &conversions,
                missing: RefCell::new(None),
            };
            let outcome = run(&endpoint);
            let missing = endpoint.missing.take();
            match (outcome, missing) {
                (Err(error), Some((object, version))) if is_missing(&error) => {
                    let key = json::encode(&object);
                    let made = self.converted_for_ownership(object, &version).await?;
                    conversions.known.insert((version, key), made);
                }
                (outcome, _) => return Ok(outcome),
            }
        }
        Err(ApiError::internal(
            "managed fields are of too many versions",
        ))
    }

    /// True if field gates must be evaluated in another version, reached by a conversion webhook.
    fn is_gated_elsewhere(&self) -> bool {
        let has_gates = self.served.resource.strategy.gates().is_some();
        has_gates && !self.has_paths(&self.api_version())
    }

    async fn converted_for_ownership(
        &self,
        object: Value,
        version: &str,
    ) -> Result<Value, ApiError> {
        let resource = &self.served.resource;
        let unreadable = || ApiError::internal("an object cannot be converted");
        let object = Object::from_value(object).map_err(|_| unreadable())?;
        let made = self.io().convert(resource, vec![object], version).await?;
        let mut made = made.into_iter().next().ok_or_else(unreadable)?;
        if let Some(version) = resource.version_of(version) {
            resource.strategy.project_to_version(version, &mut made);
        }
        Ok(made.into_value())
    }

    /// Identity of a `managedFields` entry: manager, version and subresource.
    pub(super) fn writer<'w>(
        &'w self,
        manager: &'w str,
        api_version: &'w str,
        subresource: Option<Subresource>,
    ) -> Writer<'w> {
        Writer {
            manager,
            api_version,
            subresource: subresource.map_or("", Subresource::name),
            now: self.now,
        }
    }

    /// Sets the `managedFields` of a new object. Fields that the server set and the client did not give have no
    /// owner.
    pub(super) async fn set_managed_fields_of_new(
        &self,
        given: &Object,
        made: &mut Object,
        requested: &RequestedManagedFields,
        ownership: &FieldOwnership,
    ) -> Result<(), ApiError> {
        let managed = match (ownership, requested) {
            (FieldOwnership::FromApply(managed), _) => managed.clone(),
            (FieldOwnership::FromChange, requested) => {
                let mut owned = made.clone();
                for path in self.served.resource.strategy.server_fields() {
                    if given.at(path).is_none() {
                        remove(owned.fields_mut(), path);
                    }
                }
                let before = match requested {
                    RequestedManagedFields::Entries(managed) => managed.clone(),
                    RequestedManagedFields::KeepStored => ManagedFields::default(),
                };
                self.track(None, None, &owned, before).await?
            }
        };
        write_managed_fields(made, managed.write());
        Ok(())
    }

    /// Sets the `managedFields` of an updated object. `requested` are the entries that the client sent.
    pub(super) async fn set_managed_fields(
        &self,
        subresource: Option<Subresource>,
        current: &Current,
        object: &mut Object,
        requested: RequestedManagedFields,
        ownership: FieldOwnership,
    ) -> Result<(), ApiError> {
        let live = Some(&current.object);
        let keeps_stored = match subresource {
            Some(Subresource::Binding) => true,
            Some(Subresource::Scale) => {
                self.served.resource.origin == Origin::Custom
                    || !has_replicas(&stored_managed_fields(live))
            }
            _ => false,
        };
        let managed = match ownership {
            FieldOwnership::FromApply(managed) => managed,
            FieldOwnership::FromChange if keeps_stored => stored_managed_fields(live),
            FieldOwnership::FromChange => {
                let before = match requested {
                    RequestedManagedFields::Entries(managed) if subresource.is_none() => managed,
                    RequestedManagedFields::Entries(_) | RequestedManagedFields::KeepStored => {
                        stored_managed_fields(live)
                    }
                };
                self.track(subresource, Some(current), object, before)
                    .await?
            }
        };
        write_managed_fields(object, encode_managed_fields(live, object, &managed));
        Ok(())
    }

    /// Computes `managedFields` for an update: changed fields become the writer's. If the object does not match its
    /// type, the result is empty.
    async fn track(
        &self,
        subresource: Option<Subresource>,
        current: Option<&Current>,
        object: &Object,
        before: ManagedFields,
    ) -> Result<ManagedFields, ApiError> {
        let manager = &self.options.field_manager;
        let served = &self.served;
        let api_version = served.resource.api_version(served.version);
        let writer = self.writer(manager, &api_version, subresource);
        let live = current.map(|current| current.object.as_value());
        let run = |endpoint: &RequestEndpoint<'_>| {
            update(endpoint, live, object.as_value(), before.clone(), &writer)
        };
        let is_missing =
            |error: &_| matches!(error, UpdateError::Convert(ConversionError::WebhookNeeded));
        let tracked = self
            .with_conversions(subresource, current, run, is_missing)
            .await?;
        Ok(tracked.unwrap_or_default())
    }
}

/// Applies field gates to the next state; `None` if no disabled gate changed it.
fn gated(gates: &Gates, mut next: Value, stored: &Value) -> Option<Value> {
    let actions = gates.apply(&mut next, Some(stored));
    let is_other = actions.iter().any(|action| action.kind.is_of_closed());
    is_other.then_some(next)
}

/// `managedFields` in the body of a request.
#[derive(Clone)]
pub(super) enum RequestedManagedFields {
    /// Absent or invalid: the stored entries apply.
    KeepStored,
    /// Valid entries; empty for a reset.
    Entries(ManagedFields),
}

/// Removes and parses `managedFields` of an incoming object. An empty list, or a single empty entry, resets all
/// ownership.
pub(super) fn take_requested_managed_fields(object: &mut Object) -> RequestedManagedFields {
    let Some(Value::Array(entries)) = object.metadata_mut().remove("managedFields") else {
        return RequestedManagedFields::KeepStored;
    };
    let is_empty = |entry: &Value| entry.as_object().is_some_and(Map::is_empty);
    match &*entries {
        [] => return RequestedManagedFields::Entries(ManagedFields::default()),
        [only] if is_empty(only) => {
            return RequestedManagedFields::Entries(ManagedFields::default());
        }
        _ => {}
    }
    match ManagedFields::read(&entries) {
        Ok(managed) if !managed.is_empty() => RequestedManagedFields::Entries(managed),
        _ => RequestedManagedFields::KeepStored,
    }
}

/// True if `spec.replicas` has an owner. Without one, a write to `/scale` of a built-in kind does not change
/// ownership.
fn has_replicas(managed: &ManagedFields) -> bool {
    let path = ["spec", "replicas"].map(Element::field);
    managed.entries().any(|(_, entry)| entry.fields.has(&path))
}

/// Parses the `managedFields` of a stored object; empty if they are invalid.
pub(super) fn stored_managed_fields(live: Option<&Object>) -> ManagedFields {
    let entries = live.map(Object::managed_fields).unwrap_or_default();
    ManagedFields::read(entries).unwrap_or_default()
}

/// Encodes `managedFields`. If only timestamps would change, the stored entries stay.
pub(super) fn encode_managed_fields(
    live: Option<&Object>,
    object: &Object,
    managed: &ManagedFields,
) -> Vec<Value> {
    let is_as_it_was = live.is_some_and(|live| {
        is_same(live, object)
            && without_times(managed) == without_times(&stored_managed_fields(Some(live)))
    });
    match live {
        Some(live) if is_as_it_was => live.managed_fields().to_vec(),
        _ => managed.write(),
    }
}

/// Nesting levels around a `managedFields` entry: the object, its metadata, the list.
const LEVELS_AROUND: usize = 3;

/// Sets `managedFields`, or drops them if they nest too deeply to be decoded again: storing the object takes
/// precedence.
pub(super) fn write_managed_fields(object: &mut Object, entries: Vec<Value>) {
    let metadata = object.metadata_mut();
    let deepest = entries.iter().map(json::depth).max().unwrap_or_default();
    if entries.is_empty() || deepest + LEVELS_AROUND > json::DEPTH_MAX {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), entries.into());
    }
}

/// Removes a field, and the maps that become empty by that.
pub(super) fn remove(fields: &mut Map<String, Value>, path: &[&str]) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if let (Some(Value::Object(inner)), false) = (fields.get_mut(*first), rest.is_empty()) {
        remove(inner, rest);
        if !inner.is_empty() {
            return;
        }
    }
    fields.remove(*first);
}

/// True if two objects differ at most in `managedFields` and `resourceVersion`.
fn is_same(one: &Object, other: &Object) -> bool {
    fn content(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
        let fields = object.fields().iter();
        fields.filter(|(name, _)| *name != "metadata")
    }
    fn metadata(object: &Object) -> impl Iterator<Item = (&String, &Value)> {
        let metadata = object.metadata().iter();
        metadata.filter(|(name, _)| !matches!(name.as_str(), "managedFields" | "resourceVersion"))
    }
    content(one).eq(content(other)) && metadata(one).eq(metadata(other))
}

fn without_times(managed: &ManagedFields) -> Vec<Value> {
    let mut entries = managed.write();
    for entry in &mut entries {
        if let Some(entry) = entry.as_object_mut() {
            entry.remove("time");
        }
    }
    entries.sort_by_key(ToString::to_string);
    entries
}
