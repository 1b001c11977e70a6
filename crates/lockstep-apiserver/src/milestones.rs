//! Startup steps that readiness depends on.

use std::sync::atomic::{AtomicBool, Ordering};

/// Startup steps that readiness depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Milestone {
    /// The CAs of client certificates are published.
    Credentials,
    /// Admission is configured.
    Admission,
    /// The watch cache has loaded the stored objects.
    Caches,
    /// Controllers run, on this server or on another.
    Loops,
    /// The system namespaces exist.
    SystemObjects,
    /// The default RBAC roles exist and are in force.
    Roles,
    /// Discovery includes all served resources.
    Discovery,
}

impl Milestone {
    /// All milestones.
    pub const ALL: [Milestone; 7] = [
        Milestone::Credentials,
        Milestone::Admission,
        Milestone::Caches,
        Milestone::Loops,
        Milestone::SystemObjects,
        Milestone::Roles,
        Milestone::Discovery,
    ];
}

/// Set of the reached milestones.
#[derive(Debug, Default)]
pub(crate) struct Milestones([AtomicBool; Milestone::ALL.len()]);

impl Milestones {
    pub(crate) fn reach(&self, milestone: Milestone) {
        self.0[milestone as usize].store(true, Ordering::Release);
    }

    pub(crate) fn is_reached(&self, milestone: Milestone) -> bool {
        self.0[milestone as usize].load(Ordering::Acquire)
    }
}
