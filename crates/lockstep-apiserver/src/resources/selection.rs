//! Objects selected by a list or a watch: scope, label selector and field selector.

use std::borrow::Cow;

use lockstep_object::selector::{FieldSelector, LabelSelector};
use lockstep_object::{ApiError, Object as ApiObject, json};
use serde_json::Value;

use super::{Origin, Request, SelectableField, Served};
use crate::cache::{Object, Scope};
use lockstep_write::parse;

/// Scope and selectors of a list or a watch.
pub(super) struct Selection {
    pub(super) scope: Scope,
    labels: LabelSelector,
    fields: FieldSelector,
    /// Requested resource and version.
    served: Served,
    /// Paths of the selectable fields that the field selector names.
    selectable: Vec<SelectableField>,
}

impl Selection {
    /// Parses the selectors of a request. A field selector on `metadata.name` or `metadata.namespace` narrows the
    /// scope.
    pub(super) fn of(request: &Request<'_>) -> Result<Self, ApiError> {
        let (labels, mut fields) = (request.labels()?, request.fields()?);
        let (resource, route) = (&request.served.resource, request.route);
        if route.is_named() {
            // A legacy watch of one object: authorization covers only the name in its path.
            fields = fields.and("metadata.name", &route.name);
        }
        let namespace = match route.namespace.as_str() {
            "" => fields.exact_value("metadata.namespace").unwrap_or_default(),
            namespace => namespace,
        };
        let scope = match fields.exact_value("metadata.name") {
            Some(name) if !resource.is_namespaced() => Scope::Object(name.into()),
            Some(name) if !namespace.is_empty() => {
                Scope::Object(resource.object_key(namespace, name).into())
            }
            _ if namespace.is_empty() || !resource.is_namespaced() => Scope::All,
            _ => Scope::Namespace(namespace.into()),
        };
        let selectable = resource.strategy.selectable_fields(request.served.version);
        let is_named = |field: &&SelectableField| {
            let mut named = fields.requirements().iter();
            named.any(|requirement| *requirement.field == *field.name)
        };
        Ok(Self {
            scope,
            labels,
            served: request.served.clone(),
            selectable: selectable.iter().filter(is_named).cloned().collect(),
            fields,
        })
    }

    /// True if there is a label selector or a field selector.
    pub(super) fn has_selectors(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }

    /// True if matching needs more of an object than its key.
    pub(super) fn looks_inside(&self) -> bool {
        !self.labels.is_everything() || !self.selectable.is_empty()
    }

    /// True if an object in the scope matches the selectors. The object must be in the requested version if a webhook
    /// converts it.
    pub(super) fn matches(&self, object: &Object) -> bool {
        if !self.labels.is_everything() && !self.labels.matches(object.facts()) {
            return false;
        }
        self.fields.is_everything() || self.matches_fields(object)
    }

    fn matches_fields(&self, object: &Object) -> bool {
        let key = String::from_utf8_lossy(&object.key);
        let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
        let is_of_metadata = |field: &str| matches!(field, "metadata.name" | "metadata.namespace");
        let requirements = self.fields.requirements();
        let parsed: Option<Value> = requirements
            .iter()
            .any(|requirement| !is_of_metadata(&requirement.field))
            .then(|| self.value_of(object));
        requirements.iter().all(|requirement| {
            let found = match &*requirement.field {
                "metadata.name" => Cow::Borrowed(name),
                "metadata.namespace" => Cow::Borrowed(namespace),
                field => self.text_of(parsed.as_ref(), field),
            };
            (found == *requirement.value) != requirement.negated
        })
    }
}

impl Selection {
    /// Parses an object in the requested version.
    fn value_of(&self, object: &Object) -> Value {
        match self.served.resource.origin {
            Origin::BuiltIn | Origin::Own => json::read(&object.value).unwrap_or_default(),
            Origin::Custom => {
                let parsed = parse(&self.served, &object.value, object.revision);
                parsed.map(ApiObject::into_value).unwrap_or_default()
            }
        }
    }

    /// Value of a selectable field as text; its default if absent.
    fn text_of<'v>(&self, object: Option<&'v Value>, field: &str) -> Cow<'v, str> {
        let known = self.selectable.iter().find(|known| *known.name == *field);
        let paths = known.into_iter().flat_map(|known| &known.paths);
        let mut texts = paths.map(|path| text_at(object, path));
        let absent = known.map(|known| known.absent).unwrap_or_default();
        texts
            .find(|text| !text.is_empty())
            .unwrap_or(Cow::Borrowed(absent))
    }
}

/// Scalar at a dotted path as text; empty if absent.
fn text_at<'v>(value: Option<&'v Value>, path: &str) -> Cow<'v, str> {
    let step = |value: &'v Value, name: &str| value.get(name);
    let mut names = path.split('.');
    match value.and_then(|value| names.try_fold(value, step)) {
        Some(Value::String(text)) => Cow::Borrowed(text),
        Some(Value::Bool(value)) => Cow::Owned(value.to_string()),
        Some(Value::Number(value)) => Cow::Owned(value.to_string()),
        _ => Cow::Borrowed(""),
    }
}
