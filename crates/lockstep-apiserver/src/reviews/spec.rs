//! Typed access to the `spec` of a review.

use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::incoming::mistyped;
use lockstep_object::incoming::type_name;
use lockstep_object::{ApiError, GroupKind, GroupVersionKind, Object, Value};

use crate::resources::Request;

/// The `spec` of a review; fields are read by their path below it.
pub(super) struct Spec<'a> {
    object: &'a Object,
    gvk: GroupVersionKind,
}

impl<'a> Spec<'a> {
    pub(super) fn of(object: &'a Object, request: &Request<'_>) -> Self {
        Self {
            object,
            gvk: request.served.gvk(),
        }
    }

    /// Value at a path; none if absent or null.
    pub(super) fn at(&self, path: &[&str]) -> Option<&'a Value> {
        let mut value = self.object.at(&["spec"])?;
        for field in path {
            value = value.get(field)?;
        }
        Some(value).filter(|value| !value.is_null())
    }

    /// Optional object at a path.
    pub(super) fn map(&self, path: &[&str]) -> Result<Option<&'a Value>, ApiError> {
        match self.at(path) {
            Some(value) if !value.is_object() => Err(self.mistyped(value, path, "object")),
            found => Ok(found),
        }
    }

    /// String at a path; empty if absent.
    pub(super) fn text(&self, path: &[&str]) -> Result<&'a str, ApiError> {
        match self.at(path) {
            None => Ok(""),
            Some(Value::String(text)) => Ok(text),
            Some(other) => Err(self.mistyped(other, path, "string")),
        }
    }

    /// List of strings at a path; empty if absent.
    pub(super) fn texts(&self, path: &[&str]) -> Result<Vec<String>, ApiError> {
        let Some(value) = self.at(path) else {
            return Ok(Vec::new());
        };
        let Some(items) = value.as_array() else {
            return Err(self.mistyped(value, path, "[]string"));
        };
        let text = |item: &Value| match item {
            Value::String(text) => Ok(text.clone()),
            other => Err(self.mistyped(other, path, "string")),
        };
        items.iter().map(text).collect()
    }

    /// Adds an error if metadata has non-empty fields other than `managedFields` and those in `allowed`.
    pub(super) fn check_metadata(&self, allowed: &[&str], problem: &str, errors: &mut FieldErrors) {
        let metadata = self.object.metadata();
        let is_nothing = |value: &Value| match value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Object(map) => map.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        };
        let is_allowed = |field: &str| field == "managedFields" || allowed.contains(&field);
        if metadata
            .iter()
            .any(|(field, value)| !is_allowed(field) && !is_nothing(value))
        {
            let path = Path::ROOT.field("metadata");
            let value = Value::Object(metadata.clone());
            errors.push(FieldError::invalid(&path, &value, problem));
        }
    }

    /// 422 if there are errors.
    pub(super) fn judge(&self, errors: FieldErrors) -> Result<(), ApiError> {
        if errors.is_empty() {
            return Ok(());
        }
        let kind = GroupKind::new(&*self.gvk.group, &*self.gvk.kind);
        Err(ApiError::invalid(&kind, self.object.name(), errors))
    }

    fn mistyped(&self, value: &Value, path: &[&str], wanted: &str) -> ApiError {
        let found = type_name(value);
        let (kind, path) = (&self.gvk.kind, path.join("."));
        let problem = format!(
            "json: cannot unmarshal {found} into Go struct field {kind}.spec.{path} of type {wanted}"
        );
        mistyped(&self.gvk, &problem)
    }
}
