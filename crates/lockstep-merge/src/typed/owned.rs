//! Field sets of applied configurations.

use std::collections::BTreeMap;

use serde_json::Value;

use super::TypeErrors;
use crate::fields::{Element, Node, Set};
use crate::types::{Form, List, Type};

impl Type<'_> {
    /// The field set of an applied value (upstream's `ToFieldSet`): scalars, atomic values, list items and undeclared
    /// fields.
    pub fn owned(self, value: &Value) -> Result<Set, TypeErrors> {
        Ok(self.owned_at(value)?.below)
    }

    fn owned_at(self, value: &Value) -> Result<Node, TypeErrors> {
        match (self.form(Some(value)), value) {
            (Form::Scalar(_), _) => Ok(Node::leaf()),
            (Form::List(list), _) if list.is_atomic() => Ok(Node::leaf()),
            (Form::Map(fields), _) if fields.is_atomic => Ok(Node::leaf()),
            (Form::List(list), Value::Array(items)) => self.owned_items(list, items),
            (Form::Map(fields), Value::Object(entries)) => {
                let mut node = Node::default();
                for (name, value) in entries {
                    let mut below = self.field_or_anything(fields, name).owned_at(value)?;
                    let is_empty =
                        value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                    below.is_member |= is_empty || !fields.declared.contains_key(&**name);
                    node.below.attach(Element::field(name), below);
                }
                Ok(node)
            }
            (Form::List(_) | Form::Map(_), _) => Ok(Node::default()),
        }
    }

    /// Duplicated items are members without descendants, because their paths would be ambiguous.
    fn owned_items(self, list: &List, items: &[Value]) -> Result<Node, TypeErrors> {
        let mut seen: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
        for (element, item) in list.elements(items)? {
            seen.entry(element).or_default().push(item);
        }
        let mut node = Node::default();
        for (element, same) in seen {
            let mut below = match &*same {
                [item] => self
                    .items(list)
                    .owned_at(item)
                    .map_err(|errors| errors.below(&element))?,
                _ => Node::default(),
            };
            below.is_member = true;
            node.below.attach(element, below);
        }
        Ok(node)
    }
}
