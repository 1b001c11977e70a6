//! Role bindings: defaulting and validation.

use lockstep_authz::{GROUP, validate_binding, validate_binding_update};
use lockstep_object::field::FieldErrors;
use lockstep_object::{Object, Value};

/// Sets the default `apiGroup` of the role and of each subject by its kind.
pub(super) fn normalize_binding(binding: &mut Object, _old: Option<&Object>) {
    let fields = binding.fields_mut();
    if let Some(Value::Object(role)) = fields.get_mut("roleRef") {
        let group = role
            .get("apiGroup")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if group.is_empty() {
            role.insert("apiGroup".to_owned(), GROUP.into());
        }
    }
    let subjects = fields.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        let group = subject
            .get("apiGroup")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_person = matches!(
            subject.get("kind").and_then(Value::as_str),
            Some("User" | "Group")
        );
        if group.is_empty() && is_person {
            subject.insert("apiGroup".to_owned(), GROUP.into());
        }
    }
}

pub(super) fn validate(binding: &Object, old: Option<&Object>) -> FieldErrors {
    match old {
        Some(old) => validate_binding_update(binding, old),
        None => validate_binding(binding),
    }
}
