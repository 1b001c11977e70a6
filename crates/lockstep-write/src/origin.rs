//! Origins of writes, and the table of stages that apply to each.

use lockstep_object::metadata::Seconds;

/// Origin of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WriteOrigin {
    /// API request.
    Client,
    /// Built-in controller, such as the garbage collector or the service account controller.
    Controller {
        /// Time of the write.
        now: Seconds,
    },
    /// The server itself: bootstrap objects, leases, CRD conditions, published feature gates.
    System,
}

/// Stages of the write path that differ by origin. Fences, pruning, defaulting, encoding and the commit apply to all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stages {
    /// Validation, escalation check, admission plugins and webhooks.
    pub admission: bool,
    /// Fields with disabled gates retain their stored values.
    pub field_gates: bool,
    /// Quotas of the namespace are enforced and charged.
    pub quota: bool,
}

impl WriteOrigin {
    /// Stages that apply to the origin.
    ///
    /// Controllers act on objects that were admitted before, so admission is not repeated for them. Quota applies to
    /// what they create, and field gates apply because they guarantee the content of stored bytes. The server's own
    /// objects must exist whatever users configure, and are of built-in kinds: neither quotas nor field gates apply.
    pub const fn stages(self) -> Stages {
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
