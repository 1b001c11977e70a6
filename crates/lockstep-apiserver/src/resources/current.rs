//! Objects as they are now, for those who change or serve them.

use std::sync::Arc;

use bytes::Bytes;
use lockstep_object::{Object, Status, json};
use lockstep_storage::{Consistency, Key, KeyRange, KeyValue, Range, Revision};

use super::commit::read_failed;
use super::{Api, Request, Resource, Served};
use crate::stored::{self, Layout, TypeMeta};

/// A stored object, parsed.
pub(super) struct Current {
    /// In the version of the request, without a resource version.
    pub(super) object: Object,
    /// The revision that left it.
    pub(super) revision: Revision,
    /// The bytes as stored.
    pub(super) value: Bytes,
}

impl Api {
    /// The newest state of the object that a request names; none if there is none.
    pub(super) async fn current(&self, request: &Request<'_>) -> Result<Option<Current>, Status> {
        let resource = &request.served.resource;
        let key = resource.object_key(&request.route.namespace, &request.route.name);
        let found = self.newest(resource, &key).await?;
        let parse = |kv: Arc<KeyValue>| parse(&request.served, kv.value.clone(), kv.mod_revision);
        found.map(parse).transpose()
    }

    /// The newest stored bytes under a key.
    pub(super) async fn newest(
        &self,
        resource: &Resource,
        key: &str,
    ) -> Result<Option<Arc<KeyValue>>, Status> {
        let key = Key::new(resource.store_key(&self.prefix, key))
            .expect("a key of the store has the server's prefix");
        let range = Range::new(KeyRange::single(key));
        let found = self.store.range(range, Consistency::Linearizable).await;
        let found = found.map_err(|failure| read_failed(&failure))?;
        Ok(found.kvs.into_iter().next())
    }

    /// 404 for the object that a request names.
    pub(super) fn not_found(request: &Request<'_>) -> Status {
        let resource = request.served.resource.group_resource();
        Status::not_found(&resource, &request.route.name)
    }
}

/// Reads stored bytes as an object of the version that is asked for.
pub(super) fn parse(served: &Served, value: Bytes, revision: Revision) -> Result<Current, Status> {
    let broken = || Status::internal_error("the stored object cannot be read");
    let decoded = json::decode(&value).map_err(|_| broken())?;
    let mut object = Object::from_value(decoded.value).map_err(|_| broken())?;
    let resource = &served.resource;
    let api_version = resource.api_version(served.version);
    if object.api_version() != api_version {
        let fields = object.fields_mut();
        fields.insert("apiVersion".to_owned(), api_version.into());
    }
    if revision <= resource.shaped_since {
        resource.rules.shape(served.version, &mut object, None);
    }
    Ok(Current {
        object,
        revision,
        value,
    })
}

/// The bytes to store of an object in the version that is stored.
pub(super) fn to_stored(served: &Served, object: &mut Object) -> Result<Bytes, Status> {
    let resource = &served.resource;
    let api_version = resource.api_version(resource.storage);
    let fields = object.fields_mut();
    fields.insert("apiVersion".to_owned(), api_version.into());
    let bytes = stored::encode(object.fields(), json::encode_into);
    let bytes = bytes.map_err(|error| Status::internal_error(&error.to_string()))?;
    Ok(bytes.into())
}

/// Stored bytes as a client sees them in the version it asked for.
pub(super) fn serve(
    served: &Served,
    value: &Bytes,
    revision: Revision,
    is_item: bool,
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let resource = &served.resource;
    if revision <= resource.shaped_since {
        return serve_shaped(served, value, revision, is_item, out);
    }
    let Ok(layout) = Layout::of(value) else {
        return serve_shaped(served, value, revision, is_item, out);
    };
    let api_version = resource.api_version(served.version);
    let type_meta = if is_item && resource.origin == super::Origin::BuiltIn {
        TypeMeta::Omitted
    } else {
        TypeMeta::Served {
            api_version: &api_version,
            kind: &resource.kind,
        }
    };
    layout.serve(type_meta, revision, out);
    Ok(())
}

/// The same for bytes that have to be parsed.
fn serve_shaped(
    served: &Served,
    value: &Bytes,
    revision: Revision,
    is_item: bool,
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let mut object = parse(served, value.clone(), revision)?.object;
    object.set_meta_text("resourceVersion", &revision.0.to_string());
    if is_item && served.resource.origin == super::Origin::BuiltIn {
        object.fields_mut().remove("apiVersion");
        object.fields_mut().remove("kind");
    }
    json::encode_into(object.as_value(), out);
    Ok(())
}

/// One object as the answer to a request.
pub(super) fn served_bytes(
    served: &Served,
    value: &Bytes,
    revision: Revision,
) -> Result<Vec<u8>, Status> {
    let mut out = Vec::with_capacity(value.len() + 64);
    serve(served, value, revision, false, &mut out)?;
    Ok(out)
}
