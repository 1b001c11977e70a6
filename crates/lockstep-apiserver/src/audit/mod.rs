//! Audit log of requests and their outcomes. Logging never blocks a request.

mod event;
mod policy;
mod rotation;
mod sink;

pub use policy::{Level, Policy, PolicyError};
pub use rotation::Rotation;
pub use sink::{Destination, Reopen, Sink};

pub(crate) use event::{Trail, own_write};

use prometheus::{IntCounter, IntCounterVec};

/// Audit log of a running server.
pub(crate) struct AuditLog {
    pub(crate) audit: Audit,
    /// Events that were sent.
    pub(crate) events: IntCounter,
    /// Events that were dropped.
    pub(crate) errors: IntCounterVec,
}

/// Audit policy and sink.
pub struct Audit {
    /// Policy that selects the level of each request.
    pub policy: Policy,
    /// Destination of the events.
    pub sink: Sink,
}
