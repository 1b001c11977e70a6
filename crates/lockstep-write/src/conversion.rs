//! Conversion of stored objects between versions by CRD conversion webhooks.
//!
//! A converted object has the layout of stored bytes, so that the code behind conversion does not distinguish the
//! two. Its fields are those of the requested version, while its `apiVersion` names the stored one: this mismatch
//! marks it as converted. Objects of resources without a webhook, and objects stored in the requested version, pass
//! unchanged.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_catalog::VersionIndex;
use lockstep_mvcc::{KeyValue, Revision};
use lockstep_object::{ApiError, Object as ApiObject, json};
use serde::Deserialize;

use super::codec::{Current, encode, parse, serve};
use super::io::Io;
use super::{InFlight, Resource, Served, StoredAs};
use crate::stored::Layout;

/// The maximum number of objects in one call of a conversion webhook.
pub const CALL_OBJECTS_MAX: usize = 500;
/// The maximum size of all objects in one call, unless a single object is larger.
const CALL_BYTES_MAX: usize = 4 << 20;

/// Calls of conversion webhooks: through the driver of a write, or directly where reads are served.
pub trait Convert: Sync {
    /// Converts objects of one version to another, preserving their order.
    fn convert(
        &self,
        resource: &Arc<Resource>,
        objects: Vec<ApiObject>,
        desired: &str,
    ) -> impl Future<Output = Result<Vec<ApiObject>, ApiError>> + Send;
}

impl Convert for Io {
    async fn convert(
        &self,
        resource: &Arc<Resource>,
        objects: Vec<ApiObject>,
        desired: &str,
    ) -> Result<Vec<ApiObject>, ApiError> {
        Io::convert(self, resource, objects, desired).await
    }
}

/// Calls the webhook directly; for read requests, and for the driver of writes.
pub struct Direct;

impl Convert for Direct {
    async fn convert(
        &self,
        resource: &Arc<Resource>,
        objects: Vec<ApiObject>,
        desired: &str,
    ) -> Result<Vec<ApiObject>, ApiError> {
        let converter = resource.strategy.converter().ok_or_else(unreadable)?;
        converter.convert(&objects, desired).await
    }
}

/// Conversion between the stored bytes of a resource and the version that a request is made in.
#[expect(
    async_fn_in_trait,
    reason = "implemented for `Served` alone: callers see the type, and with it that its futures are Send"
)]
pub trait ServedVersion {
    /// Converts stored bytes to this version.
    async fn converted(&self, via: &impl Convert, value: Bytes) -> Result<Bytes, ApiError>;

    /// Converts those of the stored values that are in another version, with as few webhook calls as possible. Returns
    /// their indexes and the converted bytes.
    async fn converted_all(
        &self,
        via: &impl Convert,
        values: &[Bytes],
    ) -> Result<Vec<(usize, Bytes)>, ApiError>;

    /// Encodes an object of this version for storage.
    async fn to_stored(&self, via: &impl Convert, object: ApiObject) -> Result<Bytes, ApiError>;

    /// Converts an object of this version to the encoding version, and removes its resource version.
    async fn in_storage(
        &self,
        via: &impl Convert,
        object: ApiObject,
    ) -> Result<ApiObject, ApiError>;

    /// Converts an object to this version from another one, or from another resource with the same bucket.
    async fn adopt(&self, via: &impl Convert, object: &mut ApiObject) -> Result<(), ApiError>;

    /// Converts stored bytes to this version and prints them with a revision.
    async fn shown(
        &self,
        via: &impl Convert,
        value: Bytes,
        at: Revision,
    ) -> Result<Vec<u8>, ApiError>;
}

impl ServedVersion for Served {
    async fn converted(&self, via: &impl Convert, value: Bytes) -> Result<Bytes, ApiError> {
        if !self.has_webhook() || is_in_version(self, &value) {
            return Ok(value);
        }
        // Boxed to keep the future small: most requests need no conversion.
        let mut made = Box::pin(convert_batch(self, via, &[value])).await?;
        made.pop().ok_or_else(unreadable)
    }

    async fn converted_all(
        &self,
        via: &impl Convert,
        values: &[Bytes],
    ) -> Result<Vec<(usize, Bytes)>, ApiError> {
        if !self.has_webhook() {
            return Ok(Vec::new());
        }
        let others: Vec<usize> = (0..values.len())
            .filter(|at| !is_in_version(self, &values[*at]))
            .collect();
        let mut converted = Vec::with_capacity(others.len());
        for batch in batches(&others, |at| values[at].len()) {
            let stored: Vec<Bytes> = batch.iter().map(|at| values[*at].clone()).collect();
            let made = convert_batch(self, via, &stored).await?;
            converted.extend(batch.into_iter().zip(made));
        }
        Ok(converted)
    }

    async fn to_stored(&self, via: &impl Convert, object: ApiObject) -> Result<Bytes, ApiError> {
        let mut object = self.in_storage(via, object).await?;
        encode(
            &self.resource,
            self.resource.encoding_version().index(),
            &mut object,
        )
    }

    async fn in_storage(
        &self,
        via: &impl Convert,
        mut object: ApiObject,
    ) -> Result<ApiObject, ApiError> {
        let resource = &self.resource;
        let (requested, storage) = (self.version, resource.encoding_version().index());
        object.set_meta_text("resourceVersion", "");
        if requested == storage {
            return Ok(object);
        }
        let strategy = &resource.strategy;
        if self.has_webhook() {
            let desired = resource.api_version(storage);
            let made = via.convert(resource, vec![object], &desired).await?;
            object = made.into_iter().next().ok_or_else(unreadable)?;
            strategy.prune_and_default(storage, &mut object, None);
        } else if !strategy.has_same_schema(requested, storage) {
            strategy.prune_and_default(storage, &mut object, None);
        }
        let api_version = resource.api_version(storage);
        let fields = object.fields_mut();
        fields.insert("apiVersion".to_owned(), api_version.into());
        Ok(object)
    }

    async fn adopt(&self, via: &impl Convert, object: &mut ApiObject) -> Result<(), ApiError> {
        let (resource, gvk) = (&self.resource, self.gvk());
        let desired = resource.api_version(self.version);
        if object.api_version() == desired {
            return Ok(());
        }
        let strategy = &resource.strategy;
        match (
            self.has_webhook(),
            resource.version_of(object.api_version()),
        ) {
            (true, Some(_)) => {
                let made = via
                    .convert(resource, vec![object.clone()], &desired)
                    .await?;
                *object = made.into_iter().next().ok_or_else(unreadable)?;
            }
            (_, Some(_)) => object.set_gvk(&gvk),
            (_, None) => {
                if let Some(form) = foreign_stored_form(self, object) {
                    (form.write)(object);
                }
                object.set_gvk(&gvk);
            }
        }
        strategy.prune_and_default(self.version, object, None);
        Ok(())
    }

    async fn shown(
        &self,
        via: &impl Convert,
        value: Bytes,
        at: Revision,
    ) -> Result<Vec<u8>, ApiError> {
        let value = self.converted(via, value).await?;
        let mut out = Vec::with_capacity(value.len() + 64);
        serve(self, &value, at, false, &mut out)?;
        Ok(out)
    }
}

/// Storage form of an object of another resource that shares this resource's bucket.
fn foreign_stored_form(served: &Served, object: &ApiObject) -> Option<StoredAs> {
    let form = lockstep_catalog::builtin::stored_as(object.api_version(), object.kind())?;
    let is_here = *form.group == *served.resource.group;
    is_here.then_some(form)
}

/// True if bytes are stored in the served version.
fn is_in_version(served: &Served, value: &[u8]) -> bool {
    stored_version(&served.resource, value) == Some(served.version)
}

/// Converts a batch with one webhook call.
async fn convert_batch(
    served: &Served,
    via: &impl Convert,
    values: &[Bytes],
) -> Result<Vec<Bytes>, ApiError> {
    let resource = &served.resource;
    let mut objects = Vec::with_capacity(values.len());
    let mut stored = Vec::with_capacity(values.len());
    for value in values {
        let mut object = read(value)?;
        let from = resource.version_of(object.api_version()).ok_or_else(|| {
            ApiError::ConversionFailed(format!(
                "request to convert CR from an invalid group/version: {}",
                object.api_version()
            ))
        })?;
        resource.strategy.prune_and_default(from, &mut object, None);
        objects.push(object);
        stored.push(from);
    }
    let desired = resource.api_version(served.version);
    let made = via.convert(resource, objects, &desired).await?;
    let fitted = made.into_iter().zip(stored).map(|(mut object, from)| {
        resource.strategy.fit(served.version, &mut object);
        encode(resource, from, &mut object)
    });
    fitted.collect()
}

/// Decodes a stored object for a change of its metadata alone, and selects the version to write it back in: the
/// stored one if another would require a conversion webhook, else the current encoding version.
pub(super) fn decode_for_rewrite(
    resource: &Arc<Resource>,
    stored: &KeyValue,
) -> Result<(Served, Current), ApiError> {
    let rewritten = served_for_rewrite(resource, &stored.value);
    let current = Current {
        object: parse(&rewritten, &stored.value, stored.mod_revision)?,
        revision: stored.mod_revision,
        value: stored.value.clone(),
    };
    Ok((rewritten, current))
}

/// Version that [`decode_for_rewrite`] selects, without decoding the object.
pub(crate) fn served_for_rewrite(resource: &Arc<Resource>, value: &[u8]) -> Served {
    let stored = stored_version(resource, value);
    Served {
        resource: Arc::clone(resource),
        version: rewrite_version(resource, stored),
    }
}

/// Version that `decode_for_rewrite` selects for an object with this `apiVersion`.
pub(super) fn rewrite_version_of(resource: &Resource, api_version: &str) -> VersionIndex {
    rewrite_version(resource, resource.version_of(api_version))
}

fn rewrite_version(resource: &Resource, stored: Option<VersionIndex>) -> VersionIndex {
    let own = stored.filter(|_| resource.strategy.converter().is_some());
    own.unwrap_or(resource.encoding_version().index())
}

impl InFlight<'_> {
    /// True if the next state, in a version other than the stored one, equals the current state. Such a write skips
    /// conversion, since a no-op must not lose fields that the requested version cannot express.
    pub(super) fn is_unchanged_in_other_version(
        &self,
        next: &ApiObject,
        current: &Current,
    ) -> bool {
        if self.served.version == self.served.resource.encoding_version().index() {
            return false;
        }
        let mut next = next.clone();
        next.set_meta_text("resourceVersion", "");
        next == current.object
    }

    /// Re-encodes a stored object in the current encoding version with current defaults.
    pub(super) async fn reencoded(&self, current: &Current) -> Result<Bytes, ApiError> {
        let resource = &self.served.resource;
        let is_settled = current.revision > resource.schema_revision
            && stored_version(resource, &current.value)
                == Some(resource.encoding_version().index());
        if is_settled {
            return Ok(current.value.clone());
        }
        let mut object = self.current_in_storage(current).await?;
        object.set_meta_text("resourceVersion", "");
        encode(resource, resource.encoding_version().index(), &mut object)
    }
}

/// Version of stored bytes; `None` if the resource does not define it.
pub(super) fn stored_version(resource: &Resource, value: &[u8]) -> Option<VersionIndex> {
    #[derive(Deserialize)]
    struct Versioned {
        #[serde(rename = "apiVersion")]
        api_version: String,
    }
    if let Ok(layout) = Layout::of(value) {
        return resource.version_of(layout.api_version);
    }
    let stored: Versioned = serde_json::from_slice(value).ok()?;
    resource.version_of(&stored.api_version)
}

fn read(value: &[u8]) -> Result<ApiObject, ApiError> {
    let decoded = json::decode(value).map_err(|_| unreadable())?;
    ApiObject::from_value(decoded.value).map_err(|_| unreadable())
}

pub(super) fn unreadable() -> ApiError {
    ApiError::internal("the stored object cannot be read")
}

/// Groups indexes into batches that fit one webhook call.
fn batches(indexes: &[usize], size: impl Fn(usize) -> usize) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut bytes = 0;
    for &at in indexes {
        bytes += size(at);
        match batches.last_mut() {
            Some(batch) if batch.len() < CALL_OBJECTS_MAX && bytes <= CALL_BYTES_MAX => {
                batch.push(at);
            }
            _ => {
                bytes = size(at);
                batches.push(vec![at]);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_takes_so_many_objects_and_so_many_bytes_but_always_one() {
        let lengths = |count: usize, size: usize| -> Vec<usize> {
            let indexes: Vec<usize> = (0..count).collect();
            let made = batches(&indexes, |_| size);
            assert_eq!(made.concat(), indexes);
            made.iter().map(Vec::len).collect()
        };
        assert_eq!(lengths(0, 1), Vec::<usize>::new());
        assert_eq!(lengths(1200, 1), [500, 500, 200]);
        assert_eq!(lengths(9, 1 << 20), [4, 4, 1]);
        assert_eq!(lengths(2, 5 << 20), [1, 1]);
    }
}
