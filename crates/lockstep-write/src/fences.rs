//! Fences of a create: its namespace and CRD must exist and not be terminating until the commit.

use lockstep_mvcc::{Fence, Key, KeyValue};
use lockstep_object::{ApiError, Object};

use super::{InFlight, Origin, WritePath};
use lockstep_catalog::crd;

/// Source of the CRD's state when an object is created.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CrdCheck {
    /// The registry, which may be stale: the transaction fails if the CRD has changed since.
    AsServed,
    /// The store: a fence failed, so the registry may be stale.
    FromStore,
}

impl WritePath<'_> {
    /// Rejects a create in a terminating namespace or of a terminating CRD, and returns fences on both. The fences
    /// make the transaction fail if another server changed either of them in between.
    pub(super) async fn fence_namespace_and_crd(
        &self,
        request: &InFlight<'_>,
        name: &str,
        check: CrdCheck,
    ) -> Result<Vec<Fence>, ApiError> {
        let definition = match check {
            CrdCheck::AsServed => self.definition_as_served(request, name)?,
            CrdCheck::FromStore => self.check_definition_is_open(request, name).await?,
        };
        let namespace = self.check_namespace_is_open(request, name).await?;
        Ok(namespace.into_iter().chain(definition).collect())
    }

    async fn check_namespace_is_open(
        &self,
        request: &InFlight<'_>,
        name: &str,
    ) -> Result<Option<Fence>, ApiError> {
        let (served, namespace) = (&request.served, request.route.namespace.as_str());
        let registry = self.registry();
        let namespaces = registry.resource("", "namespaces");
        let Some(namespaces) = namespaces.filter(|_| served.resource.is_namespaced()) else {
            return Ok(None);
        };
        let found = self.newest(namespaces, namespace).await?;
        let found =
            found.ok_or_else(|| ApiError::not_found(&namespaces.group_resource(), namespace))?;
        if is_terminating(&found) {
            let resource = served.resource.group_resource();
            return Err(ApiError::namespace_terminating(&resource, name, namespace));
        }
        Ok(fence(&found))
    }

    /// Fence on the CRD at the revision in the registry. No read of the store: the transaction detects a stale
    /// registry.
    fn definition_as_served(
        &self,
        request: &InFlight<'_>,
        name: &str,
    ) -> Result<Option<Fence>, ApiError> {
        let resource = &request.served.resource;
        if resource.is_terminating {
            return Err(terminating(request, name));
        }
        let registry = self.registry();
        let definitions = registry.resource(crd::GROUP, crd::PLURAL);
        let Some(definitions) = definitions.filter(|_| resource.origin == Origin::Custom) else {
            return Ok(None);
        };
        let key = definitions.store_key(self.env.prefix(), &definition_name(request));
        let at = resource.schema_revision;
        Ok(Key::new(key).ok().map(|key| Fence { key, at }))
    }

    /// Reads the CRD from the store. 503 if it was deleted and recreated, until the registry has followed.
    async fn check_definition_is_open(
        &self,
        request: &InFlight<'_>,
        name: &str,
    ) -> Result<Option<Fence>, ApiError> {
        let resource = &request.served.resource;
        let registry = self.registry();
        let definitions = registry.resource(crd::GROUP, crd::PLURAL);
        let Some(definitions) = definitions.filter(|_| resource.origin == Origin::Custom) else {
            return Ok(None);
        };
        let found = self.newest(definitions, &definition_name(request)).await?;
        let found = found.ok_or(ApiError::NoSuchResource)?;
        if is_terminating(&found) {
            return Err(terminating(request, name));
        }
        if found.create_revision > resource.schema_revision {
            // The registry still has the schema of the deleted CRD.
            let why = "the custom resource definition was recreated";
            return Err(ApiError::service_unavailable(why, 1));
        }
        Ok(fence(&found))
    }
}

fn definition_name(request: &InFlight<'_>) -> String {
    let resource = &request.served.resource;
    format!("{}.{}", resource.plural, resource.group)
}

fn terminating(request: &InFlight<'_>, name: &str) -> ApiError {
    let resource = request.served.resource.group_resource();
    let why = "create not allowed while custom resource definition is terminating";
    ApiError::forbidden(&resource, name, why)
}

fn fence(found: &KeyValue) -> Option<Fence> {
    let key = Key::new(found.key.clone()).ok()?;
    let at = found.mod_revision;
    Some(Fence { key, at })
}

fn is_terminating(found: &KeyValue) -> bool {
    let object = Object::read(&found.value);
    object.is_some_and(|object| object.deletion_timestamp().is_some())
}
