//! Validation of environment variables.

use lockstep_object::Value;
use lockstep_object::field::{FieldError, Path};

use super::{Errors, push_problems, resources, subdomain};
use crate::look::{list, some, text};

const SOURCES: [&str; 5] = [
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
];

/// Pod fields available to the downward API.
const FIELDS: [&str; 9] = [
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

fn name_problems(name: &str) -> Vec<String> {
    let is_printable = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'=';
    if name.bytes().all(is_printable) {
        return Vec::new();
    }
    let why = "a valid environment variable name must consist only of printable ASCII characters other than '='";
    vec![why.to_owned()]
}

pub(super) fn variables(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("env");
    for (index, variable) in list(container, "env").iter().enumerate() {
        let path = path.index(index);
        let name = text(variable, "name");
        if name.is_empty() {
            errors.push_with(|| FieldError::required(&path.field("name"), ""));
        } else {
            push_problems(name_problems(name), name, &path.field("name"), errors);
        }
        if let Some(from) = some(variable, "valueFrom") {
            let is_set = !text(variable, "value").is_empty();
            value_from(from, is_set, &path.field("valueFrom"), errors);
        }
    }
}

fn value_from(from: &Value, is_set: bool, path: &Path<'_>, errors: &mut Errors) {
    let given: Vec<&str> = SOURCES
        .into_iter()
        .filter(|name| some(from, name).is_some())
        .collect();
    for name in &given {
        let (source, path) = (&from[*name], path.field(name));
        match *name {
            "fieldRef" => pod_field(source, &path, errors),
            "resourceFieldRef" => resources::field_selector(source, &path, errors),
            "fileKeyRef" => {}
            _ => key_of(source, &path, errors),
        }
    }
    let why = match given.len() {
        0 => {
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        }
        _ if is_set => "may not be specified when `value` is not empty",
        1 => return,
        _ => "may not have more than one field specified at a time",
    };
    errors.push_with(|| FieldError::invalid(path, "", why));
}

fn key_of(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    subdomain(text(source, "name"), &path.field("name"), errors);
    let key = text(source, "key");
    if key.is_empty() {
        errors.push_with(|| FieldError::required(&path.field("key"), ""));
    } else {
        let problems = lockstep_object::names::config_key(key);
        push_problems(problems, key, &path.field("key"), errors);
    }
}

/// A field of the pod, or one of its labels or annotations.
fn pod_field(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    let place = path.field("fieldPath");
    let field = text(source, "fieldPath");
    let is_entry = ["metadata.labels['", "metadata.annotations['"]
        .iter()
        .any(|start| field.starts_with(start) && field.ends_with("']"));
    let version = text(source, "apiVersion");
    if version.is_empty() {
        errors.push_with(|| FieldError::required(&path.field("apiVersion"), ""));
    } else if field.is_empty() {
        errors.push_with(|| FieldError::required(&place, ""));
    } else if version != "v1" {
        let why = format!("error converting fieldPath: unsupported pod version: {version}");
        errors.push_with(|| FieldError::invalid(&place, field, why));
    } else if !is_entry && !FIELDS.contains(&field) {
        let why = format!("error converting fieldPath: field label not supported: {field}");
        errors.push_with(|| FieldError::invalid(&place, field, why));
    }
}

pub(super) fn sources(container: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.field("envFrom");
    for (index, source) in list(container, "envFrom").iter().enumerate() {
        let place = path.index(index);
        let prefix = text(source, "prefix");
        push_problems(
            name_problems(prefix),
            prefix,
            &place.field("prefix"),
            errors,
        );
        let given = ["configMapRef", "secretRef"].into_iter();
        let given: Vec<&str> = given.filter(|name| some(source, name).is_some()).collect();
        for name in &given {
            let (of, name_path) = (text(&source[*name], "name"), place.field(name));
            let name_path = name_path.field("name");
            if of.is_empty() {
                errors.push_with(|| FieldError::required(&name_path, ""));
            } else {
                subdomain(of, &name_path, errors);
            }
        }
        let why = match given.len() {
            0 => "must specify one of: `configMapRef` or `secretRef`",
            1 => continue,
            _ => "may not have more than one field specified at a time",
        };
        errors.push_with(|| FieldError::invalid(&path, "", why));
    }
}
