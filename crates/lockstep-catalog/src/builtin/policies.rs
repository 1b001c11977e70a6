//! Defaults, validation and warnings of admission policies and their bindings, by `lockstep-admission`.

use lockstep_admission::api::{self, ApiKind};
use lockstep_admission::policy::PolicyKind;
use lockstep_object::Object;
use lockstep_object::field::FieldErrors;

use super::Compatibility;

pub(super) const MUTATING: ApiKind = ApiKind::Policy(PolicyKind::Mutating);
pub(super) const MUTATING_BINDING: ApiKind = ApiKind::Binding(PolicyKind::Mutating);
pub(super) const VALIDATING: ApiKind = ApiKind::Policy(PolicyKind::Validating);
pub(super) const VALIDATING_BINDING: ApiKind = ApiKind::Binding(PolicyKind::Validating);

/// Converts the early shape of `v1alpha1`, and applies defaults.
pub(super) fn normalize(kind: ApiKind, object: &mut Object) {
    api::convert_early_shape(object);
    api::apply_defaults(kind, object);
}

/// Validates a policy or binding. Expressions of the stored object may use all CEL features.
pub(super) fn validate(
    kind: ApiKind,
    new: &Object,
    old: Option<&Object>,
    version: Compatibility,
) -> FieldErrors {
    let is_same = old.is_some_and(|old| old.at(&["spec"]) == new.at(&["spec"]));
    if is_same {
        // Writes of metadata and of the status compile nothing.
        return FieldErrors::new();
    }
    lockstep_admission::validate(kind, new, old, version)
}

/// Warnings for the author.
pub(super) fn warnings(kind: ApiKind, object: &Object) -> Vec<String> {
    api::warnings(kind, object)
}
