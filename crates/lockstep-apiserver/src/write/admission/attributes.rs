//! Admission attributes: the description of a write that every admission plugin receives.

use lockstep_object::{GroupVersionKind, Object, Value};
use lockstep_storage::Revision;

use super::super::{DryRun, InFlight};
use crate::resources::Subresource;

/// Operation of an admission request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Operation {
    /// As rules of webhooks and policies spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// One write, as it stays through all steps.
pub struct Attributes<'a> {
    /// User, resource and version of the request.
    pub(crate) request: &'a InFlight<'a>,
    /// Operation under admission.
    pub operation: Operation,
    /// To which part of the object.
    pub subresource: Option<Subresource>,
    /// Name in the request; empty with `generateName` and for a deletion of a collection.
    pub name: &'a str,
    /// The object as it is stored; none if there is none yet.
    pub old: Option<&'a Object>,
    /// The revision that left it.
    pub revision: Revision,
    /// Whether nothing is stored in the end.
    pub dry_run: DryRun,
    /// The options of a deletion.
    pub delete_options: Option<&'a Value>,
}

impl<'a> Attributes<'a> {
    /// An object is made under a name, which may be empty.
    pub(crate) fn create(request: &'a InFlight<'a>, name: &'a str, dry_run: DryRun) -> Self {
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

    /// An object is deleted under a name, which is empty if many are.
    pub(crate) fn delete(
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

    /// Whether an object of a resource is made, and not a part of one.
    pub fn makes(&self, group: &str, plural: &str) -> bool {
        let resource = &self.request.served.resource;
        let is_of = &*resource.group == group && &*resource.plural == plural;
        is_of && self.operation == Operation::Create && self.subresource.is_none()
    }

    /// Whether it is about webhooks or policies themselves, which must not be in their own way.
    pub fn is_about_admission(&self) -> bool {
        let resource = &self.request.served.resource;
        &*resource.group == "admissionregistration.k8s.io"
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
        let is_namespace = resource.group.is_empty() && &*resource.plural == "namespaces";
        if is_namespace {
            self.name
        } else {
            &route.namespace
        }
    }
}
