//! Admission attributes: the description of a write that every admission plugin receives.

use lockstep_admission::request::Operation;
use lockstep_mvcc::Revision;
use lockstep_object::{GroupVersionKind, Object, Value};

use super::super::{DryRun, InFlight};
use lockstep_catalog::{SpecialKind, Subresource};

/// One write under admission; unchanged through all plugins.
pub struct Attributes<'a> {
    /// User, resource and version of the request.
    pub request: &'a InFlight<'a>,
    /// Operation under admission.
    pub operation: Operation,
    /// Subresource of the request.
    pub subresource: Option<Subresource>,
    /// Name in the request; empty with `generateName` and for a deletion of a collection.
    pub name: &'a str,
    /// Current object; `None` for a create.
    pub old: Option<&'a Object>,
    /// Revision of the current object.
    pub revision: Revision,
    /// Whether the request is a dry run.
    pub dry_run: DryRun,
    /// `DeleteOptions` of a deletion.
    pub delete_options: Option<&'a Value>,
}

impl<'a> Attributes<'a> {
    /// Attributes of a create. `name` may be empty.
    pub fn create(request: &'a InFlight<'a>, name: &'a str, dry_run: DryRun) -> Self {
        Self {
            request,
            operation: Operation::Create,
            subresource: None,
            name,
            old: None,
            revision: Revision::NONE,
            dry_run,
            delete_options: None,
        }
    }

    /// Attributes of a deletion. `name` is empty for a collection.
    pub fn delete(
        request: &'a InFlight<'a>,
        name: &'a str,
        old: &'a Object,
        (dry_run, options): (DryRun, &'a Value),
    ) -> Self {
        Self {
            operation: Operation::Delete,
            old: Some(old),
            delete_options: Some(options),
            ..Self::create(request, name, dry_run)
        }
    }

    /// True for a create of an object of the kind itself, as opposed to a subresource.
    pub fn creates(&self, kind: SpecialKind) -> bool {
        let is_of_kind = self.request.served.resource.special == kind;
        is_of_kind && self.operation == Operation::Create && self.subresource.is_none()
    }

    /// True for webhook and policy configurations. They are exempt from webhooks, so that a broken one can be
    /// repaired.
    pub fn is_about_admission(&self) -> bool {
        let resource = &self.request.served.resource;
        resource.special == SpecialKind::AdmissionConfiguration
    }

    /// Kind of the request body: the object's own, or that of the subresource.
    pub fn kind(&self) -> GroupVersionKind {
        match self.subresource.and_then(Subresource::own_kind) {
            Some([group, version, kind]) => GroupVersionKind::new(group, version, kind),
            None => self.request.served.gvk(),
        }
    }

    /// Namespace of the request; for a Namespace object, its own name.
    pub fn namespace(&self) -> &'a str {
        let route = self.request.route;
        let resource = &self.request.served.resource;
        let is_namespace = resource.special == SpecialKind::Namespace;
        if is_namespace {
            self.name
        } else {
            &route.namespace
        }
    }
}
