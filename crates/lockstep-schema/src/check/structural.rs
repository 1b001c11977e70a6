//! Structural schema rules: every value has one type, and value validations only restrict it.

use super::nested::{self, Link};
use crate::keywords::{entries, flag, given, list, schema as subschema, text, texts};
use lockstep_gotext::re2::Pattern;
use lockstep_object::field::{FieldError, FieldErrors, Path};
use serde_json::{Map, Value};

/// Keywords that structural schemas have no place for.
const UNSUPPORTED: [(&str, &str); 7] = [
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
];

/// Reason for which a schema cannot be converted to a structural schema.
pub(super) fn unsupported(schema: &Value) -> Option<String> {
    let own = UNSUPPORTED
        .iter()
        .find(|(keyword, _)| is_given(schema, keyword));
    if let Some((_, name)) = own {
        return Some(format!("OpenAPIV3Schema '{name}' is not supported"));
    }
    if !list(schema, "items").is_empty() {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        return Some(
            "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
                .to_owned(),
        );
    }
    nested::all(schema).find_map(|(_, below)| unsupported(below))
}

/// Given and not empty.
pub(super) fn is_given(schema: &Value, keyword: &str) -> bool {
    match given(schema, keyword) {
        None => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(entries)) => !entries.is_empty() || keyword == "additionalItems",
        Some(_) => true,
    }
}

/// Violations of the structural rules, sorted by text as upstream sorts them.
pub(super) fn check(schema: &Value, path: &Path<'_>) -> FieldErrors {
    let mut errors = FieldErrors::new();
    invariants(schema, Level::Root, path, &mut errors);
    complete(schema, schema, path, path, &mut errors);
    errors.sort_by_text();
    errors
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

fn invariants(schema: &Value, level: Level, path: &Path<'_>, errors: &mut FieldErrors) {
    if text(schema, "type") == "array" && subschema(schema, "items").is_none() {
        errors.push(FieldError::required(
            &path.field("items"),
            "must be specified",
        ));
    }
    if let (Level::Root, Some(_)) = (level, given(schema, "additionalProperties")) {
        let problem = "must not be used at the root";
        errors.push(FieldError::forbidden(
            &path.field("additionalProperties"),
            problem,
        ));
    }
    for (link, below) in nested::all(schema).filter(|(link, _)| !link.is_alternative()) {
        let level = if link == Link::Items {
            Level::Item
        } else {
            Level::Field
        };
        link.with_path(path, |path| invariants(below, level, path, errors));
    }
    int_or_string(schema, path, errors);
    value_rules(schema, path, errors);
    types(schema, level, path, errors);
    resource(schema, level, path, errors);
}

fn int_or_string(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for keyword in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if flag(schema, keyword) {
            let problem = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(&path.field(keyword), true, problem));
        }
    }
}

fn types(schema: &Value, level: Level, path: &Path<'_>, errors: &mut FieldErrors) {
    let ty = text(schema, "type");
    let path = path.field("type");
    let any = flag(schema, "x-kubernetes-int-or-string")
        || flag(schema, "x-kubernetes-preserve-unknown-fields");
    if flag(schema, "x-kubernetes-embedded-resource") && ty != "object" {
        let problem = "must be object if x-kubernetes-embedded-resource is true";
        errors.push(match ty {
            "" => FieldError::required(&path, problem),
            ty => FieldError::invalid(&path, ty, problem),
        });
    } else if ty.is_empty() && !any {
        let problem = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.push(FieldError::required(&path, problem));
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        errors.push(FieldError::invalid(&path, ty, "must be object at the root"));
    }
}

/// The fields that every resource has.
fn resource(schema: &Value, level: Level, path: &Path<'_>, errors: &mut FieldErrors) {
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let properties = path.field("properties");
    if embedded && given(schema, "additionalProperties").is_some() {
        let problem = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            &path.field("additionalProperties"),
            problem,
        ));
    }
    let is_resource = level == Level::Root || embedded;
    let property =
        |name: &str| subschema(schema, "properties").and_then(|properties| properties.get(name));
    for name in ["kind", "apiVersion"] {
        let ty = property(name).map(|property| text(property, "type"));
        if let Some(ty) = ty.filter(|ty| is_resource && *ty != "string") {
            let path = properties.key(name);
            errors.push(FieldError::invalid(
                &path.field("type"),
                ty,
                "must be string",
            ));
        }
    }
    if let Some(metadata) = property("metadata") {
        let path = properties.key("metadata");
        if is_resource && text(metadata, "type") != "object" {
            let ty = text(metadata, "type");
            errors.push(FieldError::invalid(
                &path.field("type"),
                ty,
                "must be object",
            ));
        }
        if level == Level::Root && !restricts_names_only(metadata) {
            let problem = "must not specify anything other than name and generateName, but metadata is implicitly \
                           specified";
            errors.push(FieldError::forbidden(&path, problem));
        }
    }
    let empty = entries(schema, "properties").next().is_none();
    if embedded && !flag(schema, "x-kubernetes-preserve-unknown-fields") && empty {
        let problem = "must not be empty if x-kubernetes-embedded-resource is true without \
                       x-kubernetes-preserve-unknown-fields";
        errors.push(FieldError::required(&properties, problem));
    }
}

fn restricts_names_only(metadata: &Value) -> bool {
    let names_only = entries(metadata, "properties")
        .all(|(name, _)| matches!(name.as_str(), "name" | "generateName"));
    let mut keywords = metadata.as_object().map_or_else(Map::new, Clone::clone);
    for keyword in ["type", "properties", "default"] {
        keywords.remove(keyword);
    }
    names_only && keywords.values().all(is_nothing)
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// Checks patterns, and forbids structural keywords in value validations, except types in the `anyOf` of int-or-string.
fn value_rules(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let alternatives = nested::all(schema).filter(|(link, _)| link.is_alternative());
    let skip_any_of = is_int_or_string_pattern(schema);
    for (link, below) in alternatives {
        let skipped = skip_any_of && matches!(link, Link::Alternative("anyOf", _));
        if !skipped {
            let first_all_of = link == Link::Alternative("allOf", 0);
            link.with_path(path, |path| alternative(below, first_all_of, path, errors));
        }
    }
    pattern(schema, path, errors);
}

fn pattern(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let pattern = text(schema, "pattern");
    if let Err(problem) = Pattern::compile(pattern) {
        let problem = format!("must be a valid regular expression, but isn't: {problem}");
        errors.push(FieldError::invalid(
            &path.field("pattern"),
            pattern,
            problem,
        ));
    }
}

fn is_int_or_string_pattern(schema: &Value) -> bool {
    let types: Vec<&str> = list(schema, "anyOf")
        .iter()
        .map(|below| text(below, "type"))
        .collect();
    let bare = list(schema, "anyOf").iter().all(|below| {
        below
            .as_object()
            .is_some_and(|keywords| keywords.len() == 1)
    });
    types == ["integer", "string"] && bare
}

/// Keywords that an alternative may not have, with what they must be instead.
const FORBIDDEN: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-embedded-resource",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-int-or-string",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-list-map-keys",
        "must be empty to be structural",
    ),
    (
        "x-kubernetes-list-type",
        "must be undefined to be structural",
    ),
    (
        "x-kubernetes-map-type",
        "must be undefined to be structural",
    ),
];

fn alternative(schema: &Value, may_be_pattern: bool, path: &Path<'_>, errors: &mut FieldErrors) {
    let skip_any_of = may_be_pattern && is_int_or_string_pattern(schema);
    for (link, below) in nested::all(schema) {
        let skipped = link == Link::Additional
            || (skip_any_of && matches!(link, Link::Alternative("anyOf", _)));
        if !skipped {
            link.with_path(path, |path| alternative(below, false, path, errors));
        }
    }
    pattern(schema, path, errors);
    for (keyword, problem) in FORBIDDEN {
        let said = match schema.get(keyword) {
            None => false,
            Some(value) if keyword == "default" => !value.is_null(),
            Some(Value::Bool(false)) if keyword == "additionalProperties" => false,
            Some(value) => {
                !is_nothing(value) || (keyword == "additionalProperties" && value.is_object())
            }
        };
        if said {
            errors.push(FieldError::forbidden(&path.field(keyword), problem));
        }
    }
    if !list(schema, "x-kubernetes-validations").is_empty() {
        let path = path.field("x-kubernetes-validations");
        errors.push(FieldError::forbidden(
            &path,
            "must be empty to be structural",
        ));
    }
    if subschema(schema, "properties")
        .is_some_and(|properties| properties.get("metadata").is_some())
    {
        let path = path.field("properties");
        errors.push(FieldError::forbidden(
            &path.key("metadata"),
            "must not be specified in a nested context",
        ));
    }
}

/// Requires that fields named in value validations are also declared structurally.
fn complete(
    inner: &Value,
    outer: &Value,
    outer_path: &Path<'_>,
    inner_path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    for (link, below) in nested::all(inner).filter(|(link, _)| link.is_alternative()) {
        link.with_path(inner_path, |inner_path| {
            complete_alternative(below, outer, outer_path, inner_path, errors);
        });
    }
}

fn complete_alternative(
    inner: &Value,
    outer: &Value,
    outer_path: &Path<'_>,
    inner_path: &Path<'_>,
    errors: &mut FieldErrors,
) {
    complete(inner, outer, outer_path, inner_path, errors);
    for (link, below) in nested::all(inner) {
        let declared = match link {
            Link::Items => subschema(outer, "items"),
            Link::Property(name) => {
                subschema(outer, "properties").and_then(|properties| properties.get(name))
            }
            Link::Additional | Link::Not | Link::Alternative(..) => continue,
        };
        link.with_path(outer_path, |outer_path| {
            link.with_path(inner_path, |inner_path| match declared {
                Some(outer) => complete_alternative(below, outer, outer_path, inner_path, errors),
                None => {
                    let problem = format!("because it is defined in {inner_path}");
                    errors.push(FieldError::required(outer_path, problem));
                }
            });
        });
    }
}

/// The keys of a list with keys.
pub(super) fn list_map_keys(schema: &Value) -> Vec<&str> {
    texts(schema, "x-kubernetes-list-map-keys").collect()
}
