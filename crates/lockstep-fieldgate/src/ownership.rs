//! Field ownership under closed gates: managedFields entries of frozen fields stay as they were stored.

use lockstep_merge::fields::{Element, Selection, Set};
use lockstep_merge::typed::Comparison;
use lockstep_object::{Map, Value};

use crate::gates::{Effect, Gates, NodeId};

/// Fields that identify an entry of `managedFields`.
const IDENTITY: [&str; 4] = ["manager", "operation", "apiVersion", "subresource"];

impl Gates {
    /// The subset of paths at or below fields of closed gates.
    pub fn frozen(&self, fields: &Set) -> Set {
        fields.select(&vec![0], &|nodes, element| self.choose(nodes, element))
    }

    /// True if a change may affect fields of closed gates: it is at or below such a field, or at an atomic ancestor.
    pub fn concerns(&self, change: &Comparison) -> bool {
        let choose = |nodes: &Vec<NodeId>, element: &Element| self.choose(nodes, element);
        let sets = [&change.removed, &change.modified, &change.added];
        sets.iter()
            .any(|set| set.intersects_selection(&vec![0], &choose))
    }

    /// True if `managedFields` entries own fields of closed gates differently from the stored entries, considering only
    /// the versions in which `knows` says the gate paths are valid. If false, [`Gates::frozen`] need not run. Cheap: it
    /// walks only the prefixes of gated paths and skips entries equal to the stored ones.
    pub fn changes_frozen_ownership(
        &self,
        entries: &[Value],
        stored: &[Value],
        knows: impl Fn(&str) -> bool,
    ) -> bool {
        let is_known = |entry: &&Value| entry["apiVersion"].as_str().is_some_and(&knows);
        let differ = |entries: &[Value], others: &[Value]| {
            entries.iter().filter(is_known).any(|entry| {
                let is_other = |other: &&Value| is_same_owner(entry, other);
                let other = others.iter().find(is_other);
                let (one, other) = (fields(entry), other.and_then(fields));
                one != other && self.differs(0, one, other)
            })
        };
        differ(entries, stored) || differ(stored, entries)
    }

    /// True if ownership at or below fields of closed gates differs between two sets.
    fn differs(
        &self,
        node: NodeId,
        one: Option<&Map<String, Value>>,
        other: Option<&Map<String, Value>>,
    ) -> bool {
        let node = &self.nodes[node as usize];
        one.into_iter().flatten().any(|(key, value)| {
            let (named, each) = match (key.get(..2), key.get(2..)) {
                (Some("f:"), Some(name)) => (
                    node.named.get(name),
                    node.each.filter(|_| node.keys.is_empty()),
                ),
                (Some("k:"), _) => (None, node.each.filter(|_| !node.keys.is_empty())),
                _ => (None, None),
            };
            let there = other.and_then(|other| other.get(key));
            let mut below = named.into_iter().chain(each);
            below.any(|child| {
                let differs =
                    || self.differs(child, value.as_object(), there.and_then(Value::as_object));
                if self.is_closed(child) {
                    there != Some(value)
                } else {
                    differs()
                }
            })
        })
    }

    fn is_closed(&self, node: NodeId) -> bool {
        let gated = self.nodes[node as usize].gated.as_ref();
        gated.is_some_and(|gated| matches!(gated.effect, Effect::Closed))
    }

    fn choose(&self, nodes: &[NodeId], element: &Element) -> Selection<Vec<NodeId>> {
        let mut below = Vec::new();
        for node in nodes.iter().map(|node| &self.nodes[*node as usize]) {
            let (named, each) = match element {
                Element::Field(name) => (
                    node.named.get(name),
                    node.each.filter(|_| node.keys.is_empty()),
                ),
                Element::Keys(_) => (None, node.each.filter(|_| !node.keys.is_empty())),
                Element::Value(_) | Element::Index(_) => (None, None),
            };
            for child in named.into_iter().chain(each) {
                if self.is_closed(child) {
                    return Selection::All;
                }
                below.push(child);
            }
        }
        if below.is_empty() {
            Selection::None
        } else {
            Selection::Below(below)
        }
    }
}

fn is_same_owner(one: &Value, other: &Value) -> bool {
    IDENTITY.iter().all(|part| one.get(part) == other.get(part))
}

fn fields(entry: &Value) -> Option<&Map<String, Value>> {
    entry.get("fieldsV1").and_then(Value::as_object)
}
