//! The audit log: who asked for what, and what came of it. It never holds up a request.

mod event;
mod policy;
mod sink;

pub use policy::{Level, Policy, PolicyError};
pub use sink::{Destination, Sink};

pub(crate) use event::{Trail, own_write};

/// What is logged, and where.
pub struct Audit {
    /// What.
    pub policy: Policy,
    /// Where.
    pub sink: Sink,
}
