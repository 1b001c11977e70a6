//! Declared properties of a schema.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::Node;

/// Schemas by name, in the order of names.
///
/// Three pieces of memory however many fields there are: a wide schema is held for as long as its definition is, and
/// hundreds of small pieces between those of requests would keep the memory of requests from being given back.
#[derive(Debug)]
pub(crate) struct Properties {
    /// All names, one behind the other.
    names: String,
    /// End offset of each name.
    ends: Vec<u32>,
    nodes: Vec<Node>,
}

impl Properties {
    /// No fields.
    pub(super) const NONE: Self = Self {
        names: String::new(),
        ends: Vec::new(),
        nodes: Vec::new(),
    };

    /// The schema of a field.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let (mut start, mut end) = (0, self.nodes.len());
        while start < end {
            let middle = start.midpoint(end);
            match self.name(middle).cmp(name) {
                Ordering::Less => start = middle + 1,
                Ordering::Equal => return self.nodes.get(middle),
                Ordering::Greater => end = middle,
            }
        }
        None
    }

    /// The fields in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        let names = (0..self.nodes.len()).map(|at| self.name(at));
        names.zip(&self.nodes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn name(&self, at: usize) -> &str {
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.names[start as usize..self.ends[at] as usize]
    }
}

/// Of fields with one name, the last one counts.
impl<'n> FromIterator<(&'n str, Node)> for Properties {
    fn from_iter<I: IntoIterator<Item = (&'n str, Node)>>(fields: I) -> Self {
        let fields: BTreeMap<&str, Node> = fields.into_iter().collect();
        let mut properties = Self {
            names: String::with_capacity(fields.keys().map(|name| name.len()).sum()),
            ends: Vec::with_capacity(fields.len()),
            nodes: Vec::with_capacity(fields.len()),
        };
        for (name, node) in fields {
            properties.names.push_str(name);
            let end = u32::try_from(properties.names.len());
            properties
                .ends
                .push(end.expect("a definition is smaller than that"));
            properties.nodes.push(node);
        }
        properties
    }
}
