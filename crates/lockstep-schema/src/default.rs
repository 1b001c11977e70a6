//! Defaulting.

use crate::node::{Additional, Node};
use serde_json::Value;

/// Drops nulls that may not be and have no default, then fills in defaults.
pub(crate) fn default_root(value: &mut Value, root: &Node) {
    drop_nulls(value, root);
    if root.work.defaults {
        let mut filler = Filler {
            room: DEFAULTED_BYTES_MAX,
        };
        // An object with more defaults is too large to be stored even with those that fit.
        let _filled: Result<(), TooMany> = filler.fill(value, root);
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

/// Bytes that defaults may add to an object as JSON. More than an object may have when it is stored, so one that would
/// have more is refused there; filling stops before it takes the memory of all its defaults.
pub const DEFAULTED_BYTES_MAX: usize = 2 << 20;

/// The defaults of an object are more than [`DEFAULTED_BYTES_MAX`].
struct TooMany;

/// Fills in defaults.
struct Filler {
    /// Bytes that may still be added.
    room: usize,
}

impl Filler {
    fn fill(&mut self, value: &mut Value, node: &Node) -> Result<(), TooMany> {
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
                        self.take(name.len() + 3 + encoded_bytes(default))?;
                        entries.insert(name.to_owned(), default.clone());
                    }
                }
                for (name, value) in entries.iter_mut() {
                    match (node.properties().get(name), node.additional()) {
                        (Some(property), _) if property.work.defaults => {
                            self.fill(value, property)?;
                        }
                        (None, Additional::Schema(schema)) if schema.work.defaults => {
                            self.fill_element(value, schema)?;
                        }
                        _ => {}
                    }
                }
            }
            Value::Array(elements) => {
                if let Some(items) = node.items().filter(|items| items.work.defaults) {
                    for element in elements {
                        self.fill_element(element, items)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A null that may not be becomes the default also in lists and maps.
    fn fill_element(&mut self, value: &mut Value, node: &Node) -> Result<(), TooMany> {
        if let (Value::Null, false, Some(default)) = (&*value, node.nullable, node.default()) {
            self.take(encoded_bytes(default))?;
            *value = default.clone();
        }
        self.fill(value, node)
    }

    fn take(&mut self, bytes: usize) -> Result<(), TooMany> {
        self.room = self.room.checked_sub(bytes).ok_or(TooMany)?;
        Ok(())
    }
}

/// Bytes of a value as JSON, or a little less.
fn encoded_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 1,
        Value::String(text) => text.len() + 2,
        Value::Array(elements) => 2 + elements.iter().map(encoded_bytes).sum::<usize>(),
        Value::Object(entries) => {
            let bytes = entries
                .iter()
                .map(|(name, value)| name.len() + 3 + encoded_bytes(value));
            2 + bytes.sum::<usize>()
        }
    }
}
