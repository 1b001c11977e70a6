//! Sets of paths, as a tree.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::{Map, Value};

use super::{Element, ElementError};

/// How deep paths of a set that is read may be.
pub const FIELDS_DEPTH_MAX: usize = 500;

/// A set of paths. A path and those below it are different members: whoever owns `a` need not own `a.b`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Set {
    nodes: BTreeMap<Element, Node>,
}

/// What a set has at a path and below it. INVARIANT: in a set it has something.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Node {
    /// Whether the path itself is a member.
    pub(crate) is_member: bool,
    pub(crate) below: Set,
}

/// What of a set lies where somebody looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice<P> {
    /// Nothing at the element or below it.
    None,
    /// Everything at the element and below it.
    All,
    /// Not the element, but perhaps something below it.
    Below(P),
}

/// Why a value is no `FieldsV1`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FieldsError {
    /// A level is not a map.
    #[error("fieldsV1 is made of maps")]
    NotAMap,
    /// Deeper than [`FIELDS_DEPTH_MAX`].
    #[error("fieldsV1 is nested deeper than {FIELDS_DEPTH_MAX} levels")]
    Depth,
    /// A key is no path element.
    #[error("parsing key as path element: {0}")]
    Element(#[from] ElementError),
}

impl Node {
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_member && self.below.is_empty()
    }

    /// A path that is a member, with nothing below it.
    pub(crate) fn leaf() -> Self {
        Self {
            is_member: true,
            below: Set::default(),
        }
    }
}

impl Set {
    /// Whether it has no path.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A set of paths of fields alone.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::field(name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path is the object itself, which nobody owns.
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

    /// Adds what is at an element and below it.
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

    /// Adds the paths of another set.
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

    /// What it has at an element and below it.
    pub(crate) fn node(&self, element: &Element) -> Option<&Node> {
        self.nodes.get(element)
    }

    /// Whether it has a path.
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

    /// The paths of both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.absorb(other);
        all
    }

    /// The paths that both have.
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

    /// The paths that the other does not have.
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

    /// Takes out the paths of another set: what [`difference`](Self::difference) leaves, without a copy of it.
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

    /// The paths that neither the other has nor lie below one that it has.
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

    /// The paths at and below a field.
    #[must_use]
    pub fn only(&self, field: &str) -> Self {
        let element = Element::field(field);
        let mut kept = Self::default();
        if let Some(node) = self.nodes.get(&element) {
            kept.attach(element, node.clone());
        }
        kept
    }

    /// The paths at and below what `choose` chooses. A place is whatever `choose` wants to remember of the way to it.
    #[must_use]
    pub fn chosen<P>(&self, place: &P, choose: &impl Fn(&P, &Element) -> Choice<P>) -> Self {
        self.map(|element, node| match choose(place, element) {
            Choice::None => None,
            Choice::All => Some(node.clone()),
            Choice::Below(place) => Some(Node {
                is_member: false,
                below: node.below.chosen(&place, choose),
            }),
        })
    }

    /// Whether a path of the set leads to what `choose` chooses, or lies there.
    pub fn meets<P>(&self, place: &P, choose: &impl Fn(&P, &Element) -> Choice<P>) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|(element, node)| match choose(place, element) {
            Choice::None => false,
            Choice::All => true,
            Choice::Below(place) => node.is_member || node.below.meets(&place, choose),
        })
    }

    /// Each node changed; those with nothing left go.
    pub(crate) fn map(&self, change: impl Fn(&Element, &Node) -> Option<Node>) -> Self {
        let changed = self.nodes.iter().filter_map(|(element, node)| {
            let node = change(element, node).filter(|node| !node.is_empty())?;
            Some((element.clone(), node))
        });
        Self {
            nodes: changed.collect(),
        }
    }

    /// All paths: at each level the members first, then what lies below.
    pub fn paths(&self) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        self.add_paths(&mut Vec::new(), &mut paths);
        paths
    }

    fn add_paths(&self, prefix: &mut Vec<Element>, paths: &mut Vec<Vec<Element>>) {
        for (element, node) in &self.nodes {
            if node.is_member {
                let mut path = prefix.clone();
                path.push(element.clone());
                paths.push(path);
            }
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.below.add_paths(prefix, paths);
            prefix.pop();
        }
    }

    /// Reads `FieldsV1`. Elements of kinds that are not known are passed over.
    pub fn from_fields(fields: &Value) -> Result<Self, FieldsError> {
        Ok(read(fields, FIELDS_DEPTH_MAX)?.below)
    }

    /// The set as `FieldsV1`.
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
