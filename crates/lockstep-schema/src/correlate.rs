//! Which stored value a new one replaces.

use crate::lists::keys_of;
use crate::node::ListKind;
use lockstep_object::json;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The stored value at the same place, if there is one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Old<'a>(pub(crate) Option<&'a Value>);

impl Old<'_> {
    pub(crate) const NONE: Old<'static> = Old(None);

    /// Whether nothing changed here.
    pub(crate) fn equals(self, value: &Value) -> bool {
        self.0 == Some(value)
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

/// The stored elements of a list, by their keys. Elements without keys are not told apart.
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
