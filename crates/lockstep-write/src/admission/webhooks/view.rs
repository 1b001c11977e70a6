//! The objects of a write, converted to the version that a webhook's rule matched.

use std::sync::Arc;

use lockstep_merge::JsonPatch;
use lockstep_merge::managers::ManagedFields;
use lockstep_object::{Object, Value};

use super::super::super::conversion::ServedVersion as _;
use super::super::super::io::Io;
use super::super::super::{InFlight, refit};
use super::super::{Attributes, Operation, request};
use super::call::Failure;
use super::patch::problem;
use lockstep_catalog::{Served, SpecialKind, Subresource};

/// Metadata that mutating webhooks do not see, since upstream sets it after mutating admission.
const ASSIGNED: [&str; 3] = ["creationTimestamp", "generation", "uid"];

/// New and current object of a write, in one version.
pub(in crate::admission) struct View<'a> {
    attributes: &'a Attributes<'a>,
    /// Version of both objects.
    served: Served,
    object: Option<Object>,
    old: Option<Object>,
    /// Values of `ASSIGNED` that were taken out of a new object.
    assigned: Vec<(&'static str, Value)>,
    is_changed: bool,
}

impl<'a> View<'a> {
    /// View of the objects as they will be stored.
    pub(in crate::admission) fn of(
        attributes: &'a Attributes<'a>,
        object: Option<&Object>,
    ) -> Self {
        let kind = attributes.kind();
        let typed = |object: &Object| {
            let mut object = object.clone();
            if object.kind().is_empty() || attributes.operation != Operation::Delete {
                object.set_gvk(&kind);
            }
            object
        };
        let mut old = attributes.old.map(typed);
        if let Some(old) = old.as_mut().filter(|old| old.resource_version().is_empty()) {
            old.set_meta_text("resourceVersion", &attributes.revision.0.to_string());
        }
        Self {
            attributes,
            served: attributes.request.served.clone(),
            object: object.map(typed),
            old,
            assigned: Vec::new(),
            is_changed: false,
        }
    }

    /// View for mutating admission: a new object has neither a uid nor a generated name.
    pub(in crate::admission) fn before_creation(
        attributes: &'a Attributes<'a>,
        object: Option<&Object>,
    ) -> Self {
        let mut view = Self::of(attributes, object);
        view.hide();
        view
    }

    pub(super) fn attributes(&self) -> &'a Attributes<'a> {
        self.attributes
    }

    /// New object, or null.
    pub(super) fn value(&self) -> &Value {
        self.object.as_ref().map_or(&Value::Null, Object::as_value)
    }

    /// Current object, or null.
    pub(super) fn old_value(&self) -> &Value {
        self.old.as_ref().map_or(&Value::Null, Object::as_value)
    }

    /// The new object for a policy to change, the current one, and the metadata that is hidden from both.
    pub(in crate::admission) fn parts(
        &mut self,
    ) -> (
        Option<&mut Object>,
        Option<&Object>,
        &[(&'static str, Value)],
    ) {
        (self.object.as_mut(), self.old.as_ref(), &self.assigned)
    }

    /// True if the objects are in the version of the request.
    pub(super) fn is_in_requested_version(&self) -> bool {
        self.served.version == self.attributes.request.served.version
            && Arc::ptr_eq(
                &self.served.resource,
                &self.attributes.request.served.resource,
            )
    }

    pub(in crate::admission) fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }

    pub(in crate::admission) fn old(&self) -> Option<&Object> {
        self.old.as_ref()
    }

    pub(super) fn is_changed(&self) -> bool {
        self.is_changed
    }

    /// `AdmissionRequest` of the write, without its objects.
    pub(super) fn request(&self) -> Value {
        request::describe(self.attributes, &self.served)
    }

    /// Converts both objects to another version.
    pub(in crate::admission) async fn turn(
        &mut self,
        io: &Io,
        to: &Served,
    ) -> Result<(), lockstep_object::ApiError> {
        self.served = to.clone();
        if self
            .attributes
            .subresource
            .and_then(Subresource::own_kind)
            .is_some()
        {
            return Ok(());
        }
        for object in [&mut self.object, &mut self.old].into_iter().flatten() {
            to.adopt(io, object).await?;
        }
        Ok(())
    }

    /// Applies a webhook's patch to the object. Returns whether the object changed.
    pub(super) fn change(&mut self, webhook: &str, patch: &JsonPatch) -> Result<bool, Failure> {
        let Some(object) = &self.object else {
            return Err(Failure::internal(&format!(
                "admission webhook {webhook:?} attempted to modify the object, which is not supported for this operation"
            )));
        };
        let before = object.as_value().clone();
        let mut value = before.clone();
        let applied = patch.apply(&mut value);
        applied.map_err(|error| Failure::internal(&problem(error)))?;
        let kind = self.attributes.subresource.and_then(Subresource::own_kind);
        let fitted = refit(&self.served, kind, value).map_err(|why| Failure::internal(&why))?;
        self.object = Some(fitted);
        if kind.is_none() {
            self.shape();
        }
        let changed = *self.value() != before;
        self.is_changed |= changed;
        Ok(changed)
    }

    /// Prunes and defaults the object in its version.
    fn shape(&mut self) {
        self.show();
        if let Some(object) = &mut self.object {
            let strategy = &self.served.resource.strategy;
            strategy.prune_and_default(self.served.version, object, self.old.as_ref());
        }
        self.hide();
    }

    /// Copies the result to `object`. Invalid `managedFields` are replaced by those before admission.
    pub(in crate::admission) fn put_on(mut self, object: &mut Object) {
        self.show();
        let Some(mut changed) = self.object else {
            return;
        };
        if let Err(error) = ManagedFields::read(changed.managed_fields()) {
            self.attributes.request.notes.warn(format!(
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: {error}"
            ));
            let stays = object.managed_fields().to_vec();
            changed
                .metadata_mut()
                .insert("managedFields".to_owned(), stays.into());
        }
        *object = changed;
    }

    fn hide(&mut self) {
        let is_creation = self.attributes.operation == Operation::Create;
        if !is_creation || self.attributes.subresource.is_some() {
            return;
        }
        let is_unnamed = self.attributes.name.is_empty();
        let Some(object) = &mut self.object else {
            return;
        };
        self.assigned.clear();
        let hidden = ASSIGNED.into_iter().chain(is_unnamed.then_some("name"));
        for field in hidden {
            if let Some(value) = object.metadata_mut().remove(field) {
                self.assigned.push((field, value));
            }
        }
    }

    fn show(&mut self) {
        let Some(object) = &mut self.object else {
            return;
        };
        for (field, value) in self.assigned.drain(..) {
            object.metadata_mut().entry(field).or_insert(value);
        }
    }
}

/// True for requests for a Namespace object, as opposed to objects within a namespace.
pub(super) fn is_of_namespace(request: &InFlight<'_>) -> bool {
    let resource = &request.served.resource;
    resource.special == SpecialKind::Namespace
}
