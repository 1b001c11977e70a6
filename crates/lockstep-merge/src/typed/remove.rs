//! Removal of fields from a value.

use serde_json::Value;

use crate::fields::{Element, Node, Set};
use crate::types::{Form, Type};

/// Treatment of a map or list that becomes empty by a removal.
#[derive(Debug, Clone, Copy)]
enum WhenEmpty<'a> {
    Remove,
    SetNull,
    /// Keep the empty value if the field itself is owned.
    KeepIfOwned(Option<&'a Node>),
}

impl WhenEmpty<'_> {
    /// The treatment for a member.
    fn below(self, element: &Element) -> Self {
        match self {
            Self::KeepIfOwned(owned) => {
                Self::KeepIfOwned(owned.and_then(|owned| owned.below.node(element)))
            }
            other => other,
        }
    }

    fn result(self, is_empty: bool, rest: impl Into<Value>) -> Option<Value> {
        match self {
            _ if !is_empty => Some(rest.into()),
            Self::Remove => None,
            Self::SetNull => Some(Value::Null),
            Self::KeepIfOwned(owned) => owned.is_some_and(|it| it.is_member).then(|| rest.into()),
        }
    }
}

impl Type<'_> {
    /// Removes fields, together with maps and lists that become empty.
    pub fn without(self, value: &Value, fields_to_remove: &Set) -> Value {
        self.removed(value, fields_to_remove, WhenEmpty::Remove)
            .unwrap_or_default()
    }

    /// Variant of [`without`](Self::without) that replaces emptied values by null, so that an owned field stays
    /// visible.
    pub(crate) fn without_leaving_null(self, value: &Value, fields_to_remove: &Set) -> Value {
        self.removed(value, fields_to_remove, WhenEmpty::SetNull)
            .unwrap_or_default()
    }

    /// Variant of [`without`](Self::without) that keeps emptied values if the field itself is owned.
    pub(crate) fn without_keeping_owned(
        self,
        value: &Value,
        fields_to_remove: &Set,
        owned: Set,
    ) -> Value {
        let owned = Node {
            is_member: true,
            below: owned,
        };
        self.removed(
            value,
            fields_to_remove,
            WhenEmpty::KeepIfOwned(Some(&owned)),
        )
        .unwrap_or_default()
    }

    fn removed(
        self,
        value: &Value,
        fields_to_remove: &Set,
        when_empty: WhenEmpty<'_>,
    ) -> Option<Value> {
        match (self.form(Some(value)), value) {
            (Form::Scalar(_), _) => Some(value.clone()),
            (Form::Map(fields), Value::Object(entries)) if !fields.is_atomic => {
                let rest = entries.iter().filter_map(|(name, value)| {
                    let element = Element::field(name);
                    let rest = match fields_to_remove.node(&element) {
                        None => Some(value.clone()),
                        Some(node) if node.is_member => None,
                        Some(node) => {
                            let field = self.field_or_anything(fields, name);
                            field.removed(value, &node.below, when_empty.below(&element))
                        }
                    };
                    Some((name.clone(), rest?))
                });
                let rest: serde_json::Map<String, Value> = rest.collect();
                when_empty.result(rest.is_empty(), rest)
            }
            (Form::List(list), Value::Array(items)) if !list.is_atomic() => {
                let rest = items.iter().filter_map(|item| {
                    let element = list.element(item).ok();
                    let found = element
                        .and_then(|element| Some((fields_to_remove.node(&element)?, element)));
                    match found {
                        None => Some(item.clone()),
                        Some((node, _)) if node.is_member => None,
                        Some((node, element)) => {
                            let items = self.items(list);
                            let rest = items.removed(item, &node.below, when_empty.below(&element));
                            let rest = rest.filter(|rest| !rest.is_null());
                            Some(rest.unwrap_or_else(|| serde_json::json!({})))
                        }
                    }
                });
                let rest: Vec<Value> = rest.collect();
                when_empty.result(rest.is_empty(), rest)
            }
            _ => matches!(when_empty, WhenEmpty::SetNull).then_some(Value::Null),
        }
    }

    /// Adds each declared field that has members below it (upstream's `EnsureNamedFieldsAreMembers`).
    pub(crate) fn with_named_fields(self, set: &Set) -> Set {
        named_fields(Some(self), set)
    }
}

fn named_fields(at: Option<Type<'_>>, set: &Set) -> Set {
    let map = at.and_then(|at| at.def().map.as_ref());
    let list = at.and_then(|at| at.def().list.as_ref());
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
            below: named_fields(inside, &node.below),
        })
    })
}
