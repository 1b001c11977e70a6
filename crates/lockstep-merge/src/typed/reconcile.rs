//! Adapts stored field sets to schema changes.

use crate::fields::{Element, Node, Set};
use crate::types::{Form, Type};

impl Type<'_> {
    /// Adapts a field set to the current granularity of the type: an owner of a part of a now atomic value owns the
    /// whole. A value that used to be atomic stays one path, which covers its members.
    pub(crate) fn reconcile(self, set: &Set) -> Set {
        self.reconciled(&Node {
            is_member: false,
            below: set.clone(),
        })
        .below
    }

    fn reconciled(self, node: &Node) -> Node {
        let has_parts = !node.below.is_empty();
        match self.form(None) {
            Form::Scalar(_) => node.clone(),
            Form::List(list) if list.is_atomic() => {
                if has_parts {
                    Node::leaf()
                } else {
                    node.clone()
                }
            }
            Form::Map(fields) if self.is_deduced_map(fields) => node.clone(),
            Form::Map(fields) if fields.is_atomic => {
                if has_parts {
                    Node::leaf()
                } else {
                    node.clone()
                }
            }
            Form::List(list) => each(node, |_| Some(self.items(list))),
            Form::Map(fields) => each(node, |element| match element {
                Element::Field(name) => self.field(fields, name),
                _ => fields.rest.and_then(|_| self.field(fields, "")),
            }),
        }
    }
}

fn each<'t>(node: &Node, inside: impl Fn(&Element) -> Option<Type<'t>>) -> Node {
    let below = node.below.map(|element, node| match inside(element) {
        Some(inside) => Some(inside.reconciled(node)),
        None => Some(node.clone()),
    });
    Node {
        is_member: node.is_member,
        below,
    }
}
