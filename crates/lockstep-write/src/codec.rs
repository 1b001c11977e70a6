//! Decoding and encoding of stored objects.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_catalog::VersionIndex;
use lockstep_mvcc::{KeyValue, Revision};
use lockstep_object::{ApiError, Object, json};

use super::commit::read_failed;
use super::conversion::{ServedVersion as _, stored_version, unreadable};
use super::{InFlight, Origin, Resource, Served, WritePath};
use crate::stored::{self, Layout, TypeMeta};

/// A stored object, parsed.
pub(super) struct Current {
    /// Object in the version of the request, without a resourceVersion.
    pub(super) object: Object,
    /// Revision of its last write.
    pub(super) revision: Revision,
    /// Stored bytes.
    pub(super) value: Bytes,
}

impl WritePath<'_> {
    /// Reads the current object that a request names; `None` if it does not exist.
    pub(super) async fn current(
        &self,
        request: &InFlight<'_>,
    ) -> Result<Option<Current>, ApiError> {
        let resource = &request.served.resource;
        let key = resource.object_key(&request.route.namespace, &request.route.name);
        let Some(found) = self.newest(resource, &key).await? else {
            return Ok(None);
        };
        let value = found.value.clone();
        let shown = request.served.converted(self.io, value.clone()).await?;
        Ok(Some(Current {
            object: parse_to_change(&request.served, &shown, found.mod_revision)?,
            revision: found.mod_revision,
            value,
        }))
    }

    /// Linearizable read of the bytes under a key.
    pub(super) async fn newest(
        &self,
        resource: &Arc<Resource>,
        key: &str,
    ) -> Result<Option<Arc<KeyValue>>, ApiError> {
        let found = self.io.read(resource, key).await;
        found.map_err(|failure| read_failed(&failure))
    }
}

/// Decodes stored bytes in the requested version, with the defaults of the stored version. A conversion webhook, if
/// any, must have run before.
pub fn parse(served: &Served, value: &[u8], revision: Revision) -> Result<Object, ApiError> {
    let decoded = json::decode(value).map_err(|_| unreadable())?;
    let mut object = Object::from_value(decoded.value).map_err(|_| unreadable())?;
    let (resource, version) = (&served.resource, served.version);
    let from = resource.version_of(object.api_version());
    if from != Some(version) {
        let api_version = resource.api_version(version);
        let fields = object.fields_mut();
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    let strategy = &resource.strategy;
    let is_old = revision <= resource.schema_revision;
    match from {
        // `converted` has already applied the schema to a webhook's result.
        Some(from) if from != version && strategy.converter().is_some() => {}
        Some(from) if !strategy.has_same_schema(from, version) => {
            if is_old {
                strategy.prune_and_default(from, &mut object, None);
            }
            strategy.fit(version, &mut object);
        }
        Some(_) if !is_old => {}
        // Objects stored as another kind are neither pruned nor defaulted for this one.
        Some(_) | None => {
            strategy.prune_and_default(version, &mut object, None);
        }
    }
    Ok(object)
}

/// Variant of `parse` for updates: also applies the defaults of the requested version, so that an update without
/// changes is recognized as a no-op.
pub(super) fn parse_to_change(
    served: &Served,
    value: &[u8],
    revision: Revision,
) -> Result<Object, ApiError> {
    let mut object = parse(served, value, revision)?;
    let (resource, version) = (&served.resource, served.version);
    if resource.origin == Origin::Custom && stored_version(resource, value) != Some(version) {
        resource
            .strategy
            .prune_and_default(version, &mut object, None);
    }
    Ok(object)
}

/// Encodes an object for storage in one of its versions.
pub(super) fn encode(
    resource: &Resource,
    version: VersionIndex,
    object: &mut Object,
) -> Result<Bytes, ApiError> {
    let api_version = match resource.strategy.stored_as() {
        None => resource.api_version(version),
        Some(form) => {
            (form.write)(object);
            form.api_version()
        }
    };
    let fields = object.fields_mut();
    fields.insert("apiVersion".to_owned(), api_version.into());
    let bytes = stored::encode(object.fields(), json::encode_into);
    let bytes = bytes.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(bytes.into())
}

/// Prints stored bytes in the requested version. A conversion webhook, if any, must have run before. Avoids parsing
/// where the stored layout permits it.
pub fn serve(
    served: &Served,
    value: &Bytes,
    revision: Revision,
    is_item: bool,
    out: &mut Vec<u8>,
) -> Result<(), ApiError> {
    let resource = &served.resource;
    if revision <= resource.schema_revision {
        return serve_shaped(served, value, revision, is_item, out);
    }
    let Ok(layout) = Layout::of(value) else {
        return serve_shaped(served, value, revision, is_item, out);
    };
    if resource.versions.len() > 1 && resource.strategy.converter().is_none() {
        let from = resource.version_of(layout.api_version);
        if from.is_some_and(|from| !resource.strategy.has_same_schema(from, served.version)) {
            return serve_shaped(served, value, revision, is_item, out);
        }
    }
    let type_meta = if is_item && resource.origin == Origin::BuiltIn {
        TypeMeta::Omitted
    } else {
        TypeMeta::Served {
            group: &resource.group,
            version: &resource.versions[served.version].name,
            kind: &resource.kind,
        }
    };
    layout.serve(type_meta, revision, out);
    Ok(())
}

/// Slow path of `serve`, which parses the object.
fn serve_shaped(
    served: &Served,
    value: &Bytes,
    revision: Revision,
    is_item: bool,
    out: &mut Vec<u8>,
) -> Result<(), ApiError> {
    let mut object = parse(served, value, revision)?;
    object.set_meta_text("resourceVersion", &revision.0.to_string());
    if is_item && served.resource.origin == Origin::BuiltIn {
        object.fields_mut().remove("apiVersion");
        object.fields_mut().remove("kind");
    }
    json::encode_into(object.as_value(), out);
    Ok(())
}
