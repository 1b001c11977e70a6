//! Who owns fields of closed gates: whoever did when the gate was closed.

use lockstep_merge::fields::{Choice, Element, Set};
use lockstep_merge::managers::Managed;

use crate::gates::{Effect, Gates, NodeId};

impl Gates {
    /// The claims with those at and below fields of closed gates as they are stored. `knows` tells whether the paths
    /// mean the same in a version.
    #[must_use]
    pub fn frozen_claims(
        &self,
        managed: Managed,
        stored: &Managed,
        knows: impl Fn(&str) -> bool,
    ) -> Managed {
        managed.with_frozen(stored, |version, fields| {
            if knows(version) {
                fields.split(&vec![0], &|nodes, element| self.choose(nodes, element))
            } else {
                (Set::default(), fields.clone())
            }
        })
    }

    /// Whether a path is that of a field of a closed gate, or lies below one.
    pub fn is_frozen(&self, path: &[Element]) -> bool {
        let mut nodes = vec![0];
        for element in path {
            match self.choose(&nodes, element) {
                Choice::None => return false,
                Choice::All => return true,
                Choice::Below(below) => nodes = below,
            }
        }
        false
    }

    fn choose(&self, nodes: &[NodeId], element: &Element) -> Choice<Vec<NodeId>> {
        let mut below = Vec::new();
        for node in nodes.iter().map(|node| &self.nodes[*node as usize]) {
            match element {
                Element::Field(name) => {
                    let found = node.named.binary_search_by(|(other, _)| other.cmp(name));
                    below.extend(found.ok().map(|found| node.named[found].1));
                    below.extend(node.each.filter(|_| node.keys.is_empty()));
                }
                Element::Keys(_) => below.extend(node.each.filter(|_| !node.keys.is_empty())),
                Element::Value(_) | Element::Index(_) => {}
            }
        }
        let is_closed = |node: &NodeId| {
            let gated = self.nodes[*node as usize].gated.as_ref();
            gated.is_some_and(|gated| matches!(gated.effect, Effect::Closed))
        };
        if below.is_empty() {
            Choice::None
        } else if below.iter().any(is_closed) {
            Choice::All
        } else {
            Choice::Below(below)
        }
    }
}
