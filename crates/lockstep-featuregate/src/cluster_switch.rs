//! Who may move the gates that a cluster agrees on.

use crate::Gates;

/// The one handle that moves cluster-scoped gates, for the store's apply loop. It cannot be cloned,
/// and process gates do not move at all.
#[derive(Debug)]
pub struct ClusterSwitch {
    gates: Gates,
}

impl ClusterSwitch {
    pub(crate) fn new(gates: Gates) -> Self {
        Self { gates }
    }

    /// Stores the agreed value. Readers see it from their next load on, also through
    /// [`enabled!`](crate::enabled) when this is the process default set. A gate that is not
    /// cluster-scoped, or locked, does not move, and the answer is `false`.
    pub fn set(&mut self, component: &str, name: &str, value: bool) -> bool {
        let component = self.gates.registry().component(component);
        let found = component.and_then(|component| Some((component, component.feature(name)?)));
        found.is_some_and(|(component, feature)| self.gates.move_gate(component, feature, value))
    }
}
