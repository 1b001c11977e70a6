//! Sets that were written when the schema was another one.

use crate::fields::{Element, Node, Set};
use crate::types::{Form, Type};

impl Type<'_> {
    /// A set as it would have been written today: what became one value is owned as a whole by whoever owned a part
    /// of it. What was one value and is none any more stays as it is, and counts for all that is inside.
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
