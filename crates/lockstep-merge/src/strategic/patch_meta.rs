//! Patch strategy and merge key of each field, looked up in the table of built-in kinds.

use lockstep_kinds::{Leaf, Shape, Table, TypeId};

/// A type position reached while walking a patch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    table: &'static Table,
    node: Node,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    /// A struct type.
    Struct(TypeId),
    /// A map with values of one type.
    Values(Leaf),
    /// An untyped position, such as `RawExtension`.
    Untyped,
}

/// Patch metadata of a field (upstream's `PatchMeta`).
#[derive(Debug, Clone, Copy)]
pub(super) struct PatchMeta {
    /// Type position of the field, or of the elements if it is a list.
    pub(super) inside: Place,
    pub(super) strategy: Strategy,
    /// The merge key of list elements; none if the list is a set of values.
    pub(super) merge_key: Option<&'static str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// No `patchStrategy` tag: maps are merged, lists are replaced.
    Unspecified,
    Merge,
    Replace,
}

impl Place {
    pub(super) fn of(table: &'static Table, kind: TypeId) -> Self {
        let node = Node::Struct(kind);
        Self { table, node }
    }

    pub(super) fn field(self, name: &str) -> PatchMeta {
        let table = self.table;
        let at = |node| Place { table, node };
        let unspecified = |node| PatchMeta {
            inside: at(node),
            strategy: Strategy::Unspecified,
            merge_key: None,
        };
        match self.node {
            Node::Untyped => unspecified(Node::Untyped),
            Node::Values(leaf) => unspecified(Node::of(leaf)),
            Node::Struct(id) => match table.get(id).field(name) {
                None => unspecified(Node::Untyped),
                Some(field) => PatchMeta {
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
            _ => Self::Untyped,
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
        .unwrap_or(Strategy::Unspecified)
}
