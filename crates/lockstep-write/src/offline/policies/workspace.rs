//! Everything that policies are evaluated with, from manifests in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockstep_admission::api::{self, ApiKind};
use lockstep_admission::binding::Binding;
use lockstep_admission::facts::{Facts, ParamKind, ParamResource};
use lockstep_admission::matching::MatchResources;
use lockstep_admission::policy::{MutatingPolicy, PolicyKind, ValidatingPolicy};
use lockstep_admission::set::{PolicySet, is_exempt};
use lockstep_catalog::builtin::{self, Apis};
use lockstep_catalog::{Origin, Registry, ResourceId, Served};
use lockstep_cel::Version;
use lockstep_cel::authorizer::Authorization;
use lockstep_kinds::{Table, typed};
use lockstep_mvcc::Revision;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::incoming::mistyped;
use lockstep_object::names::{NameRule, Part};
use lockstep_object::{ApiError, GroupKind, Object, Value};

use super::super::compile;
use super::{bindings_to_everything, shown_kind};
use crate::admission::policies::OfServed;

/// Policies, bindings, definitions, parameters and namespaces.
pub struct Workspace {
    registry: Arc<Registry>,
    set: PolicySet,
    /// Parameters and namespaces by group and kind, with their defaults.
    objects: BTreeMap<(Box<str>, Box<str>), Vec<Kept>>,
    /// Warnings for the authors of policies and bindings.
    warnings: Vec<String>,
    /// Names of policies without a binding.
    unbound: Vec<Box<str>>,
}

/// Group of custom resources that stand for policies and bindings, in clusters whose server does not have those.
pub const OWN_GROUP: &str = "policy.lockstep.dev";

/// A parameter or namespace, and its value as expressions see it.
type Kept = (Object, Arc<Value>);

/// A collection of objects on a server, in all namespaces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collection {
    /// `/apis/apps/v1/deployments`
    pub path: String,
    /// Version of its objects.
    pub api_version: String,
    /// Kind of its objects.
    pub kind: String,
}

/// A policy or binding that a server would refuse.
#[derive(Clone, PartialEq, Debug)]
pub struct Rejection {
    /// Position among the given objects.
    pub index: usize,
    /// The refusal.
    pub error: ApiError,
    /// Its field errors.
    pub fields: FieldErrors,
}

/// Errors of a workspace.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Policies or bindings are not valid.
    #[error("{}", .0.first().map(|rejection| rejection.error.to_string()).unwrap_or_default())]
    Rejected(Vec<Rejection>),
    /// A definition cannot be served.
    #[error("definition {name} cannot be served: {why}")]
    Definition {
        /// Name of the definition.
        name: String,
        /// The reason.
        why: String,
    },
    /// A parameter or namespace has fields of a wrong type.
    #[error("{kind} {name}: {why}")]
    Malformed {
        /// Version and kind.
        kind: String,
        /// The name.
        name: String,
        /// The problem.
        why: String,
    },
    /// No schema is known.
    #[error("the kind {0} is unknown; its CustomResourceDefinition is missing")]
    UnknownKind(String),
    /// There is no object in the request.
    #[error("the request has no object")]
    Nothing,
}

/// Treatment of policies without bindings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unbound {
    /// They have no effect, as on a server.
    Inert,
    /// If there are no bindings at all, each policy is applied to everything it matches.
    Bound,
}

impl Workspace {
    /// Reads objects. Policies and bindings are validated as a server would.
    pub fn new(objects: &[Object], unbound: Unbound) -> Result<Self, WorkspaceError> {
        let objects: Vec<Object> = objects.iter().map(of_upstream).collect();
        let objects = objects.as_slice();
        let registry = registry(objects)?;
        let mut workspace = Self {
            registry: Arc::new(registry),
            set: PolicySet::default(),
            objects: BTreeMap::new(),
            warnings: Vec::new(),
            unbound: Vec::new(),
        };
        let mut stored = Stored::default();
        let mut rejections = Vec::new();
        for (index, object) in objects.iter().enumerate() {
            match ApiKind::of(object) {
                Some(kind) => match workspace.accept(kind, object) {
                    Ok(object) => stored.add(kind, &object),
                    Err((error, fields)) => rejections.push(Rejection {
                        index,
                        error,
                        fields,
                    }),
                },
                None if object.kind() == "CustomResourceDefinition" => {}
                None => workspace.keep(object)?,
            }
        }
        if !rejections.is_empty() {
            return Err(WorkspaceError::Rejected(rejections));
        }
        if unbound == Unbound::Bound {
            workspace.warnings.extend(stored.bind_all());
        }
        workspace.unbound = stored.unbound();
        workspace.set = stored.into_set();
        Ok(workspace)
    }

    /// True for a policy or binding, also one of [`OWN_GROUP`].
    pub fn is_policy(object: &Object) -> bool {
        ApiKind::of(&of_upstream(object)).is_some()
    }

    /// Collections of the parameters of bound policies. Kinds that are not known have none.
    pub fn param_collections(&self) -> Vec<Collection> {
        let mutating = self.set.mutating().iter();
        let mutating = mutating.map(|bound| &bound.policy.common.param_kind);
        let validating = self.set.validating().iter();
        let validating = validating.map(|bound| &bound.policy.common.param_kind);
        let mut collections: Vec<Collection> = Vec::new();
        for kind in mutating.chain(validating).flatten() {
            let version = kind.api_version.rsplit('/').next().unwrap_or_default();
            let found = self.registry.iter().find(|resource| {
                *resource.group == *group(&kind.api_version)
                    && resource.kind == kind.kind
                    && resource.served_version(version).is_some()
            });
            let Some(resource) = found else {
                continue;
            };
            let root = if resource.group.is_empty() {
                "/api"
            } else {
                "/apis"
            };
            let collection = Collection {
                path: format!("{root}/{}/{}", kind.api_version, resource.plural),
                api_version: kind.api_version.to_string(),
                kind: kind.kind.to_string(),
            };
            if !collections.contains(&collection) {
                collections.push(collection);
            }
        }
        collections
    }

    /// The bound policies.
    pub fn policies(&self) -> &PolicySet {
        &self.set
    }

    /// Names of policies without a binding, which have no effect.
    pub fn unbound(&self) -> &[Box<str>] {
        &self.unbound
    }

    /// Warnings for the authors of policies and bindings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Parameters or namespaces of a kind, in any version.
    fn of_kind(&self, api_version: &str, kind: &str) -> &[Kept] {
        let key = (group(api_version).into(), kind.into());
        self.objects.get(&key).map_or(&[], Vec::as_slice)
    }

    /// True if an expression of a policy asks the authorizer.
    pub fn uses_authorizer(&self) -> bool {
        ["authorizer", "authorizer.requestResource"]
            .iter()
            .any(|name| {
                let mut mutating = self.set.mutating().iter();
                let mut validating = self.set.validating().iter();
                mutating.any(|bound| bound.policy.uses_variable(name))
                    || validating.any(|bound| bound.policy.uses_variable(name))
            })
    }

    /// The resource of an object.
    pub(super) fn served(&self, object: &Object) -> Result<Served, WorkspaceError> {
        let unknown = || WorkspaceError::UnknownKind(shown_kind(object));
        let gvk = object.gvk().ok_or_else(unknown)?;
        let mut resources = self.registry.iter();
        let found = resources.find_map(|resource| {
            let is_kind = resource.group == gvk.group && resource.kind == gvk.kind;
            let version = resource.served_version(&gvk.version).filter(|_| is_kind)?;
            Some(Served {
                resource: Arc::clone(resource),
                version,
            })
        });
        found.ok_or_else(unknown)
    }

    /// Collections of the objects that bound policies may be about, each in one version. Policies that name all
    /// resources are about those that are listed anyway.
    pub fn listed_paths(&self) -> Vec<Collection> {
        let mutating = self.set.mutating().iter();
        let mutating = mutating.map(|bound| &bound.policy.common.constraints);
        let validating = self.set.validating().iter();
        let validating = validating.map(|bound| &bound.policy.common.constraints);
        let named: Vec<(&str, &str)> = mutating
            .chain(validating)
            .flat_map(MatchResources::resources)
            .collect();
        let is = |named: &str, own: &str| named == "*" || named == own;
        let wanted = self.registry.iter().filter(|resource| {
            let is_named = named
                .iter()
                .any(|(group, plural)| is(group, &resource.group) && is(plural, &resource.plural));
            is_named && resource.is_stored() && !is_exempt(&resource.group, &resource.plural)
        });
        let collections = wanted.filter_map(|resource| {
            let mut versions = resource.versions.indexed();
            let (_, version) = versions.find(|(_, version)| version.is_served)?;
            let (api_version, root) = match &*resource.group {
                "" => (version.name.to_string(), "/api".to_owned()),
                group => (format!("{group}/{}", version.name), "/apis".to_owned()),
            };
            Some(Collection {
                path: format!("{root}/{api_version}/{}", resource.plural),
                api_version,
                kind: resource.kind.to_string(),
            })
        });
        collections.collect()
    }

    /// An object without unknown fields and with its defaults; as it is if its kind is unknown or its types are wrong.
    pub fn completed(&self, object: &Object) -> Object {
        let mut completed = object.clone();
        let read = self
            .served(object)
            .map(|served| OfServed(served).read(&mut completed));
        match read {
            Ok(Ok(())) => completed,
            _ => object.clone(),
        }
    }

    /// Defaults and validates a policy or binding.
    fn accept(
        &mut self,
        kind: ApiKind,
        object: &Object,
    ) -> Result<Object, (ApiError, FieldErrors)> {
        let mut object = object.clone();
        let name = object.name().to_owned();
        let mut warnings = Vec::new();
        if api::convert_early_shape(&mut object) {
            warnings.push(api::EARLY_SHAPE.to_owned());
        }
        let unknown = check_types(&mut object).map_err(|error| (error, FieldErrors::new()))?;
        let unknown = unknown
            .into_iter()
            .map(|field| format!("unknown field {field:?}"));
        warnings.extend(unknown);
        api::apply_defaults(kind, &mut object);
        let place = Path::ROOT.field("metadata");
        let place = place.field("name");
        let mut errors = FieldErrors::new();
        if name.is_empty() {
            let why = "name or generateName is required";
            errors.push(FieldError::required(&place, why));
        } else {
            let problems = NameRule::Subdomain.check(&name, Part::Whole).into_iter();
            errors.extend(problems.map(|why| FieldError::invalid(&place, name.as_str(), why)));
        }
        errors.append(lockstep_admission::validate(
            kind,
            &object,
            None,
            Version::LATEST,
        ));
        if !errors.is_empty() {
            let group_kind = GroupKind::new(api::GROUP, object.kind());
            return Err((
                ApiError::invalid(&group_kind, &name, errors.clone()),
                errors,
            ));
        }
        warnings.extend(api::warnings(kind, &object));
        let shown = warnings
            .into_iter()
            .map(|warning| format!("{}/{name}: {warning}", object.kind()));
        self.warnings.extend(shown);
        Ok(object)
    }

    /// Keeps a parameter or namespace with its defaults. Objects of unknown kinds cannot be parameters.
    fn keep(&mut self, object: &Object) -> Result<(), WorkspaceError> {
        let mut object = object.clone();
        if let Ok(served) = self.served(&object) {
            let name = object.name().to_owned();
            let kind = shown_kind(&object);
            let read = OfServed(served).read(&mut object);
            read.map_err(|why| WorkspaceError::Malformed { kind, name, why })?;
        }
        let value = Arc::new(object.as_value().clone());
        let kind = (group(object.api_version()).into(), object.kind().into());
        let of_kind = self.objects.entry(kind).or_default();
        of_kind.push((object, value));
        Ok(())
    }
}

/// Checks the types of the fields of a policy or binding, and removes unknown fields. Returns the names of these. All
/// versions have the fields of the first.
fn check_types(object: &mut Object) -> Result<Vec<String>, ApiError> {
    let table = Table::builtin();
    let Some(gvk) = object.gvk() else {
        return Ok(Vec::new());
    };
    let (group, kind) = (&gvk.group, &gvk.kind);
    let mut versions = [&*gvk.version, api::VERSIONS[0]].into_iter();
    let mut unknown = Vec::new();
    if let Some(id) = versions.find_map(|version| table.kind(group, version, kind)) {
        typed::read(table, id, object.fields_mut(), &mut unknown)
            .map_err(|error| mistyped(&gvk, &error.to_string()))?;
    }
    Ok(unknown)
}

/// Policies of [`OWN_GROUP`] as the kinds that they stand for.
fn of_upstream(object: &Object) -> Object {
    let mut object = object.clone();
    let is_own = object.api_version() == format!("{OWN_GROUP}/v1");
    if is_own {
        let api_version = format!("{}/v1", api::GROUP);
        object
            .fields_mut()
            .insert("apiVersion".to_owned(), api_version.into());
    }
    object
}

/// Built-in resources, and those of the definitions.
pub(super) fn registry(objects: &[Object]) -> Result<Registry, WorkspaceError> {
    let mut registry = Registry::new(builtin::resources(Version::LATEST, &Apis::all()));
    for object in objects
        .iter()
        .filter(|object| object.kind() == "CustomResourceDefinition")
    {
        let served = registry.find(ResourceId {
            group: "apiextensions.k8s.io",
            version: "v1",
            plural: "customresourcedefinitions",
        });
        let mut object = object.clone();
        let wrong = |why: String| WorkspaceError::Definition {
            name: object.name().to_owned(),
            why,
        };
        if let Some(Served { resource, version }) = served {
            let strategy = Arc::clone(&resource.strategy);
            let mut read = object.clone();
            let kind = OfServed(Served { resource, version });
            kind.read(&mut read).map_err(wrong)?;
            let valid = strategy.validate(version, &read, None, None);
            if let Some(error) = valid.errors.iter().next() {
                return Err(wrong(error.to_string()));
            }
            object = read;
        }
        let resource = compile(&object, Revision::NONE);
        let resource = resource.map_err(|error| WorkspaceError::Definition {
            name: object.name().to_owned(),
            why: error.to_string(),
        })?;
        registry.insert(resource);
    }
    Ok(registry)
}

/// Compiled policies and bindings.
#[derive(Default)]
struct Stored {
    mutating: Vec<Arc<MutatingPolicy>>,
    mutating_bindings: Vec<Arc<Binding>>,
    validating: Vec<Arc<ValidatingPolicy>>,
    validating_bindings: Vec<Arc<Binding>>,
}

impl Stored {
    fn add(&mut self, kind: ApiKind, object: &Object) {
        match kind {
            ApiKind::Policy(PolicyKind::Mutating) => {
                self.mutating
                    .push(Arc::new(MutatingPolicy::compile(object)));
            }
            ApiKind::Policy(PolicyKind::Validating) => {
                self.validating
                    .push(Arc::new(ValidatingPolicy::compile(object)));
            }
            ApiKind::Binding(PolicyKind::Mutating) => {
                self.mutating_bindings.push(Arc::new(Binding::read(object)));
            }
            ApiKind::Binding(PolicyKind::Validating) => {
                self.validating_bindings
                    .push(Arc::new(Binding::read(object)));
            }
        }
    }

    /// Binds all policies of a kind that has no bindings, and returns what to say about it.
    fn bind_all(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        let mutating: BTreeSet<&str> = self.mutating.iter().map(|p| &*p.common.name).collect();
        let validating: BTreeSet<&str> = self.validating.iter().map(|p| &*p.common.name).collect();
        let kinds = [
            (mutating, &mut self.mutating_bindings),
            (validating, &mut self.validating_bindings),
        ];
        for (policies, bindings) in kinds {
            if bindings.is_empty() && !policies.is_empty() {
                let names: Vec<&str> = policies.iter().copied().collect();
                let names = names.join(", ");
                said.push(format!(
                    "no bindings were given: bound to everything: {names}"
                ));
                let made = bindings_to_everything(policies.into_iter());
                bindings.extend(made.into_iter().map(Arc::new));
            }
        }
        said
    }

    fn unbound(&self) -> Vec<Box<str>> {
        let is_bound = |bindings: &[Arc<Binding>], name: &str| {
            bindings.iter().any(|binding| *binding.policy == *name)
        };
        let mutating = self.mutating.iter().map(|policy| &policy.common.name);
        let mutating = mutating.filter(|name| !is_bound(&self.mutating_bindings, name));
        let validating = self.validating.iter().map(|policy| &policy.common.name);
        let validating = validating.filter(|name| !is_bound(&self.validating_bindings, name));
        mutating.chain(validating).cloned().collect()
    }

    fn into_set(self) -> PolicySet {
        PolicySet::new(
            (self.mutating, self.mutating_bindings),
            (self.validating, self.validating_bindings),
        )
    }
}

/// Facts of one request.
pub(super) struct RequestFacts<'a> {
    workspace: &'a Workspace,
    namespace: Option<Object>,
    authorization: Authorization,
}

impl<'a> RequestFacts<'a> {
    /// A namespace that was not given exists, with the label of its name.
    pub(super) fn new(
        workspace: &'a Workspace,
        namespace: &str,
        authorization: Authorization,
    ) -> Self {
        let made = || {
            let made = serde_json::json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {
                    "name": namespace,
                    "labels": { "kubernetes.io/metadata.name": namespace },
                },
                "status": { "phase": "Active" },
            });
            Object::from_value(made).ok()
        };
        let given = workspace.of_kind("v1", "Namespace");
        let mut given = given.iter().map(|(object, _)| object);
        let given = given.find(|object| object.name() == namespace);
        let namespace = match given {
            _ if namespace.is_empty() => None,
            Some(given) => {
                let mut given = given.clone();
                let labels = given.metadata_mut().entry("labels");
                let labels = labels.or_insert_with(|| serde_json::json!({}));
                labels["kubernetes.io/metadata.name"] = namespace.into();
                Some(given)
            }
            None => made(),
        };
        Self {
            workspace,
            namespace,
            authorization,
        }
    }
}

/// The group of an `apiVersion`; empty for the core.
fn group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

impl Facts for RequestFacts<'_> {
    fn namespace(&self) -> Option<&Object> {
        self.namespace.as_ref()
    }

    fn param_resource(&self, kind: &ParamKind) -> Option<ParamResource> {
        let (group, version) = kind
            .api_version
            .rsplit_once('/')
            .unwrap_or(("", &kind.api_version));
        let mut resources = self.workspace.registry.iter();
        let resource = resources.find(|resource| {
            *resource.group == *group
                && resource.kind == kind.kind
                && resource.served_version(version).is_some()
        })?;
        Some(ParamResource {
            scope: resource.scope,
            is_custom: resource.origin == Origin::Custom,
        })
    }

    fn params(&self, kind: &ParamKind, namespace: &str) -> Vec<Arc<Value>> {
        let within = |object: &Object| namespace.is_empty() || in_namespace(object, namespace);
        let all = self.workspace.of_kind(&kind.api_version, &kind.kind).iter();
        let found = all.filter(|(object, _)| within(object));
        found.map(|(_, value)| Arc::clone(value)).collect()
    }

    fn param(&self, kind: &ParamKind, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let all = self.workspace.of_kind(&kind.api_version, &kind.kind).iter();
        let mut found = all.filter(|(object, _)| {
            object.name() == name && (namespace.is_empty() || in_namespace(object, namespace))
        });
        found.next().map(|(_, value)| Arc::clone(value))
    }

    fn authorization(&self) -> &Authorization {
        &self.authorization
    }
}

/// True if an object lies in a namespace; without one it lies in `default`.
fn in_namespace(object: &Object, namespace: &str) -> bool {
    match object.namespace() {
        "" => namespace == "default",
        own => own == namespace,
    }
}
