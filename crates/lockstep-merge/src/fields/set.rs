//! Field sets as a tree of path elements.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use lockstep_object::field::FIELD_BYTES_MAX;
use lockstep_object::go;
use serde_json::{Map, Value};

use super::{Element, ElementError};

/// Maximum path depth accepted when decoding `FieldsV1`.
pub const FIELDS_DEPTH_MAX: usize = 500;

/// A set of paths. A path and its descendants are separate members: an owner of `a` does not necessarily own `a.b`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Set {
    nodes: BTreeMap<Element, Node>,
}

/// Membership at a path and below it. INVARIANT: nodes inside a set are never empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Node {
    /// True if the path itself is a member.
    pub(crate) is_member: bool,
    pub(crate) below: Set,
}

/// Selection made by the callback of [`Set::select`] for one element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Selection<P> {
    /// Neither the element nor its descendants.
    None,
    /// The element and all its descendants.
    All,
    /// Not the element itself; the callback decides about its descendants.
    Below(P),
}

/// Errors of [`Set::from_fields`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A level is not a map.
    #[error("fieldsV1 is made of maps")]
    NotAMap,
    /// Deeper than [`FIELDS_DEPTH_MAX`].
    #[error("fieldsV1 is nested deeper than {FIELDS_DEPTH_MAX} levels")]
    Depth,
    /// A key is not a path element.
    #[error("parsing key as path element: {0}")]
    Element(#[from] ElementError),
}

impl Node {
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }

    /// A member without descendants.
    pub(crate) fn leaf() -> Self {
        Self {
            is_member: true,
            below: Set::default(),
        }
    }
}

impl Set {
    /// True if the set has no paths.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Builds a set from paths that consist of field names only.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path denotes the object itself and is never a member.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let node = self.nodes.entry(first.clone()).or_default();
        if rest.is_empty() {
            node.is_member = true;
        } else {
            node.below.insert(rest);
        }
    }

    /// Merges a node into the set at an element.
    pub(crate) fn attach(&mut self, element: Element, node: Node) {
        if node.is_empty() {
            return;
        }
        match self.nodes.entry(element) {
            Entry::Vacant(place) => drop(place.insert(node)),
            Entry::Occupied(mut place) => {
                let present = place.get_mut();
                present.is_member |= node.is_member;
                present.below.absorb(&node.below);
            }
        }
    }

    /// Adds all paths of another set.
    pub(crate) fn absorb(&mut self, other: &Self) {
        for (element, node) in &other.nodes {
            if let Some(present) = self.nodes.get_mut(element) {
                present.is_member |= node.is_member;
                present.below.absorb(&node.below);
            } else {
                self.nodes.insert(element.clone(), node.clone());
            }
        }
    }

    /// The node at an element.
    pub(crate) fn node(&self, element: &Element) -> Option<&Node> {
        self.nodes.get(element)
    }

    /// True if the path is a member.
    pub fn has(&self, path: &[Element]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        self.nodes.get(first).is_some_and(|node| {
            if rest.is_empty() {
                node.is_member
            } else {
                node.below.has(rest)
            }
        })
    }

    /// Paths that are in either set.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.absorb(other);
        all
    }

    /// Paths that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        self.map(|element, node| {
            let other = other.nodes.get(element)?;
            Some(Node {
                is_member: node.is_member && other.is_member,
                below: node.below.intersection(&other.below),
            })
        })
    }

    /// Paths that are not in the other set.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        self.map(|element, node| {
            let Some(other) = other.nodes.get(element) else {
                return Some(node.clone());
            };
            Some(Node {
                is_member: node.is_member && !other.is_member,
                below: node.below.difference(&other.below),
            })
        })
    }

    /// In-place form of [`difference`](Self::difference).
    pub(crate) fn take_out(&mut self, other: &Self) {
        for (element, gone) in &other.nodes {
            let Some(node) = self.nodes.get_mut(element) else {
                continue;
            };
            node.is_member &= !gone.is_member;
            node.below.take_out(&gone.below);
            if node.is_empty() {
                self.nodes.remove(element);
            }
        }
    }

    /// Paths that are neither in the other set nor below one of its members.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.map(|element, node| match other.nodes.get(element) {
            None => Some(node.clone()),
            Some(other) if other.is_member => None,
            Some(other) => Some(Node {
                is_member: node.is_member,
                below: node.below.without(&other.below),
            }),
        })
    }

    /// The paths at and below a top-level field.
    #[must_use]
    pub fn only(&self, field: &str) -> Self {
        let element = Element::field(field);
        let mut kept = Self::default();
        if let Some(node) = self.nodes.get(&element) {
            kept.attach(element, node.clone());
        }
        kept
    }

    /// The paths that `choose` selects. `place` is state that the callback carries along the path.
    #[must_use]
    pub fn select<P>(&self, place: &P, choose: &impl Fn(&P, &Element) -> Selection<P>) -> Self {
        self.map(|element, node| match choose(place, element) {
            Selection::None => None,
            Selection::All => Some(node.clone()),
            Selection::Below(place) => Some(Node {
                is_member: false,
                below: node.below.select(&place, choose),
            }),
        })
    }

    /// True if a member lies on the way to, at, or below a path that `choose` selects.
    pub fn intersects_selection<P>(
        &self,
        place: &P,
        choose: &impl Fn(&P, &Element) -> Selection<P>,
    ) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|(element, node)| match choose(place, element) {
            Selection::None => false,
            Selection::All => true,
            Selection::Below(place) => {
                node.is_member || node.below.intersects_selection(&place, choose)
            }
        })
    }

    /// Maps each node; empty results are dropped.
    pub(crate) fn map(&self, change: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let changed = self.nodes.iter().filter_map(|(element, node)| {
            let node = change(element, node).filter(|node| !node.is_empty())?;
            Some((element.clone(), node))
        });
        Self {
            nodes: changed.collect(),
        }
    }

    /// Number of members.
    pub fn count(&self) -> usize {
        let mut count = 0;
        for node in self.nodes.values() {
            count += usize::from(node.is_member) + node.below.count();
        }
        count
    }

    /// Lists all paths; at each level the members come before deeper paths. Each path repeats the names above it.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let members = self.nodes.iter().filter(|(_, node)| node.is_member);
        let mut paths: Vec<_> = members.map(|(element, _)| vec![element.clone()]).collect();
        for (element, node) in &self.nodes {
            let below = node.below.paths().into_iter();
            paths.extend(below.map(|path| [std::slice::from_ref(element), &*path].concat()));
        }
        paths
    }

    /// The first paths as messages print them, each cut to [`FIELD_BYTES_MAX`]; at each level the members come before
    /// deeper paths.
    pub(crate) fn first_paths(&self, max: usize) -> Vec<String> {
        let mut paths = Vec::new();
        self.add_paths("", max, &mut paths);
        paths
    }

    fn add_paths(&self, above: &str, max: usize, paths: &mut Vec<String>) {
        let path = |element: &Element| {
            let mut path = format!("{above}{element}");
            go::shorten(&mut path, FIELD_BYTES_MAX);
            path
        };
        for (element, node) in &self.nodes {
            if paths.len() == max {
                return;
            }
            if node.is_member {
                paths.push(path(element));
            }
        }
        for (element, node) in &self.nodes {
            if paths.len() == max {
                return;
            }
            node.below.add_paths(&path(element), max, paths);
        }
    }

    /// Decodes `FieldsV1`, skipping elements of unknown types.
    pub fn from_fields(fields: &Value) -> Result<Self, FieldsError> {
        Ok(read(fields, FIELDS_DEPTH_MAX)?.below)
    }

    /// Encodes the set as `FieldsV1`.
    pub fn to_fields(&self) -> Value {
        let mut fields = Map::new();
        for (element, node) in &self.nodes {
            let mut below = node.below.to_fields();
            if let (true, false, Value::Object(below)) =
                (node.is_member, node.below.is_empty(), &mut below)
            {
                below.insert(".".to_owned(), Value::Object(Map::new()));
            }
            fields.insert(element.encode(), below);
        }
        Value::Object(fields)
    }
}

fn read(fields: &Value, depth: usize) -> Result<Node, FieldsError> {
    let depth = depth.checked_sub(1).ok_or(FieldsError::Depth)?;
    let Value::Object(fields) = fields else {
        return Err(FieldsError::NotAMap);
    };
    let mut node = Node::default();
    for (key, value) in fields {
        if key == "." {
            node.is_member = true;
            continue;
        }
        match Element::parse(key) {
            Ok(element) => node.below.attach(element, read(value, depth)?),
            Err(ElementError::Unknown) => {}
            Err(error) => return Err(error.into()),
        }
    }
    node.is_member |= node.below.is_empty();
    Ok(node)
}
