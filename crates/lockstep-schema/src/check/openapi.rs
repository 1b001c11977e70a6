//! Rules for all schemas, structural or not.

use super::extensions;
use super::nested::{self, Link};
use super::structural::is_given;
use crate::keywords::{entries, flag, given, list, schema as subschema, text};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::metadata::is_type_or_metadata;
use serde_json::Value;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Keywords allowed at the root with a status subresource, in the spelling of upstream's message.
const ROOT_KEYWORDS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "XPreserveUnknownFields",
    ),
    ("x-kubernetes-validations", "XValidations"),
];

pub(super) fn check_root_with_status(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let ty = text(schema, "type");
    if !ty.is_empty() && ty != "object" {
        let problem = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                       enabled";
        errors.push(FieldError::invalid(&path.field("type"), ty, problem));
        return;
    }
    let allowed = |keyword: &str| ROOT_KEYWORDS.iter().any(|(known, _)| *known == keyword);
    let mut keywords = schema.as_object().into_iter().flatten();
    if keywords.any(|(keyword, _)| !allowed(keyword) && is_given(schema, keyword)) {
        let names: Vec<&str> = ROOT_KEYWORDS.iter().map(|(_, name)| *name).collect();
        let names = names.join(" ");
        let problem = format!(
            "only [{names}] fields are allowed at the root of the schema if the status subresource is enabled"
        );
        errors.push(FieldError::invalid(path, schema, problem));
    }
}

/// Context inherited from the parent schemas.
#[derive(Clone, Default)]
struct Context {
    inside_metadata: bool,
    no_defaults: Option<String>,
    is_root: bool,
}

pub(super) fn check(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let context = Context {
        is_root: true,
        ..Context::default()
    };
    check_at(schema, &context, path, errors);
}

fn check_at(schema: &Value, context: &Context, path: &Path<'_>, errors: &mut FieldErrors) {
    check_standard(schema, context, path, errors);
    if flag(schema, "uniqueItems") {
        let problem =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.push(FieldError::forbidden(&path.field("uniqueItems"), problem));
    }
    let has_properties = entries(schema, "properties").next().is_some();
    let additional = given(schema, "additionalProperties");
    if has_properties && additional.is_some_and(|additional| *additional != Value::Bool(true)) {
        let problem = "additionalProperties and properties are mutual exclusive";
        errors.push(FieldError::forbidden(
            &path.field("additionalProperties"),
            problem,
        ));
    }
    for (link, below) in nested::all(schema) {
        let context = inner_context(schema, context, link);
        link.with_path(path, |path| check_at(below, &context, path, errors));
    }
    extensions::check(schema, path, errors);
}

fn inner_context(schema: &Value, context: &Context, link: Link<'_>) -> Context {
    let mut inner = Context {
        is_root: false,
        ..context.clone()
    };
    match link {
        Link::Additional if context.inside_metadata => {
            inner.no_defaults =
                Some("inside additionalProperties applying to object metadata".to_owned());
        }
        Link::Property(name) if is_type_or_metadata(name) => {
            if context.is_root || flag(schema, "x-kubernetes-embedded-resource") {
                inner.inside_metadata = true;
            }
            if context.is_root {
                inner.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        _ => {}
    }
    inner
}

fn check_standard(schema: &Value, context: &Context, path: &Path<'_>, errors: &mut FieldErrors) {
    let mut forbid = |keyword: &str, problem: String| {
        errors.push(FieldError::forbidden(&path.field(keyword), problem));
    };
    if let (Some(_), Some(reason)) = (given(schema, "default"), &context.no_defaults) {
        forbid("default", format!("must not be set {reason}"));
    }
    for keyword in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        if is_given(schema, keyword) {
            forbid(keyword, format!("{keyword} is not supported"));
        }
    }
    if text(schema, "type") == "null" {
        forbid(
            "type",
            "type cannot be set to null, use nullable as an alternative".to_owned(),
        );
    }
    if !list(schema, "items").is_empty() {
        forbid(
            "items",
            "items must be a schema object and not an array".to_owned(),
        );
    }
    if context.inside_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        let problem = "must not be used inside of resource meta".to_owned();
        forbid("x-kubernetes-embedded-resource", problem);
    }
    let ty = text(schema, "type");
    if !ty.is_empty() && !TYPES.contains(&ty) {
        errors.push(FieldError::not_supported(&path.field("type"), ty, TYPES));
    }
    if given(schema, "items").is_some_and(|items| !items.is_object() && !items.is_array()) {
        let items = subschema(schema, "items").cloned().unwrap_or_default();
        errors.push(FieldError::type_invalid(
            &path.field("items"),
            &items,
            "must be a schema",
        ));
    }
}
