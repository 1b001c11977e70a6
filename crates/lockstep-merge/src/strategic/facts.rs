//! What the table of kinds says about the place that a patch has come to.

use lockstep_kinds::{Leaf, Shape, Table, TypeId};

/// A place inside an object of a built-in kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    table: &'static Table,
    node: Node,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    /// A struct.
    Struct(TypeId),
    /// A map whose values are all alike.
    Values(Leaf),
    /// Anything: the table says nothing about it.
    Free,
}

/// How a field is merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    /// The place of the field, or of the elements if it is a list.
    pub(super) inside: Place,
    pub(super) strategy: Strategy,
    /// The field by which elements are told apart; none if they are by their values.
    pub(super) merge_key: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Nothing is said: maps are merged, lists are replaced.
    Unsaid,
    Merge,
    Replace,
}

impl Place {
    pub(super) fn of(table: &'static Table, kind: TypeId) -> Self {
        let node = Node::Struct(kind);
        Self { table, node }
    }

    pub(super) fn field(self, name: &str) -> Facts {
        let table = self.table;
        let at = |node| Place { table, node };
        let unsaid = |node| Facts {
            inside: at(node),
            strategy: Strategy::Unsaid,
            merge_key: None,
        };
        match self.node {
            Node::Free => unsaid(Node::Free),
            Node::Values(leaf) => unsaid(Node::of(leaf)),
            Node::Struct(id) => match table.get(id).field(name) {
                None => unsaid(Node::Free),
                Some(field) => Facts {
                    inside: at(match field.shape {
                        Shape::One(leaf) | Shape::List(leaf) => Node::of(leaf),
                        Shape::Map(leaf) => Node::Values(leaf),
                    }),
                    strategy: strategy(field.patch_strategy()),
                    merge_key: field.patch_merge_key(),
                },
            },
        }
    }
}

impl Node {
    fn of(leaf: Leaf) -> Self {
        match leaf {
            Leaf::Struct(id) => Self::Struct(id),
            _ => Self::Free,
        }
    }
}

fn strategy(words: Option<&str>) -> Strategy {
    let mut words = words.unwrap_or_default().split(',');
    words
        .find_map(|word| match word {
            "merge" => Some(Strategy::Merge),
            "replace" => Some(Strategy::Replace),
            _ => None,
        })
        .unwrap_or(Strategy::Unsaid)
}
