//! Origins of writes, and the stages that hold for each: the one table of differences.

use lockstep_object::metadata::Seconds;

/// Maker of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WriteOrigin {
    /// A request from outside.
    Client,
    /// A controller of this server, such as garbage collection or the defaults of namespaces.
    Controller {
        /// Time of the write.
        now: Seconds,
    },
    /// The server itself: bootstrap objects, leases, CRD conditions, published feature gates.
    System,
}

/// Stages of the write path that differ by origin. Fences, pruning, defaulting, encoding and the commit hold for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stages {
    /// Validation, escalation check, admission plugins and webhooks.
    pub(crate) admission: bool,
    /// Fields of closed gates keep their stored values.
    pub(crate) field_gates: bool,
    /// Quotas of the namespace are charged, and may refuse the write.
    pub(crate) quota: bool,
}

impl WriteOrigin {
    /// Stages that hold for the origin.
    ///
    /// Controllers act on objects that were admitted before, so admission is not repeated for them; but a quota counts
    /// what they create, and a field gate is a promise about stored bytes, so both hold. Objects of the server itself
    /// must come to exist whatever users configured, and are built in: no quota, and no gates on their fields.
    pub(crate) const fn stages(self) -> Stages {
        match self {
            Self::Client => Stages {
                admission: true,
                field_gates: true,
                quota: true,
            },
            Self::Controller { .. } => Stages {
                admission: false,
                field_gates: true,
                quota: true,
            },
            Self::System => Stages {
                admission: false,
                field_gates: false,
                quota: false,
            },
        }
    }
}
