//! Type and metadata of embedded resources (`x-kubernetes-embedded-resource`).

use crate::node::{Additional, Node};
use lockstep_object::GroupVersion;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::metadata::{self, Malformed, Scope};
use lockstep_object::names::{self, NameRule};
use serde_json::{Map, Value};

/// Normalizes the metadata of the resource and of all embedded resources; reports unknown metadata fields.
pub(crate) fn coerce_root(
    value: &mut Value,
    root: &Node,
    malformed: Malformed,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    Coercer { malformed, unknown }.value(value, root, true, &Path::ROOT)
}

/// Variant of [`coerce_root`] for a part of a resource at a path.
pub(crate) fn coerce_part(
    value: &mut Value,
    node: &Node,
    malformed: Malformed,
    unknown: &mut Vec<String>,
    path: &Path<'_>,
) -> Result<(), FieldError> {
    Coercer { malformed, unknown }.value(value, node, false, path)
}

struct Coercer<'u> {
    malformed: Malformed,
    unknown: &'u mut Vec<String>,
}

impl Coercer<'_> {
    fn value(
        &mut self,
        value: &mut Value,
        node: &Node,
        is_root: bool,
        path: &Path<'_>,
    ) -> Result<(), FieldError> {
        if !is_root && !node.work.embedded {
            return Ok(());
        }
        match value {
            Value::Object(entries) => {
                if is_root || node.embedded {
                    self.resource(entries, path)?;
                }
                if !node.work.embedded {
                    return Ok(());
                }
                for (name, value) in entries {
                    match (node.properties().get(name), node.additional()) {
                        (Some(property), _) => {
                            self.value(value, property, false, &path.field(name))?;
                        }
                        (None, Additional::Schema(schema)) => {
                            self.value(value, schema, false, &path.key(name))?;
                        }
                        (None, _) => {}
                    }
                }
            }
            Value::Array(elements) => {
                if let Some(items) = node.items() {
                    for (index, element) in elements.iter_mut().enumerate() {
                        self.value(element, items, false, &path.index(index))?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn resource(
        &mut self,
        entries: &mut Map<String, Value>,
        path: &Path<'_>,
    ) -> Result<(), FieldError> {
        for name in ["apiVersion", "kind"] {
            let Some(value) = entries.get(name).filter(|value| !value.is_string()) else {
                continue;
            };
            if self.malformed == Malformed::Refuse {
                return Err(FieldError::invalid(
                    &path.field(name),
                    value,
                    "must be a string",
                ));
            }
            entries.remove(name);
        }
        let Some(metadata) = entries.get_mut("metadata") else {
            return Ok(());
        };
        let path = path.field("metadata");
        let before = (self.malformed == Malformed::Refuse).then(|| metadata.clone());
        metadata::normalize_metadata(metadata, &path, self.malformed, self.unknown).map_err(
            |error| FieldError::invalid(&path, &before.unwrap_or_default(), error.to_string()),
        )
    }
}

/// Validates type and metadata of embedded resources. The root is validated elsewhere.
pub(crate) fn validate(value: &Value, node: &Node, path: &Path<'_>, errors: &mut FieldErrors) {
    if !node.work.embedded {
        return;
    }
    match value {
        Value::Object(entries) => {
            if node.embedded {
                validate_resource(entries, path, errors);
            }
            for (name, value) in entries {
                match (node.properties().get(name), node.additional()) {
                    (Some(property), _) => validate(value, property, &path.field(name), errors),
                    (None, Additional::Schema(schema)) => {
                        validate(value, schema, &path.key(name), errors);
                    }
                    (None, _) => {}
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = node.items() {
                for (index, element) in elements.iter().enumerate() {
                    validate(element, items, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_resource(entries: &Map<String, Value>, path: &Path<'_>, errors: &mut FieldErrors) {
    validate_text(entries, "apiVersion", path, errors, |text| {
        GroupVersion::parse(text)
            .err()
            .map(|error| error.to_string())
    });
    validate_text(entries, "kind", path, errors, |kind| {
        let problems = names::dns1035_label(&kind.to_lowercase());
        let problems = (!problems.is_empty()).then(|| problems.join(","));
        problems
            .map(|problems| format!("may have mixed case, but should otherwise match: {problems}"))
    });
    let Some(metadata) = entries.get("metadata").and_then(Value::as_object) else {
        return;
    };
    let mut named = metadata.clone();
    named
        .entry("name")
        .or_insert_with(|| Value::from("fakename"));
    let scope = if named.contains_key("namespace") {
        Scope::Namespaced
    } else {
        Scope::Cluster
    };
    let path = path.field("metadata");
    errors.append(metadata::validate_metadata(
        &named,
        NameRule::PathSegment,
        scope,
        &path,
    ));
}

fn validate_text(
    entries: &Map<String, Value>,
    name: &str,
    path: &Path<'_>,
    errors: &mut FieldErrors,
    check: impl Fn(&str) -> Option<String>,
) {
    let path = path.field(name);
    errors.extend(match entries.get(name) {
        None => Some(FieldError::required(&path, "")),
        Some(Value::String(text)) if text.is_empty() => {
            Some(FieldError::invalid(&path, "", "must not be empty"))
        }
        Some(Value::String(text)) => {
            check(text).map(|problem| FieldError::invalid(&path, text.as_str(), problem))
        }
        Some(other) => Some(FieldError::invalid(&path, other, "must be a string")),
    });
}
