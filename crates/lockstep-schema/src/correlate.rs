//! Correlation of new values with the stored values they replace, for ratcheting and transition rules.

use crate::lists::keys_of;
use crate::node::{Additional, ListKind, Node};
use lockstep_object::json;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The stored value at the same place, if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Old<'a>(pub(crate) Option<&'a Value>);

impl Old<'_> {
    pub(crate) const NONE: Old<'static> = Old(None);

    /// True if the value is unchanged, as its schema compares values.
    pub(crate) fn equals(self, node: &Node, value: &Value) -> bool {
        self.0.is_some_and(|old| is_same(node, old, value))
    }

    /// The stored value of a field.
    pub(crate) fn field(self, name: &str) -> Self {
        Self(
            self.0
                .and_then(Value::as_object)
                .and_then(|entries| entries.get(name)),
        )
    }
}

/// True if two values are equal; the order of items in associative lists is ignored.
pub(crate) fn is_same(node: &Node, old: &Value, new: &Value) -> bool {
    if old == new {
        return true;
    }
    match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            old.len() == new.len()
                && new.iter().all(|(name, new)| {
                    old.get(name).is_some_and(|old| match child(node, name) {
                        Some(child) => is_same(child, old, new),
                        None => old == new,
                    })
                })
        }
        (Value::Array(elements), Value::Array(new)) => {
            let (ListKind::Map(_), Some(items)) = (node.list_kind(), node.items()) else {
                return false;
            };
            let stored = List::new(node.list_kind(), Old(Some(old)));
            elements.len() == new.len()
                && new.iter().all(|new| stored.element(new).equals(items, new))
        }
        _ => false,
    }
}

fn child<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.properties().get(name).or(match node.additional() {
        Additional::Schema(schema) => Some(schema),
        Additional::Unspecified | Additional::Allowed(_) => None,
    })
}

/// Stored items of an associative list by key. Items without keys do not correlate.
pub(crate) struct List<'a> {
    keys: &'a [Box<str>],
    elements: BTreeMap<Vec<u8>, &'a Value>,
}

impl<'a> List<'a> {
    pub(crate) fn new(kind: &'a ListKind, old: Old<'a>) -> Self {
        let ListKind::Map(keys) = kind else {
            return Self {
                keys: &[],
                elements: BTreeMap::new(),
            };
        };
        let stored = old.0.and_then(Value::as_array).into_iter().flatten();
        let mut elements = BTreeMap::new();
        for element in stored {
            elements
                .entry(encoded(keys_of(element, keys)))
                .or_insert(element);
        }
        Self { keys, elements }
    }

    /// The stored element with the same keys.
    pub(crate) fn element(&self, element: &Value) -> Old<'a> {
        if self.elements.is_empty() {
            return Old(None);
        }
        Old(self
            .elements
            .get(&encoded(keys_of(element, self.keys)))
            .copied())
    }
}

fn encoded(keys: Map<String, Value>) -> Vec<u8> {
    json::encode(&Value::Object(keys))
}
