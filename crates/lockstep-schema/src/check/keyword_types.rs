//! JSON types of keywords; the checks that follow rely on them.

use super::nested;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Flag,
    Number,
    Integer,
    Texts,
    List,
    Schema,
    Schemas,
    SchemaMap,
    SchemaOrFlag,
    Any,
}

/// Sorted by keyword.
const KEYWORDS: &[(&str, Kind)] = &[
    ("$ref", Kind::Text),
    ("$schema", Kind::Text),
    ("additionalItems", Kind::SchemaOrFlag),
    ("additionalProperties", Kind::SchemaOrFlag),
    ("allOf", Kind::Schemas),
    ("anyOf", Kind::Schemas),
    ("default", Kind::Any),
    ("definitions", Kind::SchemaMap),
    ("dependencies", Kind::Any),
    ("description", Kind::Text),
    ("enum", Kind::List),
    ("example", Kind::Any),
    ("exclusiveMaximum", Kind::Flag),
    ("exclusiveMinimum", Kind::Flag),
    ("externalDocs", Kind::Any),
    ("format", Kind::Text),
    ("id", Kind::Text),
    ("items", Kind::Any),
    ("maxItems", Kind::Integer),
    ("maxLength", Kind::Integer),
    ("maxProperties", Kind::Integer),
    ("maximum", Kind::Number),
    ("minItems", Kind::Integer),
    ("minLength", Kind::Integer),
    ("minProperties", Kind::Integer),
    ("minimum", Kind::Number),
    ("multipleOf", Kind::Number),
    ("not", Kind::Schema),
    ("nullable", Kind::Flag),
    ("oneOf", Kind::Schemas),
    ("pattern", Kind::Text),
    ("patternProperties", Kind::SchemaMap),
    ("properties", Kind::SchemaMap),
    ("required", Kind::Texts),
    ("title", Kind::Text),
    ("type", Kind::Text),
    ("uniqueItems", Kind::Flag),
    ("x-kubernetes-embedded-resource", Kind::Flag),
    ("x-kubernetes-int-or-string", Kind::Flag),
    ("x-kubernetes-list-map-keys", Kind::Texts),
    ("x-kubernetes-list-type", Kind::Text),
    ("x-kubernetes-map-type", Kind::Text),
    ("x-kubernetes-preserve-unknown-fields", Kind::Flag),
    ("x-kubernetes-validations", Kind::Schemas),
];

/// Reports keywords of the wrong type. Unknown keywords are left to field validation.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    check_at(schema, path, &mut errors);
    errors
}

fn check_at(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        let known = KEYWORDS.binary_search_by(|(name, _)| (*name).cmp(keyword));
        let Ok(at) = known else { continue };
        let (_, kind) = KEYWORDS[at];
        if !value.is_null() && !kind.fits(value) {
            let problem = format!("must be {}", kind.text());
            errors.push(FieldError::type_invalid(
                &path.field(keyword),
                value,
                problem,
            ));
        }
    }
    for (link, below) in nested::all(schema) {
        link.with_path(path, |path| check_at(below, path, errors));
    }
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        let all = |value: &Value, holds: fn(&Value) -> bool| {
            value
                .as_array()
                .is_some_and(|elements| elements.iter().all(holds))
        };
        match self {
            Self::Any => true,
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64(),
            Self::Texts => all(value, Value::is_string),
            Self::List => value.is_array(),
            Self::Schema => value.is_object(),
            Self::Schemas => all(value, Value::is_object),
            Self::SchemaMap => value
                .as_object()
                .is_some_and(|entries| entries.values().all(Value::is_object)),
            Self::SchemaOrFlag => value.is_object() || value.is_boolean(),
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Any => "anything",
            Self::Text => "a string",
            Self::Flag => "true or false",
            Self::Number => "a number",
            Self::Integer => "an integer",
            Self::Texts => "a list of strings",
            Self::List => "a list",
            Self::Schema => "an object",
            Self::Schemas => "a list of objects",
            Self::SchemaMap => "a map of objects",
            Self::SchemaOrFlag => "a schema, true or false",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_sorted_so_that_they_are_found() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a.0 < b.0));
    }
}
