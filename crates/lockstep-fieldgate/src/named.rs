//! Children of a trie node by name.

use crate::gates::NodeId;

/// Nodes sorted by name.
///
/// Each write looks up the names of all its fields here, and a definition may gate thousands. The first eight bytes of
/// the names are stored contiguously, so that most lookups never touch the strings.
#[derive(Debug, Default)]
pub(crate) struct Named {
    /// The first eight bytes of each name, big-endian, so that they sort like the names.
    beginnings: Vec<u64>,
    nodes: Vec<(Box<str>, NodeId)>,
}

impl Named {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Looks up the node of a name.
    pub(crate) fn get(&self, name: &str) -> Option<NodeId> {
        let place = self.place(name).ok()?;
        Some(self.nodes[place].1)
    }

    /// Looks up the node of a name, inserting `next` if absent.
    pub(crate) fn get_or_insert(&mut self, name: &str, next: NodeId) -> NodeId {
        match self.place(name) {
            Ok(place) => self.nodes[place].1,
            Err(place) => {
                self.beginnings.insert(place, beginning(name));
                self.nodes.insert(place, (name.into(), next));
                next
            }
        }
    }

    /// The index of a name, or its insertion point.
    pub(crate) fn place(&self, name: &str) -> Result<usize, usize> {
        let wanted = beginning(name);
        let first = self.beginnings.partition_point(|other| *other < wanted);
        let alike = self.beginnings[first..].partition_point(|other| *other == wanted);
        let alike = &self.nodes[first..first + alike];
        let found = alike.binary_search_by(|(other, _)| (**other).cmp(name));
        found.map(|at| first + at).map_err(|at| first + at)
    }

    /// The name and node at an index.
    pub(crate) fn at(&self, place: usize) -> &(Box<str>, NodeId) {
        &self.nodes[place]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Box<str>, NodeId)> {
        self.nodes.iter()
    }
}

/// The first eight bytes of a name, zero-padded.
fn beginning(name: &str) -> u64 {
    let mut bytes = [0; size_of::<u64>()];
    let length = name.len().min(bytes.len());
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_whatever_they_begin_with() {
        let texts = [
            "b",
            "a",
            "",
            "a\0",
            "abcdefgh",
            "abcdefghi",
            "abcdefghz",
            "abcdefg",
            "abcdefgh\0",
            "ä",
            "zz",
        ];
        let mut named = Named::default();
        for (node, name) in (1..).zip(texts) {
            assert_eq!(named.get(name), None, "{name:?}");
            assert_eq!(named.get_or_insert(name, node), node);
            assert_eq!(named.get_or_insert(name, 99), node);
        }
        let found = texts.map(|name| named.get(name));
        assert_eq!(found, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(Some));
        let mut sorted = texts;
        sorted.sort_unstable();
        let kept: Vec<&str> = named.iter().map(|(name, _)| &**name).collect();
        assert_eq!(kept, sorted);
        let others = ["c", "abcdefgha", "abcdefgh\0\0", "a\0\0"];
        assert_eq!(others.map(|name| named.get(name)), [None; 4]);
    }
}
