//! Uniqueness of items in sets and associative lists.

use crate::node::{Additional, ListKind, Node};
use lockstep_object::field::{FieldError, FieldErrors, Path};
use lockstep_object::json;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Reports duplicate items of sets and duplicate keys of associative lists.
pub(crate) fn validate(value: &Value, node: &Node, path: &Path<'_>, errors: &mut FieldErrors) {
    if !node.work.lists {
        return;
    }
    match value {
        Value::Object(entries) => {
            if let Additional::Schema(schema) = node.additional() {
                for (name, value) in entries {
                    validate(value, schema, &path.key(name), errors);
                }
            }
            for (name, value) in entries {
                if let Some(property) = node.properties().get(name) {
                    validate(value, property, &path.field(name), errors);
                }
            }
        }
        Value::Array(elements) => {
            match node.list_kind() {
                ListKind::Atomic => {}
                ListKind::Set => validate_set(elements, path, errors),
                ListKind::Map(keys) => validate_map(elements, keys, path, errors),
            }
            if let Some(items) = node.items() {
                for (index, element) in elements.iter().enumerate() {
                    validate(element, items, &path.index(index), errors);
                }
            }
        }
        _ => {}
    }
}

fn validate_set(elements: &[Value], path: &Path<'_>, errors: &mut FieldErrors) {
    for index in repeated(elements.iter().map(json::encode)) {
        errors.push(FieldError::duplicate(&path.index(index), &elements[index]));
    }
}

fn validate_map(elements: &[Value], keys: &[Box<str>], path: &Path<'_>, errors: &mut FieldErrors) {
    let wrong = elements
        .iter()
        .position(|element| !element.is_object() && !element.is_null());
    if let Some(index) = wrong {
        let problem = "must be an object for an array of list-type map";
        errors.push(FieldError::invalid(
            &path.index(index),
            &elements[index],
            problem,
        ));
        return;
    }
    let keys: Vec<Value> = elements
        .iter()
        .map(|element| Value::Object(keys_of(element, keys)))
        .collect();
    for index in repeated(keys.iter().map(json::encode)) {
        errors.push(FieldError::duplicate(&path.index(index), &keys[index]));
    }
}

/// The keys an element has.
pub(crate) fn keys_of(element: &Value, keys: &[Box<str>]) -> Map<String, Value> {
    let found = keys
        .iter()
        .filter_map(|key| Some((key.to_string(), element.get(&**key)?.clone())));
    found.collect()
}

/// The index of each second occurrence.
fn repeated(encoded: impl Iterator<Item = Vec<u8>>) -> Vec<usize> {
    let mut seen: BTreeMap<Vec<u8>, bool> = BTreeMap::new();
    let mut repeated = Vec::new();
    for (index, text) in encoded.enumerate() {
        match seen.get_mut(&text) {
            None => {
                seen.insert(text, false);
            }
            Some(reported) if !*reported => {
                *reported = true;
                repeated.push(index);
            }
            Some(_) => {}
        }
    }
    repeated
}
