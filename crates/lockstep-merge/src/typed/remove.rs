//! Taking fields out of a value.

use serde_json::Value;

use crate::fields::{Element, Node, Set};
use crate::types::{Form, Type};

/// What becomes of a field that holds nothing any more.
#[derive(Debug, Clone, Copy)]
enum Emptied<'a> {
    Goes,
    IsNull,
    /// It stays, empty, if somebody owns the field itself.
    StaysIfOwned(Option<&'a Node>),
}

impl Emptied<'_> {
    /// The same inside of a field.
    fn below(self, element: &Element) -> Self {
        match self {
            Self::StaysIfOwned(owned) => {
                Self::StaysIfOwned(owned.and_then(|owned| owned.below.node(element)))
            }
            other => other,
        }
    }

    fn left(self, is_empty: bool, rest: impl Into<Value>) -> Option<Value> {
        match self {
            _ if !is_empty => Some(rest.into()),
            Self::Goes => None,
            Self::IsNull => Some(Value::Null),
            Self::StaysIfOwned(owned) => owned.is_some_and(|it| it.is_member).then(|| rest.into()),
        }
    }
}

impl Type<'_> {
    /// A value without some fields. What holds nothing any more goes with them.
    pub fn without(self, value: &Value, gone: &Set) -> Value {
        self.rest_of(value, gone, Emptied::Goes).unwrap_or_default()
    }

    /// The same, but fields that hold nothing any more are there as nulls: somebody may own them.
    pub(crate) fn emptied_of(self, value: &Value, gone: &Set) -> Value {
        self.rest_of(value, gone, Emptied::IsNull)
            .unwrap_or_default()
    }

    /// The same, but a field that somebody owns stays, though nothing is left in it.
    pub(crate) fn given_up(self, value: &Value, gone: &Set, owned: Set) -> Value {
        let owned = Node {
            is_member: true,
            below: owned,
        };
        self.rest_of(value, gone, Emptied::StaysIfOwned(Some(&owned)))
            .unwrap_or_default()
    }

    fn rest_of(self, value: &Value, gone: &Set, emptied: Emptied<'_>) -> Option<Value> {
        match (self.form(Some(value)), value) {
            (Form::Scalar(_), _) => Some(value.clone()),
            (Form::Map(fields), Value::Object(entries)) if !fields.is_atomic => {
                let rest = entries.iter().filter_map(|(name, value)| {
                    let element = Element::field(name);
                    let rest = match gone.node(&element) {
                        None => Some(value.clone()),
                        Some(node) if node.is_member => None,
                        Some(node) => {
                            let field = self.field_or_anything(fields, name);
                            field.rest_of(value, &node.below, emptied.below(&element))
                        }
                    };
                    Some((name.clone(), rest?))
                });
                let rest: serde_json::Map<String, Value> = rest.collect();
                emptied.left(rest.is_empty(), rest)
            }
            (Form::List(list), Value::Array(items)) if !list.is_atomic() => {
                let rest = items.iter().filter_map(|item| {
                    let element = list.element(item).ok();
                    let found = element.and_then(|element| Some((gone.node(&element)?, element)));
                    match found {
                        None => Some(item.clone()),
                        Some((node, _)) if node.is_member => None,
                        Some((node, element)) => {
                            let items = self.items(list);
                            let rest = items.rest_of(item, &node.below, emptied.below(&element));
                            let rest = rest.filter(|rest| !rest.is_null());
                            Some(rest.unwrap_or_else(|| serde_json::json!({})))
                        }
                    }
                });
                let rest: Vec<Value> = rest.collect();
                emptied.left(rest.is_empty(), rest)
            }
            _ => matches!(emptied, Emptied::IsNull).then_some(Value::Null),
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
