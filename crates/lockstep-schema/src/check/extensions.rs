//! Validation of the `x-kubernetes-*` keywords, except CEL expressions.

use super::structural::list_map_keys;
use crate::keywords::{flag, given, list, schema as subschema, text, texts};
use crate::rules::{REASONS, normalised};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use std::collections::BTreeSet;

use serde_json::Value;

pub(super) fn check(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let preserve = "x-kubernetes-preserve-unknown-fields";
    if schema.get(preserve) == Some(&Value::Bool(false)) {
        errors.push(FieldError::invalid(
            &path.field(preserve),
            false,
            "must be true or undefined",
        ));
    }
    map_type(schema, path, errors);
    list_type(schema, path, errors);
    if text(schema, "x-kubernetes-list-type") == "map" {
        list_map(schema, path, errors);
    }
    list_items(schema, path, errors);
    let rules_path = path.field("x-kubernetes-validations");
    for (index, rule) in list(schema, "x-kubernetes-validations").iter().enumerate() {
        check_rule(schema, rule, &rules_path.index(index), errors);
    }
}

/// Requires a certain type for a keyword.
fn needs_type(
    schema: &Value,
    keyword: &str,
    wanted: &str,
    path: &Path<'_>,
    errors: &mut FieldErrors,
) -> bool {
    let ty = text(schema, "type");
    if ty == wanted {
        return true;
    }
    let problem = format!("must be {wanted} if {keyword} is specified");
    let path = path.field("type");
    errors.push(match ty {
        "" => FieldError::required(&path, problem),
        ty => FieldError::invalid(&path, ty, problem),
    });
    false
}

fn map_type(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let keyword = "x-kubernetes-map-type";
    let Some(kind) = given(schema, keyword).and_then(Value::as_str) else {
        return;
    };
    needs_type(schema, keyword, "object", path, errors);
    if !matches!(kind, "atomic" | "granular") {
        errors.push(FieldError::not_supported(
            &path.field(keyword),
            kind,
            ["atomic", "granular"],
        ));
    }
}

fn list_type(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let keyword = "x-kubernetes-list-type";
    let kind = given(schema, keyword).and_then(Value::as_str);
    if let Some(kind) = kind {
        let is_list = needs_type(schema, keyword, "array", path, errors);
        if let (true, "set", Some(items)) = (is_list, kind, subschema(schema, "items")) {
            set_items(items, path, errors);
        }
        if !matches!(kind, "atomic" | "set" | "map") {
            errors.push(FieldError::not_supported(
                &path.field(keyword),
                kind,
                ["atomic", "set", "map"],
            ));
        }
    }
    if !list_map_keys(schema).is_empty() && kind != Some("map") {
        let problem = "must be map if x-kubernetes-list-map-keys is non-empty";
        let path = path.field(keyword);
        errors.push(match kind {
            None => FieldError::required(&path, problem),
            Some(kind) => FieldError::invalid(&path, kind, problem),
        });
    }
}

/// Elements of a set are compared whole, so they are changed whole.
fn set_items(items: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let keyword = match text(items, "type") {
        "array" if !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic") => {
            "x-kubernetes-list-type"
        }
        "object" if text(items, "x-kubernetes-map-type") != "atomic" => "x-kubernetes-map-type",
        _ => return,
    };
    let problem = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let found = given(items, keyword).cloned().unwrap_or_default();
    let path = path.field("items");
    errors.push(FieldError::invalid(&path.field(keyword), &found, problem));
}

fn list_map(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let keyword = "x-kubernetes-list-map-keys";
    let keys = list_map_keys(schema);
    if keys.is_empty() {
        let problem = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&path.field(keyword), problem));
    }
    let Some(items) = subschema(schema, "items") else {
        let problem = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(&path.field("items"), problem));
        return;
    };
    let items_path = path.field("items");
    let ty = text(items, "type");
    if ty != "object" {
        let problem = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(&items_path.field("type"), ty, problem));
        return;
    }
    let properties_path = items_path.field("properties");
    let mut seen = BTreeSet::new();
    for key in &keys {
        match subschema(items, "properties").and_then(|properties| properties.get(*key)) {
            Some(property) if matches!(text(property, "type"), "array" | "object") => {
                let problem =
                    "must be a scalar type if parent array's x-kubernetes-list-type is map";
                let path = properties_path.key(key);
                errors.push(FieldError::invalid(&path.field("type"), ty, problem));
            }
            Some(_) => {}
            None => {
                let problem = "entries must all be names of item properties";
                errors.push(FieldError::invalid(&path.field(keyword), &*keys, problem));
            }
        }
        if !seen.insert(key) {
            let problem = "must not contain duplicate entries";
            errors.push(FieldError::invalid(&path.field(keyword), &*keys, problem));
        }
    }
}

/// Requires items, and the declared key fields, of sets and associative lists.
fn list_items(schema: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let kind = text(schema, "x-kubernetes-list-type");
    let (Some(items), "set" | "map") = (subschema(schema, "items"), kind) else {
        return;
    };
    let path = path.field("items");
    if flag(items, "nullable") {
        let problem = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(FieldError::forbidden(&path.field("nullable"), problem));
    }
    if kind != "map" {
        return;
    }
    let properties_path = path.field("properties");
    for key in list_map_keys(schema) {
        let Some(property) =
            subschema(items, "properties").and_then(|properties| properties.get(key))
        else {
            continue;
        };
        let path = properties_path.key(key);
        if given(property, "default").is_none()
            && !texts(items, "required").any(|required| required == key)
        {
            let problem = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                           property";
            errors.push(FieldError::required(&path.field("default"), problem));
        }
        if flag(property, "nullable") {
            let problem =
                "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            errors.push(FieldError::forbidden(&path.field("nullable"), problem));
        }
    }
}

fn check_rule(schema: &Value, rule: &Value, path: &Path<'_>, errors: &mut FieldErrors) {
    let has_break = |text: &str| text.contains(['\n', '\r']);
    let (expression, message) = (text(rule, "rule").trim(), text(rule, "message"));
    let message_path = path.field("message");
    if expression.is_empty() {
        errors.push(FieldError::required(
            &path.field("rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(
            &message_path,
            message,
            "must be non-empty if specified",
        ));
    } else if has_break(message.trim()) {
        errors.push(FieldError::invalid(
            &message_path,
            message,
            "must not contain line breaks",
        ));
    } else if has_break(expression) && message.is_empty() {
        let problem = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(&message_path, problem));
    }
    let message_expression = text(rule, "messageExpression");
    if !message_expression.is_empty() && message_expression.trim().is_empty() {
        let problem = "messageExpression must be non-empty if specified";
        errors.push(FieldError::required(
            &path.field("messageExpression"),
            problem,
        ));
    }
    if let Some(reason) = given(rule, "reason")
        && !REASONS.iter().any(|(word, _)| reason == word)
    {
        let words = REASONS.iter().map(|(word, _)| *word);
        errors.push(FieldError::not_supported(
            &path.field("reason"),
            reason,
            words,
        ));
    }
    let field_path = text(rule, "fieldPath");
    let path = path.field("fieldPath");
    if !field_path.is_empty() && field_path.trim().is_empty() {
        errors.push(FieldError::invalid(
            &path,
            field_path,
            "must be non-empty if specified",
        ));
    }
    if has_break(field_path) {
        errors.push(FieldError::invalid(
            &path,
            field_path,
            "must not contain line breaks",
        ));
    }
    if normalised(field_path, schema).is_err() {
        errors.push(FieldError::invalid(
            &path,
            field_path,
            "must be a valid path",
        ));
    }
}
