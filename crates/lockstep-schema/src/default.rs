//! Defaulting.

use crate::node::{Additional, Node};
use serde_json::Value;

/// Drops nulls that may not be and have no default, then fills in defaults.
pub(crate) fn default_root(value: &mut Value, root: &Node) {
    drop_nulls(value, root);
    if root.work.defaults {
        fill(value, root);
    }
}

pub(crate) fn drop_nulls(value: &mut Value, node: &Node) {
    match value {
        Value::Object(entries) => entries.retain(|name, value| {
            let Some(node) = node.field(name) else {
                return true;
            };
            if value.is_null() {
                return node.nullable || node.default().is_some();
            }
            drop_nulls(value, node);
            true
        }),
        Value::Array(elements) => {
            if let Some(items) = node.items() {
                for element in elements {
                    drop_nulls(element, items);
                }
            }
        }
        _ => {}
    }
}

fn fill(value: &mut Value, node: &Node) {
    match value {
        Value::Object(entries) => {
            for (name, property) in node.properties().iter() {
                let Some(default) = property.default() else {
                    continue;
                };
                let missing = match entries.get(name) {
                    None => true,
                    Some(found) => found.is_null() && !property.nullable,
                };
                if missing {
                    entries.insert(name.to_owned(), default.clone());
                }
            }
            for (name, value) in entries.iter_mut() {
                match (node.properties().get(name), node.additional()) {
                    (Some(property), _) if property.work.defaults => fill(value, property),
                    (None, Additional::Schema(schema)) if schema.work.defaults => {
                        fill_element(value, schema);
                    }
                    _ => {}
                }
            }
        }
        Value::Array(elements) => {
            if let Some(items) = node.items().filter(|items| items.work.defaults) {
                for element in elements {
                    fill_element(element, items);
                }
            }
        }
        _ => {}
    }
}

/// A null that may not be becomes the default also in lists and maps.
fn fill_element(value: &mut Value, node: &Node) {
    if let (Value::Null, false, Some(default)) = (&*value, node.nullable, node.default()) {
        *value = default.clone();
    }
    fill(value, node);
}
