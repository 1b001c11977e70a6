//! Which objects a list or a watch is about.

use std::borrow::Cow;

use lockstep_object::selector::{FieldSelector, LabelSelector};
use lockstep_object::{Object as ApiObject, Status};
use serde_json::Value;

use super::{Origin, Request, SelectableField, Served};
use crate::cache::{Object, Scope};
use crate::write::parse;

/// A scope, and what objects in it have to be like.
pub(super) struct Selection {
    pub(super) scope: Scope,
    labels: LabelSelector,
    fields: FieldSelector,
    /// What is asked for.
    served: Served,
    /// Where the fields that it names may lie.
    selectable: Vec<SelectableField>,
}

impl Selection {
    /// What a request selects. A demand for one name narrows the scope.
    pub(super) fn of(request: &Request<'_>) -> Result<Self, Status> {
        let (labels, mut fields) = (request.labels()?, request.fields()?);
        let (resource, route) = (&request.served.resource, request.route);
        if route.is_named() {
            // An old watch of one object: its path was authorized, and nothing beside it.
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

    /// Whether anything but the scope is demanded.
    pub(super) fn has_selectors(&self) -> bool {
        !self.labels.is_everything() || !self.fields.is_everything()
    }

    /// Whether more of an object than its key decides.
    pub(super) fn looks_inside(&self) -> bool {
        !self.labels.is_everything() || !self.selectable.is_empty()
    }

    /// Whether an object of the scope is selected. It is in the version that is asked for, as far as
    /// a webhook makes the difference.
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
    /// An object as the version shows it that is asked for.
    fn value_of(&self, object: &Object) -> Value {
        match self.served.resource.origin {
            Origin::BuiltIn | Origin::Own => {
                serde_json::from_slice(&object.value).unwrap_or_default()
            }
            Origin::Custom => {
                let parsed = parse(&self.served, &object.value, object.revision);
                parsed.map(ApiObject::into_value).unwrap_or_default()
            }
        }
    }

    /// What an object has in a field; empty if nothing.
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

/// The scalar at a dotted path as text; empty if there is none.
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
