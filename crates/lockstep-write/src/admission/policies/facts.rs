//! Facts that policies see of a cluster, from the watch cache.

use std::sync::Arc;

use lockstep_admission::facts::{Facts, ParamKind, ParamResource};
use lockstep_admission::set::Lookups;
use lockstep_catalog::{Origin, Registry, Served};
use lockstep_cel::authorizer::Authorization;
use lockstep_object::metadata::Scope;
use lockstep_object::{ApiError, Object, Value};

use super::super::super::codec::parse;
use super::super::super::conversion::ServedVersion as _;
use super::super::super::{CachedBytes, Environment, WritePath};
use super::super::Attributes;
use super::super::authorizer::authorization;

/// Facts of one request.
pub(super) struct RequestFacts<'e> {
    env: &'e dyn Environment,
    registry: Arc<Registry>,
    namespace: Option<Object>,
    authorization: Authorization,
    /// Parameters of kinds with a conversion webhook, converted before any policy runs.
    converted: Vec<(ParamKind, Vec<Arc<Value>>)>,
}

impl<'e> RequestFacts<'e> {
    /// Collects facts for policies that look at these objects.
    pub(super) async fn collect(
        path: &WritePath<'e>,
        attributes: &Attributes<'_>,
        lookups: &Lookups,
    ) -> Result<Self, ApiError> {
        if !lookups.is_empty() {
            // Parameters and labels of namespaces count as soon as their write returned.
            path.io.catch_up().await;
        }
        let name = attributes.namespace();
        let namespace = match path.cached("", "namespaces", name) {
            _ if name.is_empty() => None,
            Some((namespace, _)) => Some(namespace),
            None => {
                let stored = path.read_internally("", "namespaces", name).await;
                stored.map(|(namespace, _)| namespace)
            }
        };
        let mut facts = Self {
            env: path.env,
            registry: path.registry(),
            namespace,
            authorization: authorization(path.env.authorizer(), attributes.request.user),
            converted: Vec::new(),
        };
        for kind in &lookups.params {
            let served = facts.served(kind);
            let Some(served) =
                served.filter(|served| served.resource.strategy.converter().is_some())
            else {
                continue;
            };
            let stored = path.env.cached_list(&served.resource.bucket, None);
            let values: Vec<_> = stored.iter().map(|stored| stored.value.clone()).collect();
            let others = served.converted_all(path.io, &values).await?;
            let mut stored = stored;
            for (at, value) in others {
                stored[at].value = value;
            }
            let params = stored.iter().filter_map(|stored| param(&served, stored));
            facts
                .converted
                .push((kind.clone(), params.map(Arc::new).collect()));
        }
        Ok(facts)
    }

    fn served(&self, kind: &ParamKind) -> Option<Served> {
        served_kind(&self.registry, &kind.api_version, &kind.kind)
    }

    fn converted(&self, kind: &ParamKind) -> Option<&[Arc<Value>]> {
        let mut all = self.converted.iter();
        let found = all.find(|(known, _)| known == kind)?;
        Some(&found.1)
    }
}

/// The resource of a kind, if it is served in this version.
pub(crate) fn served_kind(registry: &Registry, api_version: &str, kind: &str) -> Option<Served> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    registry.iter().find_map(|resource| {
        let is_kind = *resource.group == *group && *resource.kind == *kind;
        let version = resource.served_version(version).filter(|_| is_kind)?;
        Some(Served {
            resource: Arc::clone(resource),
            version,
        })
    })
}

/// A stored parameter in the version that a policy names.
fn param(served: &Served, stored: &CachedBytes) -> Option<Value> {
    let mut object = parse(served, &stored.value, stored.revision).ok()?;
    object.set_meta_text("resourceVersion", &stored.revision.0.to_string());
    Some(object.into_value())
}

impl Facts for RequestFacts<'_> {
    fn namespace(&self) -> Option<&Object> {
        self.namespace.as_ref()
    }

    fn param_resource(&self, kind: &ParamKind) -> Option<ParamResource> {
        let resource = self.served(kind)?.resource;
        Some(ParamResource {
            scope: resource.scope,
            is_custom: resource.origin == Origin::Custom,
        })
    }

    fn params(&self, kind: &ParamKind, namespace: &str) -> Vec<Arc<Value>> {
        if let Some(params) = self.converted(kind) {
            let is_within = |param: &&Arc<Value>| {
                namespace.is_empty() || param["metadata"]["namespace"] == namespace
            };
            return params.iter().filter(is_within).cloned().collect();
        }
        let Some(served) = self.served(kind) else {
            return Vec::new();
        };
        let within = (served.resource.scope == Scope::Namespaced).then_some(namespace);
        let within = within.filter(|namespace| !namespace.is_empty());
        let stored = self.env.cached_list(&served.resource.bucket, within);
        let params = stored.iter().filter_map(|stored| param(&served, stored));
        params.map(Arc::new).collect()
    }

    fn param(&self, kind: &ParamKind, namespace: &str, name: &str) -> Option<Arc<Value>> {
        if self.converted(kind).is_some() {
            let all = self.params(kind, namespace).into_iter();
            return { all }.find(|param| param["metadata"]["name"] == name);
        }
        let served = self.served(kind)?;
        let key = served.resource.object_key(namespace, name);
        let stored = self
            .env
            .cached_bytes(&served.resource.bucket, key.as_bytes())?;
        param(&served, &stored).map(Arc::new)
    }

    fn authorization(&self) -> &Authorization {
        &self.authorization
    }
}
