//! Write requests, independent of HTTP.

use std::ops::Deref;

use bytes::Bytes;
use lockstep_authz::User;
use lockstep_merge::managers::Force;
use lockstep_object::field::{FieldError, Path};
use lockstep_object::incoming::{FieldValidation, mistyped};
use lockstep_object::metadata::Seconds;
use lockstep_object::{ApiError, GroupKind, Map, Value, json};

use super::decode::{self, Document, Incoming, Patched};
use super::io::Io;
use super::notes::Notes;
use super::origin::WriteOrigin;
use super::patch::Patch;
use crate::route::ResourceRoute;
use lockstep_catalog::Verb;
use lockstep_catalog::{Origin as ResourceOrigin, Served, Subresource, Version};

/// One write, authenticated and authorised: operation, target, object or patch, options and user.
pub struct WriteRequest<'a> {
    /// Verb, namespace, name and subresource.
    pub route: &'a ResourceRoute,
    /// Resource and version the request is made in.
    pub served: Served,
    /// Decoded body; taken when the write begins.
    pub input: Option<Input>,
    /// Text the body was decoded from; messages quote it and keep its field order.
    pub source: Bytes,
    /// Options of create, update, patch or apply.
    pub options: WriteOptions,
    /// Time of the request.
    pub now: Seconds,
    /// Origin of the write, which determines its stages.
    pub origin: WriteOrigin,
    /// Effective user, after impersonation.
    pub user: &'a User,
    /// Authorizes another verb on the same object, such as `create` for an apply.
    pub permits: &'a Permits<'a>,
    /// Collects warnings and audit annotations.
    pub notes: &'a Notes,
}

/// Authorizes another verb on the object of a request.
pub type Permits<'a> = dyn Fn(Verb) -> Result<(), ApiError> + Send + Sync + 'a;

/// Decoded body of a write.
pub enum Input {
    /// Object of the resource, or of the kind of its subresource.
    Object(Document),
    /// JSON patch, merge patch or strategic merge patch.
    Patch(Patch),
    /// Apply configuration.
    Apply(Value),
    /// `DeleteOptions`.
    Delete(Value),
}

/// Options of create, update, patch and apply requests.
#[derive(Clone, Debug)]
pub struct WriteOptions {
    /// `dryRun`.
    pub dry_run: DryRun,
    /// `fieldManager`, or the name derived from the user agent.
    pub field_manager: String,
    /// `force` of an apply.
    pub force: Force,
    /// `fieldValidation`.
    pub field_validation: FieldValidation,
    /// Body encoded as protobuf, which cannot express `customFeatureGates`.
    pub is_protobuf: bool,
    /// Options as given, for admission reviews.
    pub given: Map<String, Value>,
}

/// Value of `dryRun`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DryRun {
    /// `All`: all stages run except the commit.
    All,
    /// Absent: the write is committed.
    No,
}

/// A request together with the channel to its driver.
#[derive(Clone, Copy)]
pub struct InFlight<'a> {
    request: &'a WriteRequest<'a>,
    io: &'a Io,
}

impl<'a> Deref for InFlight<'a> {
    type Target = WriteRequest<'a>;

    fn deref(&self) -> &WriteRequest<'a> {
        self.request
    }
}

impl<'a> InFlight<'a> {
    pub(super) fn new(request: &'a WriteRequest<'a>, io: &'a Io) -> Self {
        Self { request, io }
    }

    pub(super) fn io(&self) -> &'a Io {
        self.io
    }

    /// Checks that a decoded body is an object of the resource.
    pub(super) fn object(&self, document: Document) -> Result<Incoming, ApiError> {
        decode::object(&self.served, document, &self.source)
    }
}

impl WriteRequest<'_> {
    /// Subresource named by the path.
    pub fn subresource(&self) -> Result<Option<Subresource>, ApiError> {
        subresource(self.route, &self.served)
    }

    /// Version the request is made in.
    pub fn version(&self) -> &Version {
        &self.served.resource.versions[self.served.version]
    }

    /// 404 for the object the request names.
    pub(super) fn not_found(&self) -> ApiError {
        let resource = self.served.resource.group_resource();
        ApiError::not_found(&resource, &self.route.name)
    }

    /// Applies `fieldValidation` to duplicate and unknown fields: ignores, warns or refuses.
    pub(super) fn report_fields(
        &self,
        duplicates: &[String],
        unknown: &[String],
        patched: Option<&Patched>,
    ) -> Result<(), ApiError> {
        let unknown = json::in_document_order(&self.source, unknown.to_vec());
        let judged = self.options.field_validation.judge(duplicates, &unknown);
        let warnings = judged.map_err(|problem| match patched {
            Some(patched) => patched.refused(&problem),
            None => mistyped(&self.served.gvk(), &problem),
        })?;
        for warning in warnings {
            self.notes.warn(warning);
        }
        Ok(())
    }
}

/// Subresource in a path, if the version has it and it supports the verb.
pub fn subresource(
    route: &ResourceRoute,
    served: &Served,
) -> Result<Option<Subresource>, ApiError> {
    if route.subresource.is_empty() {
        return Ok(None);
    }
    let version = &served.resource.versions[served.version];
    let mut subresources = version.parts().iter().copied();
    let found = subresources.find(|subresource| subresource.name() == route.subresource);
    let resource = &served.resource;
    let is_custom = resource.origin == ResourceOrigin::Custom;
    match found {
        Some(subresource) if subresource.verbs().contains(&route.verb) => Ok(Some(subresource)),
        Some(_) if is_custom => Err(ApiError::method_not_supported(
            &resource.group_resource(),
            route.verb.as_str(),
        )),
        Some(_) => Err(ApiError::MethodNotAllowed),
        None if is_custom => Err(ApiError::not_found(&resource.group_resource(), &route.name)),
        None => Err(ApiError::NoSuchResource),
    }
}

/// 422 for an invalid option of a verb.
pub fn invalid_options(verb: Verb, error: FieldError) -> ApiError {
    let kind = match verb {
        Verb::Create => "CreateOptions",
        Verb::Patch => "PatchOptions",
        Verb::Delete | Verb::DeleteCollection => "DeleteOptions",
        Verb::Update | Verb::Get | Verb::List | Verb::Watch => "UpdateOptions",
    };
    ApiError::invalid(&GroupKind::new("meta.k8s.io", kind), "", [error])
}

/// Parses `dryRun`: absent, or `All` for every value.
pub fn dry_run(verb: Verb, given: &[&str]) -> Result<DryRun, ApiError> {
    match given {
        [] => Ok(DryRun::No),
        given if given.iter().all(|value| *value == "All") => Ok(DryRun::All),
        given => {
            let path = Path::ROOT.field("dryRun");
            let error = FieldError::not_supported(&path, given, ["All"]);
            Err(invalid_options(verb, error))
        }
    }
}
