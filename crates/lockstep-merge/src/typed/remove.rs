//! Taking fields out of a value.

use serde_json::Value;

use crate::fields::{Element, Node, Set};
use crate::types::{Form, Type};

/// What becomes of a field that holds nothing any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Emptied {
    Goes,
    IsNull,
}

impl Type<'_> {
    /// A value without some fields. What held nothing else stays, empty: somebody else may own it.
    pub fn without(self, value: &Value, gone: &Set) -> Value {
        self.rest_of(value, gone, Emptied::Goes).unwrap_or_default()
    }

    /// The same, but fields that hold nothing any more are there as nulls: somebody may own them.
    pub(crate) fn emptied_of(self, value: &Value, gone: &Set) -> Value {
        self.rest_of(value, gone, Emptied::IsNull)
            .unwrap_or_default()
    }

    fn rest_of(self, value: &Value, gone: &Set, emptied: Emptied) -> Option<Value> {
        match (self.form(Some(value)), value) {
            (Form::Scalar(_), _) => Some(value.clone()),
            (Form::Map(fields), Value::Object(entries)) if !fields.is_atomic => {
                let rest = entries.iter().filter_map(|(name, value)| {
                    let field = self.field_or_anything(fields, name);
                    let rest = match gone.node(&Element::field(name)) {
                        None => Some(value.clone()),
                        Some(node) if node.is_member => None,
                        Some(node) => {
                            let rest = field.rest_of(value, &node.below, emptied);
                            rest.or((emptied == Emptied::IsNull).then_some(Value::Null))
                        }
                    };
                    Some((name.clone(), rest?))
                });
                Some(rest.collect())
            }
            (Form::List(list), Value::Array(items)) if !list.is_atomic() => {
                let rest = items.iter().filter_map(|item| {
                    let element = list.element(item).ok();
                    match element.and_then(|element| gone.node(&element)) {
                        None => Some(item.clone()),
                        Some(node) if node.is_member => None,
                        Some(node) => {
                            let rest = self.items(list).rest_of(item, &node.below, emptied);
                            Some(rest.unwrap_or_else(|| serde_json::json!({})))
                        }
                    }
                });
                Some(rest.collect())
            }
            _ => None,
        }
    }

    /// A set in which whoever owns something inside of a declared field owns the field too.
    pub(crate) fn with_named(self, set: &Set) -> Set {
        named(Some(self), set)
    }
}

fn named(at: Option<Type<'_>>, set: &Set) -> Set {
    let map = at.and_then(|at| at.shape().map.as_ref());
    let list = at.and_then(|at| at.shape().list.as_ref());
    set.map(|element, node| {
        let mut is_declared = false;
        let inside = match element {
            Element::Field(name) => map.and_then(|map| {
                is_declared = map.declared.contains_key(name);
                at.and_then(|at| at.field(map, name))
            }),
            Element::Keys(_) => list.and_then(|list| at.map(|at| at.items(list))),
            Element::Value(_) | Element::Index(_) => None,
        };
        Some(Node {
            is_member: node.is_member || (is_declared && !node.below.is_empty()),
            below: named(inside, &node.below),
        })
    })
}
