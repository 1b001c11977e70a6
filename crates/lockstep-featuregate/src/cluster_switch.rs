//! Write access to cluster-scoped gates.

use crate::Gates;

/// The only handle that changes cluster-scoped gates, for the store's apply loop. It cannot be cloned; process
/// gates never change.
#[derive(Debug)]
pub struct ClusterSwitch {
    gates: Gates,
}

impl ClusterSwitch {
    pub(crate) fn new(gates: Gates) -> Self {
        Self { gates }
    }

    /// Stores the agreed value. Readers see it from their next load on, also through [`enabled!`](crate::enabled)
    /// if this is the process default set. Returns `false` and changes nothing if the gate is not cluster-scoped or
    /// is locked.
    pub fn set(&mut self, component: &str, name: &str, value: bool) -> bool {
        let component = self.gates.registry().component(component);
        let found = component.and_then(|component| Some((component, component.feature(name)?)));
        found.is_some_and(|(component, feature)| self.gates.move_gate(component, feature, value))
    }
}
